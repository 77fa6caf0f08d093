//! The answers of a server to a ClientHello: a flight of messages, or a refusal.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registry::Protocol;
use crate::outcome::{Failure, Step, alert_name};

/// A server's answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It goes on with the handshake.
    Flight(Box<Flight>),
    /// It does not.
    Refused(Refusal),
}

/// The server's messages, up to the point where a client would have to send something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flight {
    /// The version that the server chose, by its number.
    pub version: u16,
    /// The suite that it chose.
    pub suite: u16,
    /// The compression method that it chose.
    pub compression: u8,
    /// The extensions of its ServerHello.
    pub extensions: Vec<(u16, Vec<u8>)>,
    /// Whether it asks for another key share (TLS 1.3).
    pub retry: bool,
    /// The certificates that it sent, DER, its own first (up to TLS 1.2).
    pub certificates: Vec<Vec<u8>>,
    /// The OCSP response that it stapled (up to TLS 1.2).
    pub staple: Option<Vec<u8>>,
    /// The group that it chose.
    pub group: Option<u16>,
    /// The size of its own Diffie-Hellman prime, in bits.
    pub prime_bits: Option<usize>,
    /// The scheme that it signed the key exchange with (TLS 1.2).
    pub scheme: Option<u16>,
}

impl Flight {
    /// The data of an extension, if the server sent it.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        self.extensions.iter().find(|e| e.0 == kind).map(|e| e.1.as_slice())
    }

    /// The version that the server chose, if it is one that is known.
    pub fn protocol(&self) -> Option<Protocol> {
        Protocol::from_number(self.version)
    }
}

/// How a server refuses a handshake: the class that records count it under, and a sentence's end
/// for people, to follow "the server".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// A failure class: `alert_handshake_failure`, `closed_handshake`, `tls_protocol`, ...
    pub class: String,
    /// `answered handshake_failure (40)`, `closed the connection`, ...
    pub words: String,
    /// Whether the server refused by a message of TLS.
    #[serde(skip)]
    pub in_tls: bool,
}

impl Refusal {
    /// The peer's alert.
    pub fn alert(number: u8) -> Self {
        let name = alert_name(number).unwrap_or("alert");
        let words = format!("answered {name} ({number})");
        Self { class: Failure::Alert(number).to_string(), words, in_tls: true }
    }

    /// A handshake that continued, but not as it was asked for.
    pub fn other(fact: &str, words: String) -> Self {
        Self { class: format!("unexpected_{fact}"), words, in_tls: true }
    }

    /// The connection came to an end.
    pub fn failure(failure: Failure) -> Self {
        let words = match failure {
            Failure::Closed(_) => "closed the connection".to_owned(),
            Failure::Reset => "reset the connection".to_owned(),
            Failure::TimedOut(_) => "gave no answer in time".to_owned(),
            other => format!("failed: {other}"),
        };
        Self { class: failure.to_string(), words, in_tls: false }
    }

    /// The answer is not TLS.
    pub fn not_tls(words: impl Into<String>) -> Self {
        Self { class: Failure::TlsProtocol.to_string(), words: words.into(), in_tls: false }
    }

    /// The peer sent nothing within the time limit.
    pub fn silence() -> Self {
        Self::failure(Failure::TimedOut(Step::Handshake))
    }

    /// Whether the connection was reset.
    pub fn is_reset(&self) -> bool {
        *self == Self::failure(Failure::Reset)
    }

    /// Whether the connection ended without an alert of the peer.
    pub fn says_nothing(&self) -> bool {
        let closed = Self::failure(Failure::Closed(Step::Handshake));
        self.is_silence() || self.is_reset() || *self == closed
    }

    /// Whether the peer was silent.
    pub fn is_silence(&self) -> bool {
        *self == Self::silence()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

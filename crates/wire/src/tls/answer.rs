//! A server's answer to a ClientHello: a flight of messages, or a refusal.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::registry::Protocol;
use crate::outcome::{Failure, Step, alert_name};

/// A server's answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The server continues with the handshake.
    Flight(Box<Flight>),
    /// The server refuses the handshake.
    Refused(Refusal),
}

/// The server's messages, up to the point at which a client would have to answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flight {
    /// The number of the chosen version.
    pub version: u16,
    /// The chosen suite.
    pub suite: u16,
    /// The chosen compression method.
    pub compression: u8,
    /// The extensions of the ServerHello.
    pub extensions: Vec<(u16, Vec<u8>)>,
    /// Whether the server asks for another key share (TLS 1.3).
    pub retry: bool,
    /// The server's certificates, DER, its own first (up to TLS 1.2).
    pub certificates: Vec<Vec<u8>>,
    /// The stapled OCSP response (up to TLS 1.2).
    pub staple: Option<Vec<u8>>,
    /// Whether the server asks for a client certificate (up to TLS 1.2).
    pub asks_for_certificate: bool,
    /// The chosen group.
    pub group: Option<u16>,
    /// The prime of the server's own Diffie-Hellman parameters, its most significant byte first.
    pub prime: Option<Vec<u8>>,
    /// The signature scheme of the key exchange (TLS 1.2).
    pub scheme: Option<u16>,
}

impl Flight {
    /// The data of an extension, if the server sent it.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        self.extensions.iter().find(|e| e.0 == kind).map(|e| e.1.as_slice())
    }

    /// The size of the prime in bits.
    pub fn prime_bits(&self) -> Option<usize> {
        let prime = self.prime.as_ref()?;
        let zeros = prime.iter().take_while(|byte| **byte == 0).count();
        let significant = &prime[zeros..];
        let size = |first: &u8| significant.len() * 8 - first.leading_zeros() as usize;
        Some(significant.first().map_or(0, size))
    }

    /// The chosen version, if it is known.
    pub fn protocol(&self) -> Option<Protocol> {
        Protocol::from_number(self.version)
    }
}

/// A server's refusal of a handshake: the class under which records count it, and words that
/// complete a sentence after "the server".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// A failure class: `alert_handshake_failure`, `closed_handshake`, `tls_protocol`, ...
    pub class: String,
    /// `answered handshake_failure (40)`, `closed the connection`, ...
    pub words: String,
    /// Whether the server refused by a TLS message.
    #[serde(skip)]
    pub in_tls: bool,
}

impl Refusal {
    /// Refusal by an alert of the peer.
    pub fn alert(number: u8) -> Self {
        let name = alert_name(number).unwrap_or("alert");
        let words = format!("answered {name} ({number})");
        Self { class: Failure::Alert(number).to_string(), words, in_tls: true }
    }

    /// A handshake that continued, but not as requested.
    pub fn other(fact: &str, words: String) -> Self {
        Self { class: format!("unexpected_{fact}"), words, in_tls: true }
    }

    /// Refusal by the end of the connection.
    pub fn failure(failure: Failure) -> Self {
        let words = match failure {
            Failure::Closed(_) => "closed the connection".to_owned(),
            Failure::Reset => "reset the connection".to_owned(),
            Failure::TimedOut(_) => "gave no answer in time".to_owned(),
            other => format!("failed: {other}"),
        };
        Self { class: failure.to_string(), words, in_tls: false }
    }

    /// An answer that is not TLS.
    pub fn not_tls(words: impl Into<String>) -> Self {
        Self { class: Failure::TlsProtocol.to_string(), words: words.into(), in_tls: false }
    }

    /// No answer within the time limit.
    pub fn silence() -> Self {
        Self::failure(Failure::TimedOut(Step::Handshake))
    }

    /// No answer within any of these times, each of them the limit of one try.
    pub fn silence_of(times: &[Duration]) -> Self {
        let times: Vec<String> = times.iter().copied().map(seconds).collect();
        let words = format!("gave no answer in {}", times.join(", nor in "));
        Self { words, ..Self::silence() }
    }

    /// This silence, and then an end of the connection that says nothing either.
    #[must_use]
    pub fn then(self, end: &Self) -> Self {
        Self { words: format!("{}, then {end}", self.words), ..self }
    }

    /// True if the connection was reset.
    pub fn is_reset(&self) -> bool {
        *self == Self::failure(Failure::Reset)
    }

    /// True if the connection ended without an alert from the peer.
    pub fn says_nothing(&self) -> bool {
        let closed = Self::failure(Failure::Closed(Step::Handshake));
        self.is_silence() || self.is_reset() || *self == closed
    }

    /// True if the peer was silent, whatever the time.
    pub fn is_silence(&self) -> bool {
        self.class == Self::silence().class
    }
}

/// A time in words: `5 s`, `200 ms`.
fn seconds(time: Duration) -> String {
    if time.subsec_nanos() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_one_whatever_its_words_say() {
        let times = [Duration::from_millis(200), Duration::from_secs(15)];
        let silence = Refusal::silence_of(&times);
        assert_eq!(silence.words, "gave no answer in 200 ms, nor in 15 s");
        assert!(silence.is_silence() && Refusal::silence().is_silence());
        assert!(silence.says_nothing());
        for acts in [Refusal::alert(40), Refusal::failure(Failure::Reset)] {
            assert!(!acts.is_silence(), "{acts}");
        }
    }
}

//! Negotiated facts: as numbers for the hot path, as names for records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Alpn, Resume};
use crate::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

/// The negotiated facts as numbers: cheap to compare and to count on the hot path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// The protocol version.
    pub version: TlsVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
    /// The key-exchange group; `None` for static RSA.
    pub group: Option<KeyExchangeGroup>,
    /// The scheme of the server's handshake signature; `None` without a signature.
    pub signature_scheme: Option<SignatureScheme>,
    /// Full, or resumed.
    pub kind: HandshakeKind,
    /// Whether the server first asked for another key share.
    pub hello_retry_request: bool,
    /// The application protocol.
    pub alpn: Option<Alpn>,
    /// Whether the server requested a certificate and the client authenticated with one.
    pub client_authenticated: bool,
    /// How an earlier session was resumed; `None` in a full handshake.
    pub resumed_by: Resume,
    /// The outcome of early data.
    pub early_data: EarlyData,
    /// The length of the stapled OCSP response in bytes; 0 if none.
    pub ocsp_response_bytes: u32,
    /// Whether the server was authenticated in full, either on this connection or in the handshake
    /// of the session that it resumes.
    pub authenticated: bool,
    /// Whether the engine's minimal client made the handshake.
    pub minimal_client: bool,
}

/// The outcome of early data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EarlyData {
    /// No early data was sent.
    #[default]
    None,
    /// The server accepted the early data.
    Accepted,
    /// The server rejected the early data; the request was sent again (RFC 8446, section 4.2.10).
    Rejected,
}

/// The group of a key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyExchangeGroup {
    /// The IANA code point of a named group, known or not.
    Named(u16),
    /// The server's own Diffie-Hellman parameters, by the size of the prime in bits.
    FiniteField(u32),
}

/// Whether a handshake was full or resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeKind {
    /// With certificate and key exchange.
    Full,
    /// By session ID or ticket (TLS 1.2), by PSK (TLS 1.3).
    Resumed,
}

/// The negotiated facts as names, for records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// The protocol version: `1.3`; `none` without TLS, as all facts then are.
    pub tls: String,
    /// The cipher suite's IANA name.
    pub suite: String,
    /// The key-exchange group; `none` for static RSA, `DH-2048` for a server's own parameters.
    pub group: String,
    /// The scheme of the server's handshake signature; `none` without a signature.
    pub signature_scheme: String,
    /// `full` or `resumed`; `none` without TLS.
    pub kind: String,
    /// Whether the server first asked for another key share.
    pub hello_retry_request: bool,
    /// The application protocol; `none` if none was selected.
    pub alpn: String,
    /// Whether the server requested a certificate and the client authenticated with one.
    #[serde(default)]
    pub client_authenticated: bool,
    /// The kind of resumption: `id`, `ticket`, `psk`, `psk-only`; `none` for a full handshake.
    pub resumed_by: String,
    /// Early data: `none` if none was sent, otherwise `accepted` or `rejected`.
    pub early_data: String,
    /// The length of the stapled OCSP response in bytes; 0 if none. Every client requests a
    /// response (RFC 6066, section 8).
    #[serde(default)]
    pub ocsp_response_bytes: u32,
}

impl From<Negotiated> for Facts {
    fn from(negotiated: Negotiated) -> Self {
        let or_none = |name: Option<String>| name.unwrap_or_else(|| "none".to_owned());
        Self {
            tls: negotiated.version.to_string(),
            suite: negotiated.suite.to_string(),
            group: or_none(negotiated.group.map(|group| group.to_string())),
            signature_scheme: or_none(negotiated.signature_scheme.map(|s| s.to_string())),
            kind: match negotiated.kind {
                HandshakeKind::Full => "full".to_owned(),
                HandshakeKind::Resumed => "resumed".to_owned(),
            },
            hello_retry_request: negotiated.hello_retry_request,
            alpn: or_none(negotiated.alpn.map(|protocol| protocol.to_string())),
            client_authenticated: negotiated.client_authenticated,
            resumed_by: negotiated.resumed_by.to_string(),
            early_data: match negotiated.early_data {
                EarlyData::None => "none".to_owned(),
                EarlyData::Accepted => "accepted".to_owned(),
                EarlyData::Rejected => "rejected".to_owned(),
            },
            ocsp_response_bytes: negotiated.ocsp_response_bytes,
        }
    }
}

impl Facts {
    /// The facts of a connection without TLS.
    pub fn without_tls() -> Self {
        let none = || "none".to_owned();
        Self {
            tls: none(),
            suite: none(),
            group: none(),
            signature_scheme: none(),
            kind: none(),
            hello_retry_request: false,
            alpn: none(),
            client_authenticated: false,
            resumed_by: none(),
            early_data: none(),
            ocsp_response_bytes: 0,
        }
    }

    /// The kind of the handshake as text: `resumed by psk, early data accepted`.
    pub fn kind_in_words(&self) -> String {
        let mut words = self.kind.clone();
        if self.resumed_by != "none" {
            words += &format!(" by {}", self.resumed_by);
        }
        if self.early_data != "none" {
            words += &format!(", early data {}", self.early_data);
        }
        if self.client_authenticated {
            words += ", client authenticated";
        }
        if self.hello_retry_request {
            words += ", after a HelloRetryRequest";
        }
        if self.ocsp_response_bytes > 0 {
            words += &format!(", OCSP response of {} bytes", self.ocsp_response_bytes);
        }
        words
    }
}

impl std::fmt::Display for KeyExchangeGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Named(code_point) => match Group::from_code_point(code_point) {
                Some(group) => f.write_str(group.name()),
                None => write!(f, "0x{code_point:04x}"),
            },
            Self::FiniteField(bits) => write!(f, "DH-{bits}"),
        }
    }
}

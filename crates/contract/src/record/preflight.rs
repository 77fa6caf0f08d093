//! The preflight in a record: what the one connection before the load found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tlslab_wire::tls::Facts;

/// The one connection made before the load began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// What was negotiated.
    pub facts: Facts,
    /// The server's certificate.
    pub certificate: Option<Certificate>,
    /// The status of the response, unless the run is handshake-only.
    pub status: Option<u16>,
    /// The length of the response's body in bytes.
    pub body_bytes: Option<u64>,
    /// The SHA-256 digest of the response's body in hexadecimal, where bodies are checked by it.
    #[serde(default)]
    pub body_sha256: Option<String>,
    /// The Server header of the response, at most 128 bytes of it.
    pub server: Option<String>,
    /// What the server gives to resume by; null where nothing is to be resumed.
    #[serde(default)]
    pub sessions: Option<SessionsGiven>,
}

/// The sessions to resume that came with each kind of handshake in the preflight. In TLS 1.2 a session
/// that was resumed can be resumed again, and counts as given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsGiven {
    /// With the full handshake.
    pub full: u32,
    /// With the handshake that resumed.
    pub resumed: u32,
}

/// What a server's certificate says; every string comes from the server and is hostile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The subject's name, at most 256 bytes of it.
    pub subject: String,
    /// The issuer's name, at most 256 bytes of it.
    pub issuer: String,
    /// The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    pub key: String,
    /// Start of validity, seconds since 1970.
    pub not_before: i64,
    /// End of validity, seconds since 1970.
    pub not_after: i64,
    /// Certificates that the server sent.
    pub chain_length: usize,
    /// Their size in bytes.
    pub chain_bytes: usize,
}

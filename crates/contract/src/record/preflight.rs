//! The results of the preflight, the verified connection before the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tlslab_wire::tls::Facts;

/// The verified connection before the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// The negotiated facts.
    pub facts: Facts,
    /// The server's certificate.
    pub certificate: Option<Certificate>,
    /// The status of the response, unless the run is handshake-only.
    pub status: Option<u16>,
    /// The length of the response's body in bytes.
    pub body_bytes: Option<u64>,
    /// The SHA-256 digest of the response's body in hexadecimal, if bodies are checked by digest.
    #[serde(default)]
    pub body_sha256: Option<String>,
    /// The first 128 bytes of the response's Server header field.
    pub server: Option<String>,
    /// With HTTP/2: the number of concurrent streams that the server allows; `null` if it has not
    /// limited them.
    #[serde(default)]
    pub streams: Option<u32>,
    /// The weakness of the server's own Diffie-Hellman prime, in words that complete "the prime":
    /// `is composite: ...`, `is not a safe prime: ...`. `null` without such a prime, and without a weakness.
    #[serde(default)]
    pub dh_prime: Option<String>,
    /// The number of sessions that the server issued; `null` if the run does not resume.
    #[serde(default)]
    pub sessions: Option<SessionsGiven>,
}

/// The number of sessions that the server issued on each kind of handshake in the preflight. In TLS
/// 1.2, a resumed session that can be resumed again counts as issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsGiven {
    /// On the full handshake.
    pub full: u32,
    /// On the resumed handshake.
    pub resumed: u32,
}

/// The contents of a server's certificate. The strings come from the server and are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// The first 256 bytes of the subject's name.
    pub subject: String,
    /// The first 256 bytes of the issuer's name.
    pub issuer: String,
    /// The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    pub key: String,
    /// Start of validity, seconds since 1970.
    pub not_before: i64,
    /// End of validity, seconds since 1970.
    pub not_after: i64,
    /// Number of certificates that the server sent.
    pub chain_length: usize,
    /// Total size of those certificates in bytes.
    pub chain_bytes: usize,
}

//! What to measure of the primitives, and what was found.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tlslab_contract::record::Environment;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group};

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const PRIMITIVES_SCHEMA: &str = "tlslab.primitives/1";

/// Which primitives to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrimitivesSpec {
    /// The libraries, `rustls` or `openssl`; empty: both.
    pub backends: Vec<String>,
    /// Key-exchange groups; those that a library lacks are left out for it.
    pub groups: Vec<Group>,
    /// Kinds of certificate key, for signatures.
    pub certificates: Vec<KeyKind>,
    /// Cipher suites, for record protection, hash and key schedule.
    pub suites: Vec<CipherSuite>,
    /// The time for each primitive, in milliseconds.
    pub time_ms: u64,
    /// The processor to pin to.
    pub cpu: Option<usize>,
    /// Whether to measure the bare TCP connection.
    pub tcp: bool,
    /// A plain HTTP server on a loopback address for that; null: a listener of the program's own.
    pub plain: Option<SocketAddr>,
    /// Bytes of the response that the program's own listener gives.
    pub response_bytes: u32,
}

impl PrimitivesSpec {
    pub(super) fn has_backend(&self, name: &str) -> bool {
        self.backends.is_empty() || self.backends.iter().any(|backend| backend == name)
    }
}

/// What the primitives cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrimitivesRecord {
    /// The wire format, `tlslab.primitives/1`.
    pub schema: String,
    /// What was asked, with all that was left to default.
    pub spec: PrimitivesSpec,
    /// The versions of this program and of the libraries.
    pub versions: BTreeMap<String, String>,
    /// The machine.
    pub environment: Environment,
    /// The primitives.
    pub primitives: Vec<Primitive>,
}

/// The cost of one primitive: processor time of one call, in microseconds.
///
/// Operations: of a group `generate` (a key), `client` (generate, and agree or decapsulate), `server`
/// (generate and agree, or encapsulate); of a signature scheme `sign`, `verify`; of a hash `digest`;
/// of a key schedule `full`; of record protection `key` (set-up), `seal`, `open`; of TCP
/// `connect` (connect and reset), `request` (connect, send a request, receive the response, reset),
/// `serve` (the same at the other end).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Primitive {
    /// The library, or `kernel`.
    pub backend: String,
    /// The algorithm: `X25519`, `ecdsa_secp256r1_sha256`, `SHA-256`, `AES-128-GCM`, `TLS 1.3 SHA-256`
    /// (key schedule), `TCP`. RSA has the key's size behind the scheme.
    pub algorithm: String,
    /// What is done.
    pub operation: String,
    /// The bytes that it is done to, where the cost depends on them.
    pub bytes: Option<u32>,
    /// The median of the rounds.
    pub median_us: f64,
    /// The least round.
    pub low_us: f64,
    /// The greatest round.
    pub high_us: f64,
    /// Rounds.
    pub rounds: u32,
    /// Calls over all rounds.
    pub calls: u64,
}

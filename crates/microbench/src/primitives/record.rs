//! The specification and the record of a measurement of primitives.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tlslab_contract::record::Environment;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group};

/// The identifier of the record format. The number changes if old readers would misread the new
/// form.
pub const PRIMITIVES_SCHEMA: &str = "tlslab.primitives/1";

/// The primitives to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrimitivesSpec {
    /// The libraries, `rustls` or `openssl`; empty: both.
    pub backends: Vec<String>,
    /// Key-exchange groups; each library skips those that it lacks.
    pub groups: Vec<Group>,
    /// Kinds of certificate key, for signatures.
    pub certificates: Vec<KeyKind>,
    /// Cipher suites, which determine record protection, hash and key schedule.
    pub suites: Vec<CipherSuite>,
    /// The time per primitive, in milliseconds.
    pub time_ms: u64,
    /// The processor to pin the thread to.
    pub cpu: Option<usize>,
    /// Whether to measure the bare TCP connection.
    pub tcp: bool,
    /// The loopback address of a plain HTTP server for that; null: the program's own listener.
    pub plain: Option<SocketAddr>,
    /// Bytes of the response of the program's own listener.
    pub response_bytes: u32,
}

impl PrimitivesSpec {
    pub(super) fn has_backend(&self, name: &str) -> bool {
        self.backends.is_empty() || self.backends.iter().any(|backend| backend == name)
    }
}

/// The costs of the primitives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrimitivesRecord {
    /// The record format, `tlslab.primitives/1`.
    pub schema: String,
    /// The specification, including all defaults.
    pub spec: PrimitivesSpec,
    /// The versions of this program and of the libraries.
    pub versions: BTreeMap<String, String>,
    /// The machine.
    pub environment: Environment,
    /// The primitives.
    pub primitives: Vec<Primitive>,
}

/// The cost of one primitive: processor time per call, in microseconds.
///
/// Operations:
/// - of a group: `generate` (a key), `client` (generate, and agree or decapsulate), `server`
///   (generate and agree, or encapsulate).
/// - of a signature scheme: `sign`, `verify`.
/// - of a hash: `digest`.
/// - of a key schedule: `full`.
/// - of record protection: `key` (set-up), `seal`, `open`.
/// - of TCP: `connect` (connect and reset), `request` (connect, send a request, receive the
///   response, reset), `serve` (the same at the other end), `exchange` (send a request and receive
///   the response on a connection that stays open; with a named server only).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Primitive {
    /// The library, or `kernel`.
    pub backend: String,
    /// The algorithm: `X25519`, `ecdsa_secp256r1_sha256`, `SHA-256`, `AES-128-GCM`, `TLS 1.3
    /// SHA-256` (key schedule), `TCP`. For RSA, the key's size follows the scheme.
    pub algorithm: String,
    /// The operation.
    pub operation: String,
    /// The length of the input in bytes, if the cost depends on it.
    pub bytes: Option<u32>,
    /// The median of the rounds.
    pub median_us: f64,
    /// The fastest round.
    pub low_us: f64,
    /// The slowest round.
    pub high_us: f64,
    /// Number of rounds.
    pub rounds: u32,
    /// Number of calls in all rounds.
    pub calls: u64,
}

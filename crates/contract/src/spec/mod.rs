//! The run specification, as plain data and in its checked form.
//!
//! [`RunSpec`] crosses the JSON contract. [`CheckedSpec`] is a specification whose parts fit each
//! other; the engine runs nothing else.

mod checked;
mod client_identity;
mod error;
mod http;
pub mod load;
mod request;
mod resumption;
mod shape;
mod tls;

pub use http::{BodyCheck, HttpSpec, HttpVersion};
pub use request::{ExpectStatus, HeaderField, RequestBody, WeightedPath};

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::load::LoadSpec;

pub use self::checked::{CheckedSpec, check_allowed, checked_name};
pub use self::client_identity::{ClientIdentity, Secret};
pub use self::error::SpecError;
pub use self::resumption::{HelloRetry, Resume};
pub use self::shape::{Close, Finished};
pub use self::tls::{Authenticate, BackendChoice, ClientChoice, KeyShare, TlsSpec, Trust};

#[cfg(any(test, feature = "invariants"))]
pub mod invariants;

/// The identifier of the wire format. The number changes if old readers would misread the new form.
pub const SPEC_SCHEMA: &str = "tlslab.spec/1";

/// The highest number of workers: the number of processors in Linux's fixed-size affinity mask.
const THREADS_LIMIT: u32 = 1024;

/// The longest warm-up and the longest measurement, in milliseconds: a day each.
const TIME_LIMIT_MS: u64 = 24 * 3600 * 1000;

/// One run of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The wire format, `tlslab.spec/1`.
    #[serde(default = "spec_schema")]
    pub schema: String,
    /// The target and the path to request: `https://host[:port]/path`.
    pub url: String,
    /// The host and port to connect to instead of the URL's: `HOST:PORT`. Names, header fields and
    /// the certificate check still follow the URL.
    #[serde(default)]
    pub connect_to: Option<String>,
    /// Connections in flight at once, over all threads (closed loop).
    #[serde(default = "one")]
    pub connections: u32,
    /// The number of workers. Each worker is a thread with its own poller.
    #[serde(default = "one")]
    pub threads: u32,
    /// The processors to pin the workers to, in order and repeated as needed. If empty, workers are
    /// not pinned.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// The length of the warm-up before the measurement, in milliseconds. Nothing in it is counted.
    #[serde(default)]
    pub warmup_ms: u64,
    /// When the measurement ends.
    pub stop: Stop,
    /// Requests on each connection before it is closed.
    #[serde(default)]
    pub requests_per_connection: RequestsPerConnection,
    /// Whether each connection is closed as soon as the handshake is done, without a request.
    #[serde(default)]
    pub handshake_only: bool,
    /// How a connection is closed after its last response.
    #[serde(default)]
    pub close: Close,
    /// When the client's Finished is sent.
    #[serde(default)]
    pub finished: Finished,
    /// The version of HTTP, the requests, and the checks of the responses.
    #[serde(default)]
    pub http: HttpSpec,
    /// The load over time, and the trace of connections.
    #[serde(default)]
    pub load: LoadSpec,
    /// The client's TLS offer, and what each connection is checked against.
    #[serde(default)]
    pub tls: TlsSpec,
    /// The time limit of each step of a connection.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// Hosts that the user has allowed as targets, in addition to loopback ones.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Addresses of this machine to connect from, in turn. If empty, the system chooses one. From
    /// each source address, some 28,000 connections at once to one address of a target are
    /// possible.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// For a public target: the token of the page `/.well-known/tlslab-<token>`, which the target
    /// serves. By this page its operator consents to more than 1,000 connections/s or 60 s.
    #[serde(default)]
    pub proof: Option<String>,
    /// The number of generators that load this target together, including this one.
    #[serde(default = "one")]
    pub generators: u32,
    /// This generator's share of the load of all generators, above 0 and up to 1. The same share of
    /// the rate limit for public targets without proof applies to this generator. Default: an equal
    /// share.
    #[serde(default)]
    pub portion: Option<f64>,
}

impl RunSpec {
    /// Checks that the parts fit each other.
    pub fn checked(self) -> Result<CheckedSpec, SpecError> {
        CheckedSpec::new(self)
    }
}

/// When a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After N milliseconds.
    DurationMs(u64),
    /// After N connections.
    Count(u64),
}

/// The number of requests on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestsPerConnection {
    /// N requests, then the connection is closed.
    Count(u32),
    /// As many requests as fit into the run.
    Unlimited,
}

impl Default for RequestsPerConnection {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// The time limit of each step, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deadlines {
    /// From the start of the TCP connect until the connection is established.
    pub connect_ms: u32,
    /// From the established TCP connection until the TLS handshake is complete.
    pub handshake_ms: u32,
    /// From the start of a request until the first byte of its response.
    pub first_byte_ms: u32,
    /// From the first to the last byte of a response.
    pub body_ms: u32,
}

impl Default for Deadlines {
    /// Ten seconds for each step: Coradiant's study gives a user's patience as 4 to 20 s.
    fn default() -> Self {
        Self { connect_ms: 10_000, handshake_ms: 10_000, first_byte_ms: 10_000, body_ms: 10_000 }
    }
}

fn spec_schema() -> String {
    SPEC_SCHEMA.to_owned()
}

fn one() -> u32 {
    1
}

#[cfg(test)]
mod tests;

//! What to do: the run specification, plain data, and its checked form.
//!
//! [`RunSpec`] is what crosses the JSON contract. [`CheckedSpec`] is a specification whose parts fit
//! each other; nothing else can be run.

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

pub use self::checked::{CheckedSpec, check_allowed};
pub use self::client_identity::{ClientIdentity, Secret};
pub use self::error::SpecError;
pub use self::resumption::{HelloRetry, Resume};
pub use self::shape::{Close, Finished};
pub use self::tls::{Authenticate, BackendChoice, ClientChoice, KeyShare, TlsSpec, Trust};

#[cfg(any(test, feature = "invariants"))]
pub mod invariants;

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const SPEC_SCHEMA: &str = "tlslab.spec/1";

/// The most workers: as many as Linux's fixed-size affinity mask has room for processors.
const THREADS_LIMIT: u32 = 1024;

/// The longest time of a run, in milliseconds: a day.
const TIME_LIMIT_MS: u64 = 24 * 3600 * 1000;

/// One run of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The wire format, `tlslab.spec/1`.
    #[serde(default = "spec_schema")]
    pub schema: String,
    /// Where to connect and what to ask for: `https://host[:port]/path`.
    pub url: String,
    /// Where to connect in place of the URL's host and port: `HOST:PORT`. Names, header fields and
    /// the certificate check stay the URL's.
    #[serde(default)]
    pub connect_to: Option<String>,
    /// Connections in flight at once, over all threads (closed loop).
    #[serde(default = "one")]
    pub connections: u32,
    /// Workers; each is one thread with a poller of its own.
    #[serde(default = "one")]
    pub threads: u32,
    /// The processors to pin the workers to, in order and repeated as needed; empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Load before the measurement begins, in milliseconds; nothing of it is counted.
    #[serde(default)]
    pub warmup_ms: u64,
    /// When the measurement ends.
    pub stop: Stop,
    /// Requests on each connection before it is closed.
    #[serde(default)]
    pub requests_per_connection: RequestsPerConnection,
    /// Close each connection as soon as the handshake is done, without a request.
    #[serde(default)]
    pub handshake_only: bool,
    /// How a connection is closed once it has all that it asked for.
    #[serde(default)]
    pub close: Close,
    /// When the client's Finished leaves.
    #[serde(default)]
    pub finished: Finished,
    /// The HTTP that is spoken.
    #[serde(default)]
    pub http: HttpSpec,
    /// How load is made over time, and what is kept of each connection.
    #[serde(default)]
    pub load: LoadSpec,
    /// What to offer and what to insist on.
    #[serde(default)]
    pub tls: TlsSpec,
    /// The time each step may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// Hosts, beside loopback ones, that the user has allowed as targets.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Addresses of this machine to connect from, in turn; empty: the system chooses one. A target's
    /// address takes some 28,000 connections at once from each.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// For a public target: the token whose page `/.well-known/tlslab-<token>` the target serves, by
    /// which its operator agrees to more than 1,000 connections/s or 60 s.
    #[serde(default)]
    pub proof: Option<String>,
    /// Generators that load this target together, this one among them.
    #[serde(default = "one")]
    pub generators: u32,
    /// This generator's part of the load of all, above 0 and up to 1: so much it takes of what a public
    /// target takes without proof. By default an equal part.
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

/// How many requests one connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestsPerConnection {
    /// N, then the connection is closed.
    Count(u32),
    /// As many as fit into the run.
    Unlimited,
}

impl Default for RequestsPerConnection {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// The time that each step may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deadlines {
    /// From the start of the TCP connection until it is established.
    pub connect_ms: u32,
    /// From there until the TLS handshake is complete.
    pub handshake_ms: u32,
    /// From the start of a request until its first byte is answered.
    pub first_byte_ms: u32,
    /// From the first byte of a response until its last.
    pub body_ms: u32,
}

impl Default for Deadlines {
    /// Ten seconds a step: Coradiant's study gives a user's patience as 4 to 20 s.
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

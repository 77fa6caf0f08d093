//! The record of one run of the load generator: plain data.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::hosts::{
    CommonWindow, HostClock, HostFound, HostPart, LastTotals, Lost, LostHost, StartTime,
};
pub use self::preflight::{Certificate, Preflight, SessionsGiven};
pub use self::usage::{Bytes, CpuTime, WorkerUsage};
pub use self::verdict::{Verdict, VerdictCode};
use crate::accounting::Outcomes;
use crate::spec::RunSpec;
use tlslab_wire::tls::Facts;

mod hosts;
mod preflight;
mod usage;
mod verdict;

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const RECORD_SCHEMA: &str = "tlslab.record/1";

/// The record of one run of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The wire format, `tlslab.record/1`.
    pub schema: String,
    /// What was asked.
    pub spec: RunSpec,
    /// The TLS back end that made the handshakes: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries that took part.
    pub versions: BTreeMap<String, String>,
    /// The machine that the generator ran on.
    pub environment: Environment,
    /// The address that was connected to.
    pub address: String,
    /// The one connection made before the load began, verified in full.
    pub preflight: Preflight,
    /// The accounting over all connections.
    pub outcomes: Outcomes,
    /// The facts of the completed connections and of the unexpected ones, with their counts.
    pub facts: Vec<CountedFacts>,
    /// How connections ended by the server name that they asked for, in the order of the
    /// specification; empty if it has no list of names.
    #[serde(default)]
    pub server_names: Vec<CountedName>,
    /// The certificate that was shown to servers that asked for one.
    #[serde(default)]
    pub client_certificate: Option<ClientCertificate>,
    /// Completed connections by the kind of their handshake, and what priming took.
    #[serde(default)]
    pub kinds: Kinds,
    /// Connections whose server was authenticated in full: on themselves, or on the connection whose
    /// session they resumed.
    pub authenticated: u64,
    /// Completed connections whose handshake the minimal client made, and not the library.
    #[serde(default)]
    pub minimal_client: u64,
    /// Requests that were answered in full, with a status that was asked for (2xx by default).
    pub requests: u64,
    /// The length of the measurement in seconds, mean over the workers.
    pub seconds: f64,
    /// Processor time of the workers during the measurement, and nothing else of this process.
    pub cpu: CpuTime,
    /// The same, for each worker.
    pub workers: Vec<WorkerUsage>,
    /// Bytes over all completed connections.
    pub bytes: Bytes,
    /// HdrHistogram V2 (compressed) in base64, values in nanoseconds, by name: see [`HISTOGRAMS`].
    pub histograms: BTreeMap<String, String>,
    /// The same histograms in short.
    pub summaries: BTreeMap<String, Summary>,
    /// The times apart by the client that made the connections, `library` or `minimal`; empty where one
    /// client made them all.
    #[serde(default)]
    pub clients: BTreeMap<String, ClientTimes>,
    /// The measurement in slices.
    pub intervals: Vec<Interval>,
    /// In an open loop: what became of the arrivals.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// For a measurement in steps: each of them.
    #[serde(default)]
    pub steps: Vec<StepResult>,
    /// Connections in flight, mean over the measurement.
    #[serde(default)]
    pub concurrency: f64,
    /// Time that connections spent in flight; not in records of earlier versions.
    #[serde(default)]
    pub flight: Option<FlightTimes>,
    /// Connections whose SYN had to be sent again.
    #[serde(default)]
    pub slow_connects: SlowConnects,
    /// What the reader must know before using the numbers.
    pub verdicts: Vec<Verdict>,
    /// What the reader should know besides: what was out of the ordinary, and no fault.
    #[serde(default)]
    pub notes: Vec<String>,
    /// When the measurement began; not in records of earlier versions, nor where none did.
    #[serde(default)]
    pub started: Option<StartTime>,
    /// In a merged record: what each generator did; empty in the record of one.
    #[serde(default)]
    pub hosts: Vec<HostPart>,
    /// In a merged record: the time that the measurements of all generators have in common.
    #[serde(default)]
    pub common: Option<CommonWindow>,
}

/// Who makes connections: the library, and the engine's minimal client.
pub const CLIENTS: [&str; 2] = ["library", "minimal"];

/// The times of the connections that one of two clients made. The minimal client leaves some to the
/// library, which takes longer over them: they would be the tail of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientTimes {
    /// Its completed connections.
    pub connections: u64,
    /// Its histograms, as the record's, without `start_delay`.
    pub histograms: BTreeMap<String, String>,
    /// The same in short.
    pub summaries: BTreeMap<String, Summary>,
}

impl RunRecord {
    /// The name and the times of the client that carried the load: the one that completed the most
    /// connections. `None` where one client made them all.
    pub fn load_client(&self) -> Option<(&str, &ClientTimes)> {
        let found = self.clients.iter().max_by_key(|(_, times)| times.connections);
        found.map(|(name, times)| (name.as_str(), times))
    }

    /// The times to show first, by name: those of the client that carried the load, and what is no
    /// client's.
    pub fn load_summary(&self, name: &str) -> Option<Summary> {
        let of_client = self.load_client().and_then(|(_, times)| times.summaries.get(name));
        of_client.or_else(|| self.summaries.get(name)).copied()
    }
}

/// The names of the histograms of a record and what each holds.
///
/// Per connection: `connect` (start of the TCP connection until established), `handshake` (from there
/// until the TLS handshake is complete at the client), `established` (the sum of the two; `ab` calls
/// this connect), `service` (start of the TCP connection until the last byte of the last response).
/// Per request: `first_byte` (start of the request until the first byte of its response; `ab` calls
/// this waiting), `exchange` (start of the request until the last byte of its response; `ab` calls
/// this processing). By kind: `handshake_full` and `handshake_resumed`, which together are
/// `handshake`.
pub const HISTOGRAMS: [&str; 8] = [
    "connect",
    "handshake",
    "established",
    "first_byte",
    "exchange",
    "service",
    "handshake_full",
    "handshake_resumed",
];

/// The names of the further histograms of a record whose loop was open.
///
/// Per connection that was started: `start_delay` (intended until actual start of the TCP connection;
/// a connection that found no free slot waited for one). Per completed connection, from its intended
/// start: `response_established` (until the TLS handshake is complete), `response_first_byte` (until
/// the first byte of its first response), `response` (until the last byte of the last response).
pub const OPEN_HISTOGRAMS: [&str; 4] =
    ["start_delay", "response_established", "response_first_byte", "response"];

/// What became of the arrivals of an open loop: `arrivals = started + waiting_at_stop`, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Arrivals that waited when the measurement began, and those that became due during it.
    pub arrivals: u64,
    /// Those of them that were started: attempts, without those in flight at the start.
    pub started: u64,
    /// Those of them that found no free slot when they were due, and waited for one.
    pub blocked: u64,
    /// Those of them that still waited when the measurement ended.
    pub waiting_at_stop: u64,
    /// Arrivals a second: the load that was offered.
    pub offered_per_s: f64,
    /// Connections started a second.
    pub achieved_per_s: f64,
}

/// One step of a measurement in steps; connections count in the step in which they end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// Connections in flight at once, at most.
    pub connections: u32,
    /// New connections a second, in an open loop.
    pub rate: Option<f64>,
    /// Its start, in seconds from the start of the measurement.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Connections started in it.
    pub started: u64,
    /// Connections completed in it.
    pub completed: u64,
    /// Connections failed in it, by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections in it whose handshake was not the one asked for, by the fact that differed.
    pub unexpected: BTreeMap<String, u64>,
    /// Requests answered in it.
    pub requests: u64,
    /// The workers' processor time in it.
    pub cpu: CpuTime,
    /// Its histograms in short.
    pub summaries: BTreeMap<String, Summary>,
}

/// Time that connections spent in flight, added up over them, in seconds. Little's law as an identity:
/// `within_s` + `before_s` = service times of the completed connections + `troubled_s` +
/// `unfinished_s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlightTimes {
    /// In the measurement: the integral of the number in flight.
    pub within_s: f64,
    /// Before the measurement, by connections that were in flight when it began.
    pub before_s: f64,
    /// By connections that failed or were unexpected in the measurement, since their start.
    pub troubled_s: f64,
    /// By connections that were in flight when the measurement ended, since their start.
    pub unfinished_s: f64,
}

/// Connections that waited a second or more to connect: their SYN had to be sent again, as when the
/// server's queue of connections to accept (its backlog) is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowConnects {
    /// The connections, whether they were established in the end or not.
    pub count: u64,
    /// Where the server is on this machine: how often the kernel refused a connection during the run
    /// because the queue of a listening socket was full (ListenOverflows of /proc/net/netstat; all
    /// sockets of the machine).
    pub listen_overflows: Option<u64>,
}

/// The machine that the generator ran on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The kernel's release.
    pub kernel: String,
    /// The processor's model name.
    pub processor: String,
    /// Processors online.
    pub processors: usize,
}

/// The client's own certificate; its key is in no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCertificate {
    /// The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    pub key: String,
    /// The SHA-256 digest of the certificate, in hex.
    pub sha256: String,
}

/// A server name, and how the connections ended that asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedName {
    /// The name, as the specification has it.
    pub name: String,
    /// Connections that did all that was asked.
    pub completed: u64,
    /// Failed connections.
    pub failed: u64,
    /// Connections whose handshake was not the one asked for.
    pub unexpected: u64,
}

/// Facts, and how many connections had them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedFacts {
    /// What was negotiated.
    #[serde(flatten)]
    pub facts: Facts,
    /// The connections.
    pub count: u64,
}

/// Completed connections by the kind of their handshake, and what priming took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kinds {
    /// Full handshakes.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Resumed handshakes whose early data the server took.
    pub early_data_accepted: u64,
    /// Resumed handshakes whose early data the server rejected; it was sent again.
    pub early_data_rejected: u64,
    /// Full handshakes made before the warm-up to collect sessions to resume; not counted elsewhere.
    pub primed_connections: u64,
    /// Sessions that could be resumed when priming was done.
    pub primed_sessions: u64,
    /// Full handshakes made besides the load, during the measurement, to collect sessions to resume
    /// from a server that gives none on resumed connections; not counted elsewhere.
    #[serde(default)]
    pub refill_connections: u64,
}

impl Kinds {
    /// The share of completed connections that resumed an earlier session.
    pub fn resumed_share(&self) -> f64 {
        self.resumed as f64 / (self.full + self.resumed).max(1) as f64
    }
}

impl std::ops::AddAssign for Kinds {
    fn add_assign(&mut self, other: Self) {
        self.full += other.full;
        self.resumed += other.resumed;
        self.early_data_accepted += other.early_data_accepted;
        self.early_data_rejected += other.early_data_rejected;
        self.primed_connections += other.primed_connections;
        self.primed_sessions += other.primed_sessions;
        self.refill_connections += other.refill_connections;
    }
}

/// A histogram in short, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Values.
    pub n: u64,
    /// Least value.
    pub min_ms: f64,
    /// Mean.
    pub mean_ms: f64,
    /// Standard deviation.
    pub sd_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Greatest value.
    pub max_ms: f64,
}

/// One slice of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start, in seconds from the start of the measurement.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Connections completed in it.
    pub completed: u64,
    /// Connections that failed or were unexpected in it.
    pub failed: u64,
    /// The workers' processor time in it.
    pub cpu: CpuTime,
}

/// Adds the slices of another worker or generator to these, by their number: they begin at the same
/// instants, but for the last one.
pub fn add_slices(mine: &mut Vec<Interval>, theirs: &[Interval]) {
    for (index, other) in theirs.iter().enumerate() {
        match mine.get_mut(index) {
            Some(slice) => {
                slice.completed += other.completed;
                slice.failed += other.failed;
                slice.cpu += other.cpu;
                slice.seconds = slice.seconds.max(other.seconds);
            }
            None => mine.push(*other),
        }
    }
}

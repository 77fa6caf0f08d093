//! The record of one run of the load generator: plain data.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::hosts::{
    CommonWindow, HostClock, HostFound, HostPart, LastTotals, Lost, LostHost, StartTime, places_of,
};
pub use self::preflight::{Certificate, Preflight, SessionsGiven};
pub use self::usage::{Bytes, CpuTime, Place, Supply, WorkerUsage, busiest, places};
pub use self::verdict::{Verdict, VerdictCode};
use crate::accounting::Outcomes;
use crate::spec::RunSpec;
use tlslab_wire::tls::Facts;

mod hosts;
mod preflight;
mod usage;
mod verdict;

/// The identifier of the record format. The number changes if old readers would misread the new
/// form.
pub const RECORD_SCHEMA: &str = "tlslab.record/1";

/// The record of one run of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The record format, `tlslab.record/1`.
    pub schema: String,
    /// The specification of the run.
    pub spec: RunSpec,
    /// The TLS back end that made the handshakes: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries that took part.
    pub versions: BTreeMap<String, String>,
    /// The machine that the generator ran on.
    pub environment: Environment,
    /// The address that was connected to.
    pub address: String,
    /// The verified connection that is made before the load begins.
    pub preflight: Preflight,
    /// The accounting over all connections.
    pub outcomes: Outcomes,
    /// The negotiated facts of completed and unexpected connections, each combination with its
    /// count.
    pub facts: Vec<CountedFacts>,
    /// Outcomes by requested server name, in the order of the specification; empty without a list
    /// of names.
    #[serde(default)]
    pub server_names: Vec<CountedName>,
    /// Complete responses by status: those of `requests`, and those of connections that failed
    /// because of an unexpected status. Empty in records of earlier versions.
    #[serde(default)]
    pub statuses: BTreeMap<String, u64>,
    /// Requests by URL, in the order of the specification; empty for a single URL.
    #[serde(default)]
    pub urls: Vec<CountedUrl>,
    /// The certificate that the client sends to servers that request one.
    #[serde(default)]
    pub client_certificate: Option<ClientCertificate>,
    /// Completed connections by kind of handshake, and the counts of priming.
    #[serde(default)]
    pub kinds: Kinds,
    /// Connections whose server was authenticated in full, either in their own handshake or in the
    /// handshake of the session that they resumed.
    pub authenticated: u64,
    /// Completed connections whose handshake was made by the minimal client instead of the library.
    #[serde(default)]
    pub minimal_client: u64,
    /// Completed connections by what shows that the server accepted the handshake; all 0 in records
    /// of earlier versions.
    #[serde(default)]
    pub confirmed_by: ConfirmedBy,
    /// Completed connections by their round trips; empty in records of earlier versions.
    #[serde(default)]
    pub round_trips: RoundTrips,
    /// Requests with a complete response and an expected status (2xx by default).
    pub requests: u64,
    /// The length of the measurement in seconds, mean over the workers.
    pub seconds: f64,
    /// Processor time of the workers during the measurement. Other threads of the process are
    /// excluded.
    pub cpu: CpuTime,
    /// Processor time and length of the measurement of each worker.
    pub workers: Vec<WorkerUsage>,
    /// What the machine let the generator use. Unknown in records of earlier versions.
    #[serde(default)]
    pub supply: Supply,
    /// The share of the time left to them for which the busiest workers computed; workers that share
    /// processors count together. `None` without a measurement.
    #[serde(default)]
    pub busy: Option<f64>,
    /// Bytes over all completed connections.
    pub bytes: Bytes,
    /// HdrHistogram V2 (compressed, base64) by name, values in nanoseconds: see [`HISTOGRAMS`].
    pub histograms: BTreeMap<String, String>,
    /// Summaries of the same histograms.
    pub summaries: BTreeMap<String, Summary>,
    /// Times by the client that made the connections, `library` or `minimal`; empty if only one
    /// client made connections.
    #[serde(default)]
    pub clients: BTreeMap<String, ClientTimes>,
    /// The slices of the measurement, in order.
    pub intervals: Vec<Interval>,
    /// In an open loop: the accounting of the arrivals.
    #[serde(default)]
    pub open_loop: Option<OpenLoop>,
    /// The steps of a measurement in steps, in order.
    #[serde(default)]
    pub steps: Vec<StepResult>,
    /// Connections in flight, mean over the measurement.
    #[serde(default)]
    pub concurrency: f64,
    /// Time that connections spent in flight. Absent from records of earlier versions.
    #[serde(default)]
    pub flight: Option<FlightTimes>,
    /// Connections whose SYN was retransmitted.
    #[serde(default)]
    pub slow_connects: SlowConnects,
    /// Statements that decide whether the numbers may be used.
    pub verdicts: Vec<Verdict>,
    /// Unusual but legitimate observations about the run.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why the library made all connections, although the minimal client was chosen; `None` if it
    /// was not.
    #[serde(default)]
    pub client_fallback: Option<String>,
    /// The start of the measurement. Absent from records of earlier versions, and if no measurement
    /// began.
    #[serde(default)]
    pub started: Option<StartTime>,
    /// In a merged record: the part of each generator. Empty in the record of one generator.
    #[serde(default)]
    pub hosts: Vec<HostPart>,
    /// In a merged record: the time during which all generators were measuring.
    #[serde(default)]
    pub common: Option<CommonWindow>,
}

/// What shows that the server accepted a handshake. In TLS 1.3 the client finishes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// The connection's first response.
    Response,
    /// The server's Finished of TLS 1.2: the last message of a full handshake; in a resumed one
    /// the server accepts the session by it, and has ended the TCP stream in order since.
    ServerFinished,
    /// The server's close_notify after the client's Finished.
    CloseNotify,
    /// A NewSessionTicket after the client's Finished; the server sent no close_notify.
    Ticket,
}

/// Completed connections by [`Confirmation`]. The counts add up to `completed`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmedBy {
    /// By the connection's first response.
    pub response: u64,
    /// Without a request, TLS 1.2: by the server's Finished.
    pub server_finished: u64,
    /// Without a request: by the server's close_notify.
    pub close_notify: u64,
    /// Without a request: by a session ticket, without a close_notify.
    pub ticket: u64,
}

impl ConfirmedBy {
    /// Counts a completed connection.
    pub fn count(&mut self, by: Confirmation) {
        match by {
            Confirmation::Response => self.response += 1,
            Confirmation::ServerFinished => self.server_finished += 1,
            Confirmation::CloseNotify => self.close_notify += 1,
            Confirmation::Ticket => self.ticket += 1,
        }
    }

    /// The number of connections.
    pub fn total(&self) -> u64 {
        self.response + self.server_finished + self.close_notify + self.ticket
    }
}

impl std::ops::AddAssign for ConfirmedBy {
    fn add_assign(&mut self, other: Self) {
        self.response += other.response;
        self.server_finished += other.server_finished;
        self.close_notify += other.close_notify;
        self.ticket += other.ticket;
    }
}

/// Completed connections by kind of handshake and number of round trips.
///
/// A round trip is a wait for the peer: the client has sent what it has to send, and cannot go on
/// before the answer. Counted are the TCP connect, the flights of the handshake, and the first
/// request until the first byte of its response; without a request, until the handshake is
/// confirmed. A request that is early data as a whole, and accepted, waits for no round trip of its
/// own. A message that arrives in pieces is one wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrips {
    /// Connections with a full handshake, or without TLS, by number of round trips: `{"3": 100}`.
    pub full: BTreeMap<String, u64>,
    /// Connections that resumed an earlier session.
    pub resumed: BTreeMap<String, u64>,
}

impl RoundTrips {
    /// The number of connections.
    pub fn connections(&self) -> u64 {
        self.full.values().chain(self.resumed.values()).sum()
    }
}

impl std::ops::AddAssign<&RoundTrips> for RoundTrips {
    fn add_assign(&mut self, other: &Self) {
        let kinds = [(&mut self.full, &other.full), (&mut self.resumed, &other.resumed)];
        for (mine, theirs) in kinds {
            for (number, count) in theirs {
                *mine.entry(number.clone()).or_default() += count;
            }
        }
    }
}

/// The clients that make connections: the TLS library, and the engine's minimal client.
pub const CLIENTS: [&str; 2] = ["library", "minimal"];

/// The times of the connections of one client. The minimal client leaves some connections to the
/// library, which takes longer; in one common histogram those would form the tail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientTimes {
    /// Connections that this client completed.
    pub connections: u64,
    /// The histograms of this client, named as in the record; `start_delay` is absent, and with
    /// patience the response times, which then are of users.
    pub histograms: BTreeMap<String, String>,
    /// Summaries of the same histograms.
    pub summaries: BTreeMap<String, Summary>,
}

impl RunRecord {
    /// The places of the workers, those of a merged record by machine.
    pub fn places(&self) -> Vec<Place> {
        if self.hosts.is_empty() {
            places(&self.workers, &self.supply)
        } else {
            places_of(&self.hosts)
        }
    }

    /// The name and the times of the client with the most completed connections. `None` if only one
    /// client made connections.
    pub fn load_client(&self) -> Option<(&str, &ClientTimes)> {
        let found = self.clients.iter().max_by_key(|(_, times)| times.connections);
        found.map(|(name, times)| (name.as_str(), times))
    }

    /// The summary to show first, by name of histogram: of the client with the most completed
    /// connections, otherwise of the whole record (`start_delay` exists only there).
    pub fn load_summary(&self, name: &str) -> Option<Summary> {
        let of_client = self.load_client().and_then(|(_, times)| times.summaries.get(name));
        of_client.or_else(|| self.summaries.get(name)).copied()
    }
}

/// The names of the histograms of a record.
///
/// Per connection:
/// - `connect`: start of the TCP connection until it is established.
/// - `handshake`: from there until the client has completed the TLS handshake.
/// - `established`: the sum of the two; `ab` calls this connect.
/// - `service`: start of the TCP connection until the last byte of the last response.
///
/// Per request:
/// - `first_byte`: start of the request until the first byte of its response; `ab` calls this
///   waiting.
/// - `exchange`: start of the request until the last byte of its response; `ab` calls this
///   processing.
///
/// By kind: `handshake_full` and `handshake_resumed` together are `handshake`.
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

/// The names of the further histograms in the record of an open loop.
///
/// Per started connection:
/// - `start_delay`: intended until actual start of the TCP connection. An arrival that finds no
///   free slot waits for one. Retries have none.
///
/// Per completed connection, from its intended start; with retries, from that of the user's first:
/// - `response_established`: until the TLS handshake is complete.
/// - `response_first_byte`: until the first byte of its first response.
/// - `response`: until the last byte of its last response.
///
/// With patience the three also have a value for each user who gave up: the time until then, if the
/// milestone was not reached, which is a lower bound (the value is censored).
pub const OPEN_HISTOGRAMS: [&str; 4] =
    ["start_delay", "response_established", "response_first_byte", "response"];

/// The histograms whose times belong to no client: the start delay does not depend on it, and with
/// patience the response times are of users, who may have met neither client before they gave up.
pub fn of_no_client(with_patience: bool) -> &'static [&'static str] {
    &OPEN_HISTOGRAMS[..if with_patience { OPEN_HISTOGRAMS.len() } else { 1 }]
}

/// The accounting of the arrivals of an open loop: `arrivals = started + waiting_at_stop`, exactly;
/// with patience, `+ users.left_waiting`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Arrivals that were waiting when the measurement began, and arrivals due during the
    /// measurement.
    pub arrivals: u64,
    /// Arrivals that were started: attempts, without the connections in flight at the start, and
    /// without retries.
    pub started: u64,
    /// Arrivals that found no free slot when they were due and had to wait.
    pub blocked: u64,
    /// Arrivals that were still waiting when the measurement ended.
    pub waiting_at_stop: u64,
    /// Offered load, in arrivals a second.
    pub offered_per_s: f64,
    /// Achieved rate, in started connections a second.
    pub achieved_per_s: f64,
    /// With patience: how the users fared.
    #[serde(default)]
    pub users: Option<Users>,
}

/// The users of an open loop with patience. A user is an arrival with its retries; users whose
/// connections were in flight when the measurement began count, too. `arrived =
/// answered_at_first + answered_after_retry + gave_up + failed + unfinished`, exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Users {
    /// Connections in flight when the measurement began, and the arrivals.
    pub arrived: u64,
    /// Users whose first connection completed.
    pub answered_at_first: u64,
    /// Users of whom a later connection completed.
    pub answered_after_retry: u64,
    /// Users who abandoned their last connection, or waited in vain for one.
    pub gave_up: u64,
    /// Of those who gave up: arrivals for which no slot was free until their patience ended. They do
    /// not come back.
    pub left_waiting: u64,
    /// Users whose last connection failed, or had an unexpected handshake.
    pub failed: u64,
    /// Users who were still waiting when the measurement ended.
    pub unfinished: u64,
    /// Connections of users who came back: attempts beyond the offered load.
    pub retries: u64,
}

impl Users {
    /// Users who got an answer in the end.
    pub fn answered(&self) -> u64 {
        self.answered_at_first + self.answered_after_retry
    }

    /// Users whose wait ended in the measurement, one way or another.
    pub fn decided(&self) -> u64 {
        self.answered() + self.gave_up + self.failed
    }

    /// True if the identity holds.
    pub fn balanced(&self) -> bool {
        self.arrived == self.decided() + self.unfinished && self.left_waiting <= self.gave_up
    }
}

impl std::ops::AddAssign for Users {
    fn add_assign(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.answered_at_first += other.answered_at_first;
        self.answered_after_retry += other.answered_after_retry;
        self.gave_up += other.gave_up;
        self.left_waiting += other.left_waiting;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.retries += other.retries;
    }
}

/// One step of a measurement in steps. A connection counts in the step in which it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// Limit of connections in flight.
    pub connections: u32,
    /// Offered load in new connections a second; open loop only.
    pub rate: Option<f64>,
    /// Start of the step, in seconds from the start of the measurement.
    pub at_s: f64,
    /// Length of the step in seconds.
    pub seconds: f64,
    /// Connections started in the step.
    pub started: u64,
    /// Connections completed in the step.
    pub completed: u64,
    /// Connections failed in the step, by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections of the step with an unexpected handshake, by the fact that differed.
    pub unexpected: BTreeMap<String, u64>,
    /// Connections abandoned in the step.
    #[serde(default)]
    pub abandoned: u64,
    /// Requests answered in the step.
    pub requests: u64,
    /// Processor time of the workers in the step.
    pub cpu: CpuTime,
    /// Summaries of the histograms of the step.
    pub summaries: BTreeMap<String, Summary>,
}

/// Time that connections spent in flight, summed over connections, in seconds. Little's law holds
/// as an identity: `within_s` + `before_s` = service times of the completed connections +
/// `troubled_s` + `unfinished_s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlightTimes {
    /// During the measurement: the integral of the number in flight over time.
    pub within_s: f64,
    /// Before the measurement: by connections that were in flight when the measurement began.
    pub before_s: f64,
    /// By connections that failed, were unexpected or were abandoned during the measurement, since
    /// their start.
    pub troubled_s: f64,
    /// By connections that were in flight when the measurement ended, since their start.
    pub unfinished_s: f64,
}

/// Connections that took a second or more to connect, which means that their SYN was retransmitted.
/// The usual cause is a full accept queue (backlog) of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowConnects {
    /// The number of such connections, whether or not they were established in the end.
    pub count: u64,
    /// If the server runs on this machine: connections that the kernel refused during the run
    /// because the accept queue of a listening socket was full (ListenOverflows of
    /// /proc/net/netstat, over all sockets of the machine).
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

/// The client's own certificate. No record contains its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCertificate {
    /// The kind and size of the key: `ECDSA P-256`, `RSA-2048`, `Ed25519`.
    pub key: String,
    /// The SHA-256 digest of the certificate, in hex.
    pub sha256: String,
}

/// A server name with the outcomes of the connections that asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedName {
    /// The name as given in the specification.
    pub name: String,
    /// Completed connections.
    pub completed: u64,
    /// Failed connections.
    pub failed: u64,
    /// Connections with an unexpected handshake.
    pub unexpected: u64,
    /// Abandoned connections.
    #[serde(default)]
    pub abandoned: u64,
}

/// One of several URLs, with its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedUrl {
    /// Path and query, as given in the specification.
    pub path: String,
    /// Requests with a complete response and an expected status.
    pub requests: u64,
    /// Connections that failed while this URL was requested. If several requests were in flight,
    /// the connection counts for the one that failed, otherwise for the oldest.
    pub failed: u64,
    /// Summary of the times of the requests, each from its start until the last byte of its
    /// response. `None` in a run of more than 100 URLs.
    pub exchange: Option<Summary>,
    /// The histogram of the same times, encoded like those of the record.
    pub histogram: Option<String>,
}

/// A combination of negotiated facts, and the number of connections that had it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedFacts {
    /// The negotiated facts.
    #[serde(flatten)]
    pub facts: Facts,
    /// The number of connections.
    pub count: u64,
}

/// Completed connections by kind of handshake, and the counts of priming.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kinds {
    /// Full handshakes.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Resumed handshakes whose early data the server accepted.
    pub early_data_accepted: u64,
    /// Resumed handshakes whose early data the server rejected. The request was sent again.
    pub early_data_rejected: u64,
    /// Full handshakes before the warm-up that collect sessions to resume. Not counted elsewhere.
    pub primed_connections: u64,
    /// Sessions available for resumption at the end of priming.
    pub primed_sessions: u64,
    /// Additional full handshakes during the measurement that collect sessions from a server that
    /// issues none on resumed connections. Not counted elsewhere.
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

/// Count, mean, standard deviation and quantiles of a histogram, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of values.
    pub n: u64,
    /// Smallest value.
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
    /// Largest value.
    pub max_ms: f64,
}

/// One slice of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start of the slice, in seconds from the start of the measurement.
    pub at_s: f64,
    /// Length of the slice in seconds.
    pub seconds: f64,
    /// Connections completed in the slice.
    pub completed: u64,
    /// Connections of the slice that failed, were unexpected or were abandoned.
    pub failed: u64,
    /// Processor time of the workers in the slice.
    pub cpu: CpuTime,
}

/// Adds the slices of another worker or generator to these, index by index. Slices with the same
/// index begin at the same instant; the last one can be shorter.
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

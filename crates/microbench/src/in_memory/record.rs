//! What a measurement in memory found.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{Direction, InMemorySpec};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{Environment, Summary, Verdict, VerdictCode};

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const IN_MEMORY_SCHEMA: &str = "tlslab.in_memory/1";

/// The record of one measurement in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InMemoryRecord {
    /// The wire format, `tlslab.in_memory/1`.
    pub schema: String,
    /// What was asked, with all that was left to default.
    pub spec: InMemorySpec,
    /// The library that was client and server: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries; `code_path` names the processor features
    /// by which the libraries choose their code.
    pub versions: BTreeMap<String, String>,
    /// The machine.
    pub environment: Environment,
    /// The handshakes; null for a bulk transfer.
    pub handshakes: Option<HandshakeResult>,
    /// The bulk transfer, one line for each suite, record size and direction.
    pub bulk: Vec<BulkResult>,
    /// What the reader must know before using the numbers.
    pub verdicts: Vec<Verdict>,
}

/// Handshakes, over all threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeResult {
    /// What every completed handshake negotiated, read off both sides.
    pub facts: HandshakeFacts,
    /// The accounting. Handshakes that only provide tickets are not among them.
    pub outcomes: Outcomes,
    /// The length of the measurement in seconds, mean over the threads, without the handshakes that
    /// only provide tickets.
    pub seconds: f64,
    /// Completed handshakes per second, all threads together.
    pub handshakes_per_s: f64,
    /// Processor time of the threads per completed handshake, in microseconds: both sides, and what
    /// the measuring itself needs.
    pub cpu_us: f64,
    /// The share of their time that the threads had a processor, the least of them. Below 1 other
    /// programs were served meanwhile, and the rate is a lower bound; processor times still hold.
    /// With a key on a cluster the threads also wait for its nodes.
    pub on_processor: f64,
    /// The client's side.
    pub client: SideCost,
    /// The server's side.
    pub server: SideCost,
    /// The flights of a handshake in order, both sides' in turn; a last one of the server is its
    /// ticket.
    pub flights: Vec<Flight>,
    /// The first failure in the library's own words; empty when there was none.
    pub first_failure: String,
    /// Who signed with a key away from the process, and how often; empty without one.
    #[serde(default)]
    pub signatures: Vec<NodeSignatures>,
    /// `service`: start to end of a handshake, on the wall clock; HdrHistogram V2 (compressed) in
    /// base64, values in nanoseconds. `signing`: the same of a signature of a key away from the
    /// process.
    pub histograms: BTreeMap<String, String>,
    /// The same in short.
    pub summaries: BTreeMap<String, Summary>,
}

/// The signatures of one node or token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSignatures {
    /// The node's name, or the token's label.
    pub node: String,
    /// Signatures that it made.
    pub signatures: u64,
    /// Those that it did not make, by class: `signing_timeout`, `signing_unreachable`,
    /// `signing_refused`, `signing_answer`.
    pub failed: BTreeMap<String, u64>,
}

/// The facts that both sides agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeFacts {
    /// The protocol version.
    pub tls: String,
    /// The cipher suite's IANA name.
    pub suite: String,
    /// The key-exchange group; `none` where the handshake has none that has a name.
    pub group: String,
    /// The scheme of the server's signature; `none` when it made none.
    pub signature_scheme: String,
    /// The scheme of the client's signature; `none` when it made none.
    pub client_signature_scheme: String,
    /// `full` or `resumed`.
    pub kind: String,
}

/// What one side costs: on one handshake in [`SideCost::period`] the thread's processor clock is
/// read whenever the other side has its turn. The rest carries no such clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideCost {
    /// Processor time per handshake in microseconds, opening and freeing the session included; the
    /// clock's own cost is taken off.
    pub cpu_us: f64,
    /// Handshakes on which the sides were timed.
    pub timed: u64,
    /// One handshake in N is timed.
    pub period: u64,
    /// What a reading of the clock costs, in nanoseconds.
    pub clock_ns: f64,
    /// Readings of the clock per handshake on this side's account.
    pub readings: f64,
}

/// What one side sends before it needs the other again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flight {
    /// `client` or `server`.
    pub from: String,
    /// Its bytes, mean over the completed handshakes (signatures vary in length).
    pub bytes: f64,
}

/// One line of a bulk transfer: a suite, a record size, a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkResult {
    /// The cipher suite.
    pub suite: String,
    /// Bytes of plaintext in a record.
    pub record_size: u32,
    /// Who sealed: `send` the client, `receive` the server.
    pub direction: Direction,
    /// Records that were sealed and opened again.
    pub records: u64,
    /// Bytes of plaintext in them.
    pub bytes: u64,
    /// The same records as they would be on the wire.
    pub wire_bytes: u64,
    /// The length of the measurement in seconds, mean over the threads.
    pub seconds: f64,
    /// Bytes of plaintext that went through per second, sealed and opened, all threads together.
    pub bytes_per_s: f64,
    /// Sealing alone.
    pub seal: BulkSide,
    /// Opening alone.
    pub open: BulkSide,
}

/// One side of a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkSide {
    /// Processor time in seconds, all threads together, the clock's own cost taken off.
    pub cpu_s: f64,
    /// Bytes of plaintext per second of it.
    pub bytes_per_cpu_s: f64,
}

/// The verdicts on what was found. In memory there is no network to blame: nothing may fail.
pub(super) fn verdicts(
    handshakes: Option<&HandshakeResult>,
    bulk: &[BulkResult],
    interrupt: &AtomicBool,
) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut add = |code, message: String| verdicts.push(Verdict { code, message });
    let completed = handshakes.map_or(0, |found| found.outcomes.completed);
    if completed == 0 && bulk.iter().all(|line| line.records == 0) {
        add(VerdictCode::NothingCompleted, "nothing completed".to_owned());
    }
    if let Some(found) = handshakes {
        let failures = found.outcomes.failures();
        if failures > 0 {
            let words = format!("{failures} handshakes failed: {}", found.first_failure);
            add(VerdictCode::Failures, words);
        }
        let unexpected: u64 = found.outcomes.unexpected.values().sum();
        if unexpected > 0 {
            let words = format!("{unexpected} handshakes were not what was asked for");
            add(VerdictCode::Unexpected, words);
        }
    }
    if interrupt.load(Ordering::Relaxed) {
        add(VerdictCode::Interrupted, "interrupted before its end".to_owned());
    }
    if verdicts.is_empty() {
        let message = "valid: nothing failed, and all was what was asked for".to_owned();
        verdicts.push(Verdict { code: VerdictCode::Valid, message });
    }
    verdicts
}

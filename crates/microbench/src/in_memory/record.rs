//! The record of a measurement in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{Direction, InMemorySpec};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{Environment, Summary, Verdict, VerdictCode};

/// The identifier of the record format. The number changes if old readers would misread the new
/// form.
pub const IN_MEMORY_SCHEMA: &str = "tlslab.in_memory/1";

/// The record of one measurement in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InMemoryRecord {
    /// The record format, `tlslab.in_memory/1`.
    pub schema: String,
    /// The specification, including all defaults.
    pub spec: InMemorySpec,
    /// The library of both client and server: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries. `code_path` identifies the processor
    /// features by which the libraries select their code.
    pub versions: BTreeMap<String, String>,
    /// The machine.
    pub environment: Environment,
    /// The handshakes; null for a bulk transfer.
    pub handshakes: Option<HandshakeResult>,
    /// The bulk transfer, one line for each suite, record size and direction.
    pub bulk: Vec<BulkResult>,
    /// Statements that decide whether the numbers may be used.
    pub verdicts: Vec<Verdict>,
}

/// The results of handshakes, over all threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeResult {
    /// The negotiated facts of every completed handshake, read on both sides.
    pub facts: HandshakeFacts,
    /// The accounting. Handshakes that only provide tickets are excluded.
    pub outcomes: Outcomes,
    /// The length of the measurement in seconds, mean over the threads. Handshakes that only
    /// provide tickets are excluded.
    pub seconds: f64,
    /// Completed handshakes per second, summed over the threads.
    pub handshakes_per_s: f64,
    /// Processor time of the threads per completed handshake, in microseconds: both sides, and the
    /// work of the measurement.
    pub cpu_us: f64,
    /// The share of the time during which the threads had a processor: the smallest share of all
    /// threads. Below 1, other programs ran meanwhile, and the rate is a lower bound; processor
    /// times remain valid. With a key on a cluster the threads also wait for the nodes.
    pub on_processor: f64,
    /// The cost of the client's side.
    pub client: SideCost,
    /// The cost of the server's side.
    pub server: SideCost,
    /// The flights of a handshake in order, alternating between the sides. A final flight of the
    /// server contains tickets.
    pub flights: Vec<Flight>,
    /// The library's message at the first failure; empty without failures.
    pub first_failure: String,
    /// Signatures with a key outside the process, by node or token; empty without such a key.
    #[serde(default)]
    pub signatures: Vec<NodeSignatures>,
    /// HdrHistogram V2 (compressed) in base64, values in nanoseconds. `service`: wall-clock time of
    /// a handshake. `signing`: wall-clock time of a signature with a key outside the process.
    pub histograms: BTreeMap<String, String>,
    /// Summaries of the same histograms.
    pub summaries: BTreeMap<String, Summary>,
}

/// The signatures of one node or token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSignatures {
    /// The node's name, or the token's label.
    pub node: String,
    /// Signatures that it made.
    pub signatures: u64,
    /// Failed signatures by class: `signing_timeout`, `signing_unreachable`, `signing_refused`,
    /// `signing_answer`.
    pub failed: BTreeMap<String, u64>,
}

/// The facts that both sides report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeFacts {
    /// The protocol version.
    pub tls: String,
    /// The cipher suite's IANA name.
    pub suite: String,
    /// The key-exchange group; `none` if the handshake uses no named group.
    pub group: String,
    /// The scheme of the server's signature; `none` without a signature.
    pub signature_scheme: String,
    /// The scheme of the client's signature; `none` without a signature.
    pub client_signature_scheme: String,
    /// `full` or `resumed`.
    pub kind: String,
}

/// The cost of one side. On 1 handshake in [`SideCost::period`] the thread's processor clock is
/// read at each change of turns. The other handshakes have no such readings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideCost {
    /// Processor time per handshake in microseconds, including opening and freeing the session. The
    /// cost of the clock readings is subtracted.
    pub cpu_us: f64,
    /// Number of handshakes on which the sides were timed.
    pub timed: u64,
    /// N, if 1 handshake in N is timed.
    pub period: u64,
    /// The cost of a clock reading, in nanoseconds.
    pub clock_ns: f64,
    /// Clock readings per handshake within this side's time.
    pub readings: f64,
}

/// The bytes that one side sends before it waits for the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flight {
    /// `client` or `server`.
    pub from: String,
    /// Length in bytes, mean over the completed handshakes (the length of signatures varies).
    pub bytes: f64,
}

/// One line of a bulk transfer: a suite, a record size, a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkResult {
    /// The cipher suite.
    pub suite: String,
    /// Bytes of plaintext in a record.
    pub record_size: u32,
    /// The side that encrypts: `send` the client, `receive` the server.
    pub direction: Direction,
    /// Number of records that were encrypted and decrypted.
    pub records: u64,
    /// Bytes of plaintext in these records.
    pub bytes: u64,
    /// Bytes of the same records on the wire.
    pub wire_bytes: u64,
    /// The length of the measurement in seconds, mean over the threads.
    pub seconds: f64,
    /// Bytes of plaintext encrypted and decrypted per second, summed over the threads.
    pub bytes_per_s: f64,
    /// The encryption alone.
    pub seal: BulkSide,
    /// The decryption alone.
    pub open: BulkSide,
}

/// One side of a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkSide {
    /// Processor time in seconds, summed over the threads. The cost of the clock readings is
    /// subtracted.
    pub cpu_s: f64,
    /// Bytes of plaintext per second of processor time.
    pub bytes_per_cpu_s: f64,
}

/// The verdicts on the results. Without a network there is no excuse for failures: none is allowed.
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

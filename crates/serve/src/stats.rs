//! The server's counts, kept by worker and added up when they are read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use tlslab_contract::record::CpuTime;
use tlslab_system::clock::MICROSECOND;
use tlslab_system::usage::process_cpu;
use tlslab_tls::HandshakeKind;

/// The counts since the server began to listen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Handshakes, by outcome.
    pub handshakes: HandshakeCounts,
    /// TCP connections accepted.
    pub connections: u64,
    /// Requests answered, with any status; counted when the answer is built.
    pub requests: u64,
    /// Processor time of this process since it began to listen. Only the workers use processor
    /// time.
    pub cpu: CpuTime,
    /// The part of `cpu` that new connections wasted (`burn`), in microseconds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub burned_us: u64,
}

fn is_none(burned_us: &u64) -> bool {
    *burned_us == 0
}

/// Handshakes, by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeCounts {
    /// Completed, with certificate and key exchange.
    pub full: u64,
    /// Completed by resumption.
    pub resumed: u64,
    /// Resumed handshakes whose early data was accepted.
    #[serde(default)]
    pub early_data: u64,
    /// Started (a byte arrived) and not completed. A connection without any byte is not a
    /// handshake.
    pub failed: u64,
    /// Completed handshakes whose client has sent a valid certificate.
    #[serde(default)]
    pub mutual: u64,
}

/// One worker's counts. Only that worker writes them, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct WorkerCounts {
    pub full: Counter,
    pub resumed: Counter,
    pub early_data: Counter,
    pub failed: Counter,
    pub mutual: Counter,
    pub connections: Counter,
    pub requests: Counter,
    pub burned_ns: Counter,
}

impl WorkerCounts {
    /// The counter of completed handshakes of this kind.
    pub fn completed(&self, kind: HandshakeKind) -> &Counter {
        match kind {
            HandshakeKind::Full => &self.full,
            HandshakeKind::Resumed => &self.resumed,
        }
    }
}

/// A counter with one writer and any number of readers.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Adds one. With a single writer, load and store need no locked instruction.
    pub fn count(&self) {
        self.set(self.get() + 1);
    }

    /// Sets the count, which never decreases.
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The data shared by the workers and the owner of the server.
#[derive(Debug)]
pub(super) struct Shared {
    workers: Vec<WorkerCounts>,
    stopping: AtomicBool,
    cpu_at_start: CpuTime,
}

impl Shared {
    pub fn new(workers: usize, cpu_at_start: CpuTime) -> Self {
        let workers = (0..workers).map(|_| WorkerCounts::default()).collect();
        Self { workers, stopping: AtomicBool::new(false), cpu_at_start }
    }

    pub fn worker(&self, index: usize) -> &WorkerCounts {
        &self.workers[index]
    }

    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// The sum over all workers.
    pub fn stats(&self) -> Stats {
        let sum = |of: fn(&WorkerCounts) -> &Counter| -> u64 {
            self.workers.iter().map(|w| of(w).get()).sum()
        };
        Stats {
            handshakes: HandshakeCounts {
                full: sum(|w| &w.full),
                resumed: sum(|w| &w.resumed),
                early_data: sum(|w| &w.early_data),
                failed: sum(|w| &w.failed),
                mutual: sum(|w| &w.mutual),
            },
            connections: sum(|w| &w.connections),
            requests: sum(|w| &w.requests),
            cpu: process_cpu() - self.cpu_at_start,
            burned_us: sum(|w| &w.burned_ns) / MICROSECOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_all_workers_are_added_up() {
        let shared = Shared::new(2, CpuTime::default());
        shared.worker(0).connections.count();
        shared.worker(1).connections.count();
        shared.worker(1).failed.count();
        let stats = shared.stats();
        assert_eq!((stats.connections, stats.handshakes.failed, stats.requests), (2, 1, 0));
    }

    #[test]
    fn stats_have_the_form_that_the_json_contract_names() {
        let stats = Stats { connections: 3, ..Stats::default() };
        assert_eq!(
            serde_json::to_string(&stats).unwrap(),
            r#"{"handshakes":{"full":0,"resumed":0,"early_data":0,"failed":0,"mutual":0},"#
                .to_owned()
                + r#""connections":3,"requests":0,"cpu":{"user_us":0,"system_us":0}}"#
        );
    }
}

//! Times operations in rounds, each with all operations in turn. A short disturbance of the machine
//! affects one round of each operation instead of all rounds of one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::record::Primitive;
use tlslab_system::clock::{Clock, Nanos, ThreadClock};

/// The number of rounds per operation; odd, so that one of them is the median.
const ROUNDS: u32 = 7;

/// The approximate time between two readings of the clock: the reading (200 ns) takes less than 1 %
/// of it.
const STRETCH: Nanos = 50_000;

/// The parts of a key exchange.
pub const GENERATE: &str = "generate";
pub const SERVER: &str = "server";
pub const CLIENT: &str = "client";

/// Both sides of a key exchange together; not in records.
pub const BOTH: &str = "both";

/// An operation to be timed.
pub struct Operation {
    backend: &'static str,
    algorithm: String,
    name: &'static str,
    bytes: Option<u32>,
    call: Box<dyn FnMut()>,
    /// Calls between two readings of the clock; 0 before the calibration.
    stretch: u64,
    rounds: Vec<f64>,
    calls: u64,
}

impl Operation {
    pub fn new(
        backend: &'static str,
        algorithm: String,
        name: &'static str,
        bytes: Option<u32>,
        call: Box<dyn FnMut()>,
    ) -> Self {
        Self { backend, algorithm, name, bytes, call, stretch: 0, rounds: Vec::new(), calls: 0 }
    }

    /// Determines the number of calls between two readings of the clock, and warms the caches.
    fn calibrate(&mut self) {
        (self.call)();
        let mut calls = 1;
        loop {
            let took = self.times(calls);
            if took >= STRETCH / 4 {
                self.stretch = (calls * STRETCH / took.max(1)).max(1);
                return;
            }
            calls *= 4;
        }
    }

    /// Processor time of N calls.
    fn times(&mut self, calls: u64) -> Nanos {
        let begun = ThreadClock.now();
        (0..calls).for_each(|_| (self.call)());
        ThreadClock.now() - begun
    }

    fn round(&mut self, time: Nanos) {
        let (mut took, mut calls) = (0, 0);
        while took < time {
            took += self.times(self.stretch);
            calls += self.stretch;
        }
        self.rounds.push(took as f64 / calls as f64 / 1000.0);
        self.calls += calls;
    }

    fn finish(self) -> Option<Primitive> {
        let Self { backend, algorithm, name, bytes, rounds, calls, .. } = self;
        primitive(backend, &algorithm, name, bytes, rounds, calls)
    }
}

/// The result of the rounds, in microseconds per call; `None` without a round.
pub fn primitive(
    backend: &str,
    algorithm: &str,
    operation: &str,
    bytes: Option<u32>,
    mut rounds: Vec<f64>,
    calls: u64,
) -> Option<Primitive> {
    rounds.sort_by(f64::total_cmp);
    let (low_us, high_us) = (*rounds.first()?, *rounds.last()?);
    Some(Primitive {
        backend: backend.to_owned(),
        algorithm: algorithm.to_owned(),
        operation: operation.to_owned(),
        bytes,
        median_us: rounds[rounds.len() / 2],
        low_us,
        high_us,
        rounds: rounds.len() as u32,
        calls,
    })
}

/// Measures operations, each for this total time.
pub fn measure_all(
    mut operations: Vec<Operation>,
    time: Duration,
    interrupt: &AtomicBool,
) -> Vec<Primitive> {
    let round = time.as_nanos() as Nanos / Nanos::from(ROUNDS);
    operations.iter_mut().for_each(Operation::calibrate);
    for _ in 0..ROUNDS {
        for operation in &mut operations {
            if interrupt.load(Ordering::Relaxed) {
                break;
            }
            operation.round(round);
        }
    }
    clients_apart(operations.into_iter().filter_map(Operation::finish).collect())
}

/// Computes the client's part of a key exchange from the time of both sides. A KEM's answer fits
/// one key only, so the client's part cannot be repeated without the server's.
fn clients_apart(mut found: Vec<Primitive>) -> Vec<Primitive> {
    let servers: Vec<Primitive> =
        found.iter().filter(|primitive| primitive.operation == SERVER).cloned().collect();
    for both in found.iter_mut().filter(|primitive| primitive.operation == BOTH) {
        let same = |p: &&Primitive| (&p.backend, &p.algorithm) == (&both.backend, &both.algorithm);
        if let Some(server) = servers.iter().find(same) {
            both.operation = CLIENT.to_owned();
            both.median_us -= server.median_us;
            both.low_us -= server.high_us;
            both.high_us -= server.low_us;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn every_operation_is_called_in_every_round() {
        let called = Rc::new(Cell::new(0));
        let operations = ["one", "two"].map(|name| {
            let called = Rc::clone(&called);
            let call = move || called.set(called.get() + 1);
            Operation::new("none", name.to_owned(), "call", None, Box::new(call))
        });
        let time = Duration::from_millis(7);
        let found = measure_all(operations.into(), time, &AtomicBool::new(false));
        let names: Vec<_> = found.iter().map(|p| p.algorithm.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        for primitive in &found {
            assert_eq!(primitive.rounds, ROUNDS);
            assert!(primitive.low_us <= primitive.median_us);
            assert!(primitive.median_us <= primitive.high_us);
        }
        assert!(called.get() > found.iter().map(|p| p.calls).sum::<u64>());
    }

    #[test]
    fn the_client_s_part_is_what_the_server_s_leaves() {
        let made = |name, rounds: &[f64]| primitive("b", "g", name, None, rounds.into(), 9);
        let found = clients_apart(vec![
            made(SERVER, &[10.0, 11.0, 13.0]).unwrap(),
            made(BOTH, &[30.0, 32.0, 40.0]).unwrap(),
        ]);
        let client = &found[1];
        assert_eq!(client.operation, CLIENT);
        assert_eq!((client.low_us, client.median_us, client.high_us), (17.0, 21.0, 30.0));
    }

    #[test]
    fn an_interruption_leaves_out_what_has_no_round() {
        let operation = Operation::new("none", "one".to_owned(), "call", None, Box::new(|| {}));
        let time = Duration::from_secs(1000);
        assert_eq!(measure_all(vec![operation], time, &AtomicBool::new(true)), []);
    }
}

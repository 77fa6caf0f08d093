//! The merged record of N generators equals the record of one generator with all their workers.

use std::ops::Range;

use proptest::prelude::*;
use tlslab_contract::record::{RunRecord, StepResult, VerdictCode};
use tlslab_contract::spec::load::Rate;
use tlslab_contract::spec::{RunSpec, WeightedPath};
use tlslab_system::clock::{Nanos, SECOND};

use super::{CPU, Sample, concluded, merge, named, note, sample, spec};
use crate::recorder::{ArrivalAccounting, Flight, Pages, Primed, Recorder};

/// The shape of a load: generators, workers of each, steps, and whether the loop is open.
#[derive(Debug, Clone, Copy)]
struct Shape {
    hosts: usize,
    workers: usize,
    steps: usize,
    is_open: bool,
}

impl Shape {
    /// The workers of all generators, in order.
    fn all_workers(self) -> Range<usize> {
        0..self.hosts * self.workers
    }

    fn workers_of(self, host: usize) -> Range<usize> {
        host * self.workers..(host + 1) * self.workers
    }

    /// The specification of N of the generators together.
    fn spec(self, hosts: usize) -> RunSpec {
        let mut spec = spec();
        let path = |path: &str| WeightedPath { path: path.to_owned(), weight: 1 };
        spec.http.paths = vec![path("/a"), path("/b")];
        spec.connections = u32::try_from(hosts).unwrap();
        spec.threads = u32::try_from(hosts * self.workers).unwrap();
        let rate = 10.0 * hosts as f64;
        match (self.is_open, self.steps) {
            (true, 1) => spec.load.rate = Some(Rate::Constant(rate)),
            (true, steps) => spec.load.rate = Some(Rate::Steps(vec![rate; steps])),
            (false, 1) => {}
            (false, steps) => spec.load.connection_steps = vec![spec.connections; steps],
        }
        spec
    }
}

/// A connection: the index of its worker among all, its step, and its start delay in an open loop.
#[derive(Debug, Clone)]
struct Made {
    worker: usize,
    step: usize,
    delay: Nanos,
    sample: Sample,
}

fn loads() -> impl Strategy<Value = (Shape, Vec<Made>)> {
    let shapes = (1_usize..5, 1_usize..4, 1_usize..4, any::<bool>());
    shapes.prop_flat_map(|(hosts, workers, steps, is_open)| {
        let shape = Shape { hosts, workers, steps, is_open };
        let made = (shape.all_workers(), 0..steps, 1..SECOND, sample());
        let made =
            made.prop_map(|(worker, step, delay, sample)| Made { worker, step, delay, sample });
        (Just(shape), prop::collection::vec(made, 0..60))
    })
}

/// The notes of a worker. Every sum in them differs from that of any other worker.
fn notes(shape: Shape, worker: usize, all: &[Made]) -> Recorder {
    let mut recorder = Recorder::new(shape.steps, shape.is_open);
    recorder.pages = Pages::new(2);
    let times = worker as u64 + 1;
    recorder.start_measurement(2 * times);
    recorder.in_flight_at_stop = 2 * times;
    recorder.slow_connects = 3 * times;
    recorder.primed(Primed { connections: 4 * times, sessions: 5 * times });
    recorder.refilled(6 * times);
    // Whole seconds: their sums are the same in any order.
    let seconds = |number: u64| u128::from(number * times * SECOND);
    recorder.flight = Flight {
        within: seconds(7),
        before: seconds(8),
        troubled: seconds(9),
        unfinished: seconds(10),
    };
    let mut started = 0;
    for step in 0..shape.steps {
        for made in all.iter().filter(|made| (made.worker, made.step) == (worker, step)) {
            note(&mut recorder, &made.sample, shape.is_open.then_some(made.delay));
            started += 1;
        }
        let from = step as Nanos * SECOND;
        recorder.close_slice(from, 0, from + SECOND, CPU);
        let next = (step + 1).min(shape.steps - 1);
        recorder.close_step(next, 0, from, from + SECOND, CPU);
    }
    let (blocked, waiting_at_stop) = (11 * times, 12 * times);
    let due = started + waiting_at_stop;
    recorder.arrivals = ArrivalAccounting { due, blocked, waiting_at_stop, window: SECOND };
    recorder
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merged_records_are_the_record_of_one_generator_with_all_workers((shape, made) in loads()) {
        let record = |workers: Range<usize>, hosts| {
            let notes = workers.map(|worker| notes(shape, worker, &made)).collect();
            concluded(shape.spec(hosts), notes)
        };
        let parts = (0..shape.hosts).map(|host| record(shape.workers_of(host), 1));
        let merged = merge(&named(parts.collect())).unwrap();
        let whole = record(shape.all_workers(), shape.hosts);
        prop_assert!(merged.outcomes.balanced());
        prop_assert_eq!(merged.verdicts[0].code, VerdictCode::Valid);
        prop_assert_eq!(merged.hosts.len(), shape.hosts);
        prop_assert_eq!(merged.statuses.values().sum::<u64>(), merged.requests);
        prop_assert_eq!(merged.urls.iter().map(|url| url.requests).sum::<u64>(), merged.requests);
        let of_hosts: u64 = merged.hosts.iter().map(|host| host.outcomes.completed).sum();
        prop_assert_eq!(of_hosts, whole.outcomes.completed);
        // One generator's record lacks some fields, which are copied from the merged record. Merged
        // steps have no quantiles, because steps keep no histograms.
        let steps = whole.steps.into_iter();
        let steps = steps.map(|step| StepResult { summaries: Default::default(), ..step });
        let expected = RunRecord {
            steps: steps.collect(),
            verdicts: merged.verdicts.clone(),
            hosts: merged.hosts.clone(),
            common: merged.common,
            ..whole
        };
        prop_assert_eq!(merged, expected);
    }
}

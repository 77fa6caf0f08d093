//! The schedule of an open loop: absolute intended instants of connections.
//!
//! Arrivals are a process of rate one, constant or Poisson, on a time axis that the rate curve
//! stretches: arrival n is due when the integral of the curve reaches point n of that process. The
//! same mechanism covers constant rates, ramps and steps with both arrival processes. No event of a
//! run moves an arrival.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::phase::Schedule;
use tlslab_contract::spec::load::{ArrivalProcess, Rate};
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};

/// A rate over time: consecutive linear pieces, the last of which has no end.
#[derive(Debug, Clone)]
pub struct Curve(Vec<Piece>);

#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Start of the piece.
    at: Nanos,
    /// Length in seconds; infinite for the last piece.
    seconds: f64,
    /// Rate at the start in arrivals a second, and the change of the rate a second.
    rate: f64,
    slope: f64,
    /// Expected arrivals before the piece.
    before: f64,
}

impl Piece {
    /// Expected arrivals in the first N seconds of the piece.
    fn expected(&self, seconds: f64) -> f64 {
        seconds * (self.rate + self.slope * seconds / 2.0)
    }

    /// Seconds from the start of the piece until N arrivals are expected: the root of the quadratic
    /// above, in a form that stays exact for small slopes.
    fn seconds_until(&self, count: f64) -> f64 {
        let root = (self.rate * self.rate + 2.0 * self.slope * count).max(0.0).sqrt();
        2.0 * count / (self.rate + root)
    }
}

impl Curve {
    /// The curve of a run that begins at `start`: the first level during the warm-up, then the
    /// rate.
    pub fn new(rate: &Rate, start: Nanos, schedule: &Schedule) -> Self {
        let mut curve = Self(Vec::new());
        let measure = schedule.measure;
        let levels = rate.levels();
        curve.add(start, levels[0], 0.0);
        match rate {
            Rate::Constant(_) => {}
            Rate::Ramp(ramp) => {
                let seconds = ramp.over_ms as f64 / 1000.0;
                curve.add(measure, ramp.from, (ramp.to - ramp.from) / seconds);
                curve.add(measure + ramp.over_ms * MILLISECOND, ramp.to, 0.0);
            }
            Rate::Steps(steps) => {
                for (index, step) in steps.iter().enumerate() {
                    curve.add(schedule.step_start(index), *step, 0.0);
                }
            }
        }
        curve
    }

    /// Appends a piece, which ends the one before.
    fn add(&mut self, at: Nanos, rate: f64, slope: f64) {
        let mut before = 0.0;
        if let Some(last) = self.0.last_mut() {
            last.seconds = (at - last.at) as f64 / SECOND as f64;
            before = last.before + last.expected(last.seconds);
        }
        self.0.push(Piece { at, seconds: f64::INFINITY, rate, slope, before });
    }

    /// The instant at which N arrivals are expected. `piece` is the index to search from.
    fn instant(&self, count: f64, piece: &mut usize) -> Nanos {
        while self.0.get(*piece + 1).is_some_and(|next| next.before <= count) {
            *piece += 1;
        }
        let piece = &self.0[*piece];
        let seconds = piece.seconds_until(count - piece.before);
        // A curve that ends at rate zero has no further instants; the conversion saturates.
        piece.at.saturating_add((seconds.min(piece.seconds) * SECOND as f64) as Nanos)
    }
}

/// The arrivals of one worker, in order.
#[derive(Debug, Clone)]
pub struct Arrivals {
    curve: Curve,
    /// The index of the piece with the next arrival.
    piece: usize,
    /// The next arrival's point in the process of rate one.
    count: f64,
    process: Process,
    next: Nanos,
}

#[derive(Debug, Clone)]
enum Process {
    /// The number of the next arrival over all workers, and the number of workers.
    Constant { number: u64, workers: u64 },
    /// Exponential distances, whose mean is the number of workers.
    Poisson { random: Box<ChaCha8Rng>, workers: f64 },
}

impl Arrivals {
    /// The arrivals of one of several workers: every N-th of a constant process, or an independent
    /// Poisson process with its share of the rate.
    pub fn new(
        curve: Curve,
        process: ArrivalProcess,
        seed: u64,
        worker: usize,
        workers: u32,
    ) -> Self {
        let process = match process {
            ArrivalProcess::Constant => {
                Process::Constant { number: worker as u64, workers: workers.into() }
            }
            ArrivalProcess::Poisson => {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(worker as u64);
                Process::Poisson { random: Box::new(random), workers: workers.into() }
            }
        };
        let mut arrivals = Self { curve, piece: 0, count: 0.0, process, next: 0 };
        arrivals.draw();
        arrivals
    }

    /// The instant of the next arrival.
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Consumes the next arrival; returns its instant.
    pub fn take(&mut self) -> Nanos {
        let taken = self.next;
        self.draw();
        taken
    }

    fn draw(&mut self) {
        self.count = match &mut self.process {
            // The first arrival is due half a distance after the start, so that the edges of a
            // measurement fall between arrivals if its length is a whole number of distances.
            Process::Constant { number, workers } => {
                let count = *number as f64 + 0.5;
                *number += *workers;
                count
            }
            Process::Poisson { random, workers } => {
                // A uniform value with 53 bits, in (0, 1].
                let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                self.count - uniform.ln() * *workers
            }
        };
        self.next = self.curve.instant(self.count, &mut self.piece);
    }
}

/// The due and the started arrivals of one worker. Waiting arrivals are not stored: two cursors
/// follow the same schedule, one for due and one for started arrivals.
#[derive(Debug, Clone)]
pub struct Pacing {
    due: Arrivals,
    starting: Arrivals,
    /// Arrivals that have become due, and arrivals that were taken.
    seen: u64,
    taken: u64,
    /// Arrivals that [`Pacing::newly_waiting`] no longer counts: `seen` at its last call, or
    /// `taken` at [`Pacing::begin`].
    counted: u64,
    /// Arrivals that may still become due, in a run that ends by count.
    left: u64,
}

impl Pacing {
    /// The state before the first arrival.
    pub fn new(arrivals: Arrivals) -> Self {
        let (due, starting) = (arrivals.clone(), arrivals);
        Self { due, starting, seen: 0, taken: 0, counted: 0, left: u64::MAX }
    }

    /// The instant of the next arrival; `Nanos::MAX` if none is left.
    pub fn next_due(&self) -> Nanos {
        if self.left == 0 { Nanos::MAX } else { self.due.next() }
    }

    /// Counts the arrivals due before an instant as seen; returns their number.
    pub fn look(&mut self, before: Nanos) -> u64 {
        let seen = self.seen;
        while self.next_due() < before {
            self.due.take();
            self.seen += 1;
            self.left -= 1;
        }
        self.seen - seen
    }

    /// Arrivals that are due and have not been taken.
    pub fn waiting(&self) -> u64 {
        self.seen - self.taken
    }

    /// Takes the arrival that has waited longest; returns the instant at which it was due.
    pub fn take(&mut self) -> Option<Nanos> {
        (self.waiting() > 0).then(|| {
            self.taken += 1;
            self.starting.take()
        })
    }

    /// The instant at which the arrival that has waited longest was due.
    pub fn oldest(&self) -> Option<Nanos> {
        (self.waiting() > 0).then(|| self.starting.next())
    }

    /// The number of arrivals that have begun to wait since the last call.
    pub fn newly_waiting(&mut self) -> u64 {
        let new = self.seen - self.counted.max(self.taken);
        self.counted = self.seen;
        new
    }

    /// Starts the measurement: at most N more arrivals may become due. Arrivals that wait already
    /// count as newly waiting once more; returns their number.
    pub fn begin(&mut self, left: u64) -> u64 {
        self.left = left;
        self.counted = self.taken;
        self.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_contract::spec::RunSpec;

    /// A curve with one second of warm-up from second 1, then ten seconds of measurement.
    fn curve(rate: &str) -> Curve {
        let json = format!(
            r#"{{"url":"https://localhost/","warmup_ms":1000,"stop":{{"duration_ms":10000}},
               "load":{{"rate":{rate}}}}}"#
        );
        let spec: RunSpec = serde_json::from_str(&json).unwrap();
        let schedule = Schedule::new(&spec, SECOND);
        Curve::new(spec.load.rate.as_ref().unwrap(), SECOND, &schedule)
    }

    fn all(rate: &str, process: ArrivalProcess, worker: usize, workers: u32) -> Vec<f64> {
        let mut arrivals = Arrivals::new(curve(rate), process, 1, worker, workers);
        let until = 12 * SECOND;
        let mut instants = Vec::new();
        while arrivals.next() < until {
            instants.push(arrivals.take() as f64 / SECOND as f64 - 2.0);
        }
        assert!(instants.is_sorted());
        instants
    }

    fn between(instants: &[f64], from: f64, to: f64) -> usize {
        instants.iter().filter(|at| (from..to).contains(*at)).count()
    }

    #[test]
    fn evenly_spaced_arrivals_are_where_they_should_be() {
        let instants = all(r#"{"constant":100}"#, ArrivalProcess::Constant, 0, 1);
        assert_eq!(instants.len(), 1_100);
        for (number, at) in instants.iter().enumerate() {
            assert!((at - ((number as f64 + 0.5) / 100.0 - 1.0)).abs() < 2e-9, "{number}: {at}");
        }
    }

    #[test]
    fn workers_interleave_to_the_same_arrivals() {
        let one = all(r#"{"constant":100}"#, ArrivalProcess::Constant, 0, 1);
        let mut three: Vec<f64> = (0..3)
            .flat_map(|worker| all(r#"{"constant":100}"#, ArrivalProcess::Constant, worker, 3))
            .collect();
        three.sort_by(f64::total_cmp);
        assert_eq!(three, one);
    }

    #[test]
    fn ramps_and_steps_have_the_integral_of_their_rate() {
        let ramp = r#"{"ramp":{"from":100,"to":500,"over_ms":4000}}"#;
        let instants = all(ramp, ArrivalProcess::Constant, 0, 1);
        assert_eq!(between(&instants, -1.0, 0.0), 100);
        // Expected: 100 t + 50 t^2 during the ramp, 500 a second after it.
        assert_eq!(between(&instants, 0.0, 2.0), 400);
        assert_eq!(between(&instants, 0.0, 4.0), 1_200);
        assert_eq!(between(&instants, 4.0, 10.0), 3_000);
        let down =
            all(r#"{"ramp":{"from":100,"to":0,"over_ms":4000}}"#, ArrivalProcess::Constant, 0, 1);
        assert_eq!(between(&down, 0.0, 4.0), 200);
        assert_eq!(between(&down, 4.0, 10.0), 0);
        let steps = all(r#"{"steps":[100,300,50,200]}"#, ArrivalProcess::Constant, 0, 1);
        let counts: Vec<_> =
            (0..4).map(|k| between(&steps, f64::from(k) * 2.5, f64::from(k + 1) * 2.5)).collect();
        assert_eq!(counts, [250, 750, 125, 500]);
    }

    #[test]
    fn poisson_arrivals_are_exponential_independent_and_repeatable() {
        let process = ArrivalProcess::Poisson;
        let (rate, workers) = (r#"{"constant":2000}"#, 2);
        let (first, second) = (all(rate, process, 0, workers), all(rate, process, 1, workers));
        assert_eq!(first, all(rate, process, 0, workers), "a seed makes the same instants");
        assert_ne!(first, second, "workers have streams of their own");
        let mut both = [first, second].concat();
        both.sort_by(f64::total_cmp);
        // 22,000 expected; four standard deviations.
        assert!((both.len() as f64 - 22_000.0).abs() < 4.0 * 22_000_f64.sqrt(), "{}", both.len());
        let gaps: Vec<f64> = both.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // An exponential's standard deviation is its mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{}", variance.sqrt() / mean);
        let long = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((long - (-1.0_f64).exp()).abs() < 0.02, "{long}");
    }

    #[test]
    fn arrivals_wait_in_order_and_are_counted_once() {
        let arrivals =
            Arrivals::new(curve(r#"{"constant":10}"#), ArrivalProcess::Constant, 1, 0, 1);
        let mut pacing = Pacing::new(arrivals);
        let first = pacing.next_due();
        assert_eq!((pacing.look(first), pacing.waiting()), (0, 0));
        assert_eq!((pacing.look(SECOND + SECOND / 2), pacing.waiting()), (5, 5));
        assert_eq!(pacing.oldest(), Some(first));
        assert_eq!(pacing.take(), Some(first));
        assert_eq!((pacing.newly_waiting(), pacing.newly_waiting()), (4, 0));
        assert_eq!((pacing.look(2 * SECOND), pacing.newly_waiting()), (5, 5));
        assert_eq!(pacing.begin(2), 9, "what waits is counted anew");
        assert_eq!((pacing.look(9 * SECOND), pacing.next_due()), (2, Nanos::MAX));
        assert_eq!(pacing.newly_waiting(), 11);
        let taken = std::iter::from_fn(|| pacing.take()).count();
        assert_eq!((taken, pacing.waiting(), pacing.oldest()), (11, 0, None));
    }
}

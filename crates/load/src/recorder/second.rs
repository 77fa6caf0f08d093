//! The counts and times that a worker reports about once a second during a run.

use hdrhistogram::Histogram;

use super::buckets::TimesInBuckets;
use super::troubles::Troubles;
use tlslab_contract::record::CpuTime;
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_wire::outcome::Outcome;

/// The highest recordable time; longer times count as this value.
const HIGHEST: u64 = 64 * SECOND;

/// Significant digits of these histograms: enough for progress reports, and few enough to clear the
/// histogram in a microsecond.
const DIGITS: u8 = 2;

/// Counts and times of one or several workers since the last report.
#[derive(Debug)]
pub struct Second {
    /// The period that the report covers, in the worker's time.
    pub length: Nanos,
    /// The worker's processor time since the measurement began.
    pub cpu: CpuTime,
    /// Due arrivals of an open loop, including those that were waiting when the measurement began.
    pub due: u64,
    /// Connections in flight when the measurement began; 0 except in the first report.
    pub carried: u64,
    /// Connections started.
    pub started: u64,
    /// Connections completed.
    pub completed: u64,
    /// Connections that failed or were unexpected.
    pub failed: u64,
    /// Connections that did not complete, by outcome.
    pub troubles: Troubles,
    /// Requests answered.
    pub requests: u64,
    /// Connections in flight at the end of the period.
    pub in_flight: u64,
    /// Arrivals waiting for a free slot at the end of the period.
    pub waiting: u64,
    /// Times of completed connections and of answered requests, in additive buckets.
    pub times: TimesInBuckets,
    pub(super) service: Histogram<u32>,
    pub(super) response: Histogram<u32>,
    pub(super) exchange: Histogram<u32>,
}

/// Number of values, median and 99th percentile of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// Number of values.
    pub n: u64,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
}

impl Second {
    /// An empty report.
    pub fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("valid bounds");
        Self {
            length: 0,
            cpu: CpuTime::default(),
            due: 0,
            carried: 0,
            started: 0,
            completed: 0,
            failed: 0,
            troubles: Troubles::default(),
            requests: 0,
            in_flight: 0,
            waiting: 0,
            times: TimesInBuckets::default(),
            service: empty(),
            response: empty(),
            exchange: empty(),
        }
    }

    /// Counts a connection that did not complete.
    pub(super) fn trouble(&mut self, outcome: Outcome) {
        self.failed += u64::from(outcome != Outcome::Abandoned);
        self.troubles.add(outcome, 1);
    }

    /// Adds another worker's counts and times for the same period, and clears them there.
    pub fn take(&mut self, other: &mut Self) {
        self.length = self.length.max(other.length);
        self.cpu += other.cpu;
        self.due += other.due;
        self.carried += other.carried;
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.troubles.merge(&other.troubles);
        self.requests += other.requests;
        self.in_flight += other.in_flight;
        self.waiting += other.waiting;
        self.times.merge(&other.times);
        for (mine, theirs) in [
            (&mut self.service, &other.service),
            (&mut self.response, &other.response),
            (&mut self.exchange, &other.exchange),
        ] {
            mine.add(theirs).expect("all histograms have the same bounds");
        }
        other.clear();
    }

    /// Sets all counts and times to zero.
    pub fn clear(&mut self) {
        (self.length, self.started, self.completed, self.failed) = (0, 0, 0, 0);
        (self.requests, self.in_flight, self.waiting) = (0, 0, 0);
        (self.cpu, self.due, self.carried) = (CpuTime::default(), 0, 0);
        self.troubles.clear();
        self.times = TimesInBuckets::default();
        self.service.reset();
        self.response.reset();
        self.exchange.reset();
    }

    /// Service times of the completed connections.
    pub fn service(&self) -> Option<Percentiles> {
        percentiles(&self.service)
    }

    /// Response times of the completed connections, in an open loop.
    pub fn response(&self) -> Option<Percentiles> {
        percentiles(&self.response)
    }

    /// Times of the answered requests.
    pub fn exchange(&self) -> Option<Percentiles> {
        percentiles(&self.exchange)
    }
}

fn percentiles(histogram: &Histogram<u32>) -> Option<Percentiles> {
    let at = |q| histogram.value_at_quantile(q) as f64 / MILLISECOND as f64;
    (!histogram.is_empty()).then(|| Percentiles {
        n: histogram.len(),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_several_workers_add_up_and_are_cleared() {
        let mut all = Second::new();
        for worker in 1..=2 {
            let mut second = Second::new();
            (second.completed, second.in_flight, second.length) = (worker, 3, worker * SECOND);
            second.service.saturating_record(worker * MILLISECOND);
            all.take(&mut second);
            assert_eq!((second.completed, second.service()), (0, None));
        }
        assert_eq!((all.completed, all.in_flight, all.length), (3, 6, 2 * SECOND));
        let service = all.service().unwrap();
        assert_eq!(service.n, 2);
        assert!((service.p99_ms - 2.0).abs() < 0.03, "{service:?}");
        assert_eq!((all.response(), all.exchange()), (None, None));
    }

    #[test]
    fn a_time_of_a_minute_is_recorded_and_one_of_an_hour_counts_as_the_highest() {
        for (time, median_ms) in [(60 * SECOND, 60_000.0), (3600 * SECOND, 64_000.0)] {
            let mut second = Second::new();
            second.exchange.saturating_record(time);
            let found = second.exchange().unwrap();
            // Of two significant digits.
            assert!((found.p50_ms / median_ms - 1.0).abs() < 0.01, "{found:?}");
        }
    }
}

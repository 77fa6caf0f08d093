//! Running totals of a measurement, added up from the workers' reports.

use std::collections::BTreeMap;

use super::buckets::TimesInBuckets;
use super::second::Second;
use tlslab_contract::record::CpuTime;
use tlslab_wire::outcome::Outcome;

/// The running accounting of a measurement, of one worker or of several together.
///
/// `arrivals = completed + sum(failed) + unexpected + abandoned + in_flight`, exactly. At the end of the
/// measurement all totals equal the record's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// In an open loop: arrivals that were waiting when the measurement began, and arrivals due
    /// since. `None` in a closed loop.
    pub due: Option<u64>,
    /// Connections in flight when the measurement began, and connections started since: the
    /// `attempts` of the record.
    pub arrivals: u64,
    /// Connections whose handshake and every response were as specified.
    pub completed: u64,
    /// Failed connections by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections with an unexpected handshake.
    pub unexpected: u64,
    /// Abandoned connections.
    pub abandoned: u64,
    /// Requests answered.
    pub requests: u64,
    /// Arrivals that have not ended. After the measurement: connections that were in flight at its
    /// end.
    pub in_flight: u64,
    /// Processor time of the workers since the measurement began.
    pub cpu: CpuTime,
    /// Times of completed connections and of answered requests.
    pub times: TimesInBuckets,
}

impl Totals {
    /// Empty totals at the start of a measurement.
    pub fn new(open_loop: bool) -> Self {
        Self { due: open_loop.then_some(0), ..Self::default() }
    }

    /// Adds a worker's report.
    pub fn add(&mut self, second: &Second) {
        self.add_due(second.due);
        self.arrivals += second.carried + second.started;
        self.completed += second.completed;
        self.requests += second.requests;
        (self.in_flight, self.cpu) = (second.in_flight, second.cpu);
        for (outcome, count) in second.troubles.each() {
            match outcome {
                Outcome::Failed(class) => {
                    *self.failed.entry(class.to_string()).or_default() += count;
                }
                Outcome::Unexpected(_) => self.unexpected += count,
                Outcome::Abandoned => self.abandoned += count,
                Outcome::Completed => {}
            }
        }
        self.times.merge(&second.times);
    }

    /// Adds another worker's totals.
    pub fn merge(&mut self, other: &Self) {
        self.add_due(other.due.unwrap_or(0));
        self.arrivals += other.arrivals;
        self.completed += other.completed;
        for (class, count) in &other.failed {
            *self.failed.entry(class.clone()).or_default() += count;
        }
        self.unexpected += other.unexpected;
        self.abandoned += other.abandoned;
        self.requests += other.requests;
        self.in_flight += other.in_flight;
        self.cpu += other.cpu;
        self.times.merge(&other.times);
    }

    fn add_due(&mut self, count: u64) {
        if let Some(due) = &mut self.due {
            *due += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_system::clock::MILLISECOND;
    use tlslab_wire::outcome::{Failure, Mismatch};

    fn second(carried: u64) -> Second {
        let mut second = Second::new();
        (second.carried, second.started, second.completed) = (carried, 11, 7);
        (second.requests, second.in_flight, second.due) = (8, carried, 11);
        second.cpu = CpuTime { user_us: 5, system_us: 3 };
        second.trouble(Outcome::Failed(Failure::Reset));
        second.trouble(Outcome::Failed(Failure::Reset));
        second.trouble(Outcome::Unexpected(Mismatch::Kind));
        second.trouble(Outcome::Abandoned);
        second.times.service.note(MILLISECOND);
        second
    }

    #[test]
    fn seconds_of_workers_add_up_and_balance() {
        let (mut one, mut other) = (Totals::new(true), Totals::new(true));
        one.add(&second(2));
        one.add(&Second { carried: 0, in_flight: 2, ..second(0) });
        other.add(&second(3));
        one.merge(&other);
        assert_eq!((one.arrivals, one.completed, one.requests, one.in_flight), (38, 21, 24, 5));
        assert_eq!((one.failed["reset"], one.unexpected, one.abandoned), (6, 3, 3));
        assert_eq!(one.arrivals, one.completed + 6 + one.unexpected + 3 + one.in_flight);
        assert_eq!((one.times.service.count(), one.due), (3, Some(33)));
        assert_eq!(one.cpu, CpuTime { user_us: 10, system_us: 6 });
        let mut closed = Totals::new(false);
        closed.merge(&one);
        assert_eq!(closed.due, None);
    }
}

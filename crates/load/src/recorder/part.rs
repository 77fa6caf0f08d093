//! The counts and times of one step. A measurement without steps has one part.

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{CpuTime, StepResult};
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_wire::outcome::Outcome;

use super::histograms::Histograms;
use super::troubles::Troubles;

/// The counts and times of one worker in one step.
#[derive(Debug)]
pub struct Part {
    /// The times of the library's connections, and those of the minimal client's.
    pub histograms: [Histograms; 2],
    /// Outcomes of connections that did not complete.
    pub troubles: Troubles,
    pub started: u64,
    pub completed: u64,
    pub requests: u64,
    /// Start and length of the step, and the worker's processor time.
    at: Nanos,
    length: Nanos,
    cpu: CpuTime,
}

impl Part {
    pub fn new(open_loop: bool) -> Self {
        Self {
            histograms: [(); 2].map(|()| Histograms::new(open_loop)),
            troubles: Troubles::default(),
            started: 0,
            completed: 0,
            requests: 0,
            at: 0,
            length: 0,
            cpu: CpuTime::default(),
        }
    }

    /// Closes the part, which lasted from `from` to `to`. `start` is the start of the measurement.
    pub fn close(&mut self, start: Nanos, from: Nanos, to: Nanos, cpu: CpuTime) {
        (self.at, self.length, self.cpu) = (from - start, to - from, cpu);
    }

    /// The histograms of the connections made by this client.
    pub fn of(&mut self, is_minimal: bool) -> &mut Histograms {
        &mut self.histograms[usize::from(is_minimal)]
    }

    /// The histograms of all connections, merged.
    pub fn whole(&self) -> Histograms {
        let [library, minimal] = &self.histograms;
        let mut whole = library.clone();
        whole.merge(minimal);
        whole
    }

    /// True if the part was closed: the measurement has reached this step.
    pub fn is_closed(&self) -> bool {
        self.length > 0
    }

    /// Adds another worker's counts, of the same step or of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.merge(theirs);
        }
        self.troubles.merge(&other.troubles);
        self.started += other.started;
        self.completed += other.completed;
        self.requests += other.requests;
        self.at = self.at.max(other.at);
        self.length = self.length.max(other.length);
        self.cpu += other.cpu;
    }

    /// Adds the counts of connections that did not complete to an accounting.
    pub fn add_failures_to(&self, accounting: &mut Outcomes) {
        for (outcome, count) in self.troubles.each() {
            let (classes, class) = match outcome {
                Outcome::Failed(failure) => (&mut accounting.failed, failure.to_string()),
                Outcome::Unexpected(fact) => (&mut accounting.unexpected, fact.to_string()),
                Outcome::Abandoned => {
                    accounting.abandoned += count;
                    continue;
                }
                Outcome::Completed => continue,
            };
            *classes.entry(class).or_default() += count;
        }
    }

    /// The result of the step, with its level of load.
    pub fn result(&self, connections: u32, rate: Option<f64>) -> StepResult {
        let mut accounting = Outcomes::default();
        self.add_failures_to(&mut accounting);
        StepResult {
            connections,
            rate,
            at_s: self.at as f64 / SECOND as f64,
            seconds: self.length as f64 / SECOND as f64,
            started: self.started,
            completed: self.completed,
            failed: accounting.failed,
            unexpected: accounting.unexpected,
            abandoned: accounting.abandoned,
            requests: self.requests,
            cpu: self.cpu,
            summaries: self.whole().summaries(),
        }
    }
}

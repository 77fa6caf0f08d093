//! From a recorder's notes to the words of a record.

use std::collections::BTreeMap;
use std::mem;

use super::histograms::Time;
use super::part::Part;
use super::{ArrivalAccounting, Flight, Recorder};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    Bytes, CLIENTS, ClientTimes, CountedFacts, CountedName, Interval, Kinds, OpenLoop, StepResult,
    Summary,
};
use tlslab_contract::spec::RunSpec;
use tlslab_contract::spec::load::Rate;
use tlslab_system::clock::SECOND;
use tlslab_tls::Facts;

/// What a recorder contributes to a record, in its words.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields are those of the record")]
pub struct Conclusion {
    pub outcomes: Outcomes,
    pub facts: Vec<CountedFacts>,
    pub server_names: Vec<CountedName>,
    pub authenticated: u64,
    pub minimal_client: u64,
    pub requests: u64,
    pub bytes: Bytes,
    pub kinds: Kinds,
    pub histograms: BTreeMap<String, String>,
    pub summaries: BTreeMap<String, Summary>,
    pub clients: BTreeMap<String, ClientTimes>,
    pub open_loop: Option<OpenLoop>,
    pub flight: Flight,
    pub carried: u64,
    pub slow_connects: u64,
    pub steps: Vec<StepResult>,
    pub slices: Vec<Interval>,
}

impl Recorder {
    /// The notes in the form of a record.
    pub fn conclude(mut self, spec: &RunSpec) -> Conclusion {
        let steps = self.step_results(spec);
        // Steps give their memory back one by one.
        let mut parts = mem::take(&mut self.parts).into_iter();
        let mut whole = parts.next().unwrap_or_else(|| Part::new(spec.load.rate.is_some()));
        parts.for_each(|part| whole.merge(&part));
        let mut outcomes = Outcomes {
            attempts: self.carried + whole.started,
            completed: self.completed,
            in_flight_at_stop: self.in_flight_at_stop,
            ..Outcomes::default()
        };
        whole.book(&mut outcomes);
        outcomes.reasons = self.reasons.of(&outcomes);
        let clients = clients(&whole);
        let Part { started, requests, histograms: [mut times, minimal], .. } = whole;
        times.merge(&minimal);
        drop(minimal);
        Conclusion {
            outcomes,
            facts: self.counted_facts(),
            server_names: self.names.of(&spec.tls.server_names),
            authenticated: self.authenticated,
            minimal_client: self.minimal_client,
            requests,
            bytes: self.bytes,
            kinds: self.kinds,
            histograms: times.encoded(),
            summaries: times.summaries(),
            clients,
            open_loop: spec.load.rate.is_some().then(|| self.open_loop(started)),
            flight: self.flight,
            carried: self.carried,
            slow_connects: self.slow_connects,
            steps,
            slices: self.slices,
        }
    }

    /// What became of the arrivals.
    fn open_loop(&self, started: u64) -> OpenLoop {
        let ArrivalAccounting { due, blocked, waiting_at_stop, window } = self.arrivals;
        let seconds = window.max(1) as f64 / SECOND as f64;
        let rate = |count: u64| count as f64 / seconds;
        OpenLoop {
            arrivals: due,
            started,
            blocked,
            waiting_at_stop,
            offered_per_s: rate(due),
            achieved_per_s: rate(started),
        }
    }

    /// One result for each step; none for a measurement that has no steps.
    fn step_results(&self, spec: &RunSpec) -> Vec<StepResult> {
        let connections = &spec.load.connection_steps;
        let rates = match &spec.load.rate {
            Some(Rate::Steps(rates)) => rates.as_slice(),
            _ if connections.is_empty() => return Vec::new(),
            _ => &[],
        };
        let level = |step| connections.get(step).copied().unwrap_or(spec.connections);
        let reached = self.parts.iter().enumerate().filter(|(_, part)| part.is_closed());
        reached.map(|(step, part)| part.result(level(step), rates.get(step).copied())).collect()
    }

    /// The facts with their counts, most frequent first.
    fn counted_facts(&self) -> Vec<CountedFacts> {
        let mut facts: Vec<_> = self
            .facts
            .iter()
            .map(|(facts, count)| CountedFacts { facts: Facts::from(*facts), count: *count })
            .collect();
        facts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.facts.cmp(&b.facts)));
        facts
    }
}

/// The times by the client that made the connections; nothing where one client made them all, as the
/// histograms of all are its own then.
fn clients(whole: &Part) -> BTreeMap<String, ClientTimes> {
    let counts = whole.histograms.each_ref().map(|times| times.count(Time::Service));
    if counts.contains(&0) {
        return BTreeMap::new();
    }
    let named = CLIENTS.iter().zip(&whole.histograms).zip(counts);
    named.map(|((name, times), count)| ((*name).to_owned(), times.of_client(count))).collect()
}

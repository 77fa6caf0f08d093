//! Converts recorders into the fields of a record.

use std::collections::BTreeMap;
use std::mem;

use super::histograms::{Histograms, Time};
use super::names::Names;
use super::pages::Pages;
use super::part::Part;
use super::reasons::Reasons;
use super::round_trips::RoundTripCounts;
use super::statuses::Statuses;
use super::{ArrivalAccounting, Flight};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    Bytes, CLIENTS, ClientTimes, ConfirmedBy, CountedFacts, CountedName, CountedUrl, Interval,
    Kinds, OpenLoop, RoundTrips, StepResult, Summary, Users,
};
use tlslab_contract::spec::RunSpec;
use tlslab_contract::spec::load::Rate;
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_tls::{Facts, Negotiated};

/// The fields of a record that come from recorders.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields are those of the record")]
pub struct Conclusion {
    pub outcomes: Outcomes,
    pub facts: Vec<CountedFacts>,
    pub server_names: Vec<CountedName>,
    pub statuses: BTreeMap<String, u64>,
    pub urls: Vec<CountedUrl>,
    pub authenticated: u64,
    pub minimal_client: u64,
    pub confirmed_by: ConfirmedBy,
    pub round_trips: RoundTrips,
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
    pub waits_at_stop: Vec<Nanos>,
    pub steps: Vec<StepResult>,
    pub slices: Vec<Interval>,
}

/// The merged contents of all workers' recorders.
pub struct Notes {
    /// The counts of each step of the measurement.
    pub parts: Vec<Part>,
    pub facts: Vec<(Option<Negotiated>, u64)>,
    pub names: Names,
    pub reasons: Reasons,
    pub statuses: Statuses,
    pub pages: Pages,
    pub carried: u64,
    pub in_flight_at_stop: u64,
    pub waits_at_stop: Vec<Nanos>,
    pub arrivals: ArrivalAccounting,
    pub users: Users,
    pub flight: Flight,
    pub slow_connects: u64,
    pub completed: u64,
    pub closed_idle: u64,
    pub authenticated: u64,
    pub minimal_client: u64,
    pub confirmed_by: ConfirmedBy,
    pub round_trips: RoundTripCounts,
    pub bytes: Bytes,
    pub kinds: Kinds,
    pub slices: Vec<Interval>,
}

impl Conclusion {
    /// Converts the notes into fields of a record.
    pub fn of(mut notes: Notes, spec: &RunSpec) -> Self {
        let steps = step_results(&notes.parts, spec);
        // The memory of each step is freed as soon as the step is converted.
        let mut parts = mem::take(&mut notes.parts).into_iter();
        let mut whole = parts.next().unwrap_or_else(|| Part::new(spec.load.rate.is_some()));
        parts.for_each(|part| whole.merge(&part));
        let mut outcomes = Outcomes {
            attempts: notes.carried + whole.started,
            completed: notes.completed,
            closed_idle: notes.closed_idle,
            in_flight_at_stop: notes.in_flight_at_stop,
            ..Outcomes::default()
        };
        whole.add_failures_to(&mut outcomes);
        outcomes.reasons = notes.reasons.of(&outcomes);
        let clients = clients(&whole, spec.load.patience_ms.is_some());
        let open_loop = spec.load.rate.is_some().then(|| open_loop(&notes, whole.started, spec));
        let Part { requests, histograms: [mut times, minimal], .. } = whole;
        times.merge(&minimal);
        drop(minimal);
        Self {
            outcomes,
            facts: counted_facts(&notes.facts),
            server_names: notes.names.of(&spec.tls.server_names),
            statuses: notes.statuses.counted(),
            urls: notes.pages.of(&spec.http.paths),
            authenticated: notes.authenticated,
            minimal_client: notes.minimal_client,
            confirmed_by: notes.confirmed_by,
            round_trips: notes.round_trips.counted(),
            requests,
            bytes: notes.bytes,
            kinds: notes.kinds,
            histograms: times.encoded(),
            summaries: times.summaries(),
            clients,
            open_loop,
            flight: notes.flight,
            carried: notes.carried,
            slow_connects: notes.slow_connects,
            waits_at_stop: notes.waits_at_stop,
            steps,
            slices: notes.slices,
        }
    }
}

/// The accounting of arrivals and, with patience, of their users.
fn open_loop(notes: &Notes, started: u64, spec: &RunSpec) -> OpenLoop {
    let ArrivalAccounting { due, blocked, waiting_at_stop, window } = notes.arrivals;
    let started = started - notes.users.retries;
    let users = Users {
        arrived: notes.carried + due,
        unfinished: notes.in_flight_at_stop + waiting_at_stop,
        ..notes.users
    };
    let seconds = window.max(1) as f64 / SECOND as f64;
    let rate = |count: u64| count as f64 / seconds;
    OpenLoop {
        arrivals: due,
        started,
        blocked,
        waiting_at_stop,
        offered_per_s: rate(due),
        achieved_per_s: rate(started),
        users: spec.load.patience_ms.map(|_| users),
    }
}

/// One result for each step; empty for a measurement without steps.
fn step_results(parts: &[Part], spec: &RunSpec) -> Vec<StepResult> {
    let connections = &spec.load.connection_steps;
    let rates = match &spec.load.rate {
        Some(Rate::Steps(rates)) => rates.as_slice(),
        _ if connections.is_empty() => return Vec::new(),
        _ => &[],
    };
    let level = |step| connections.get(step).copied().unwrap_or(spec.connections);
    let reached = parts.iter().enumerate().filter(|(_, part)| part.is_closed());
    reached.map(|(step, part)| part.result(level(step), rates.get(step).copied())).collect()
}

/// The facts with their counts, most frequent first.
fn counted_facts(facts: &[(Option<Negotiated>, u64)]) -> Vec<CountedFacts> {
    let counted = |(facts, count): &(Option<Negotiated>, u64)| CountedFacts {
        facts: facts.map_or_else(Facts::without_tls, Facts::from),
        count: *count,
    };
    let mut facts: Vec<_> = facts.iter().map(counted).collect();
    facts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.facts.cmp(&b.facts)));
    facts
}

/// Times by the client that made the connections. Empty if one client made all, because the
/// histograms of all connections then hold its times.
fn clients(whole: &Part, with_patience: bool) -> BTreeMap<String, ClientTimes> {
    let counts = whole.histograms.each_ref().map(|times| times.count(Time::Service));
    if counts.contains(&0) {
        return BTreeMap::new();
    }
    let named = CLIENTS.iter().zip(&whole.histograms).zip(counts);
    let times = |((name, times), count): ((&&str, &Histograms), u64)| {
        ((*name).to_owned(), times.of_client(count, with_patience))
    };
    named.map(times).collect()
}

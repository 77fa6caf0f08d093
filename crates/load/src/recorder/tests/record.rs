//! Recorded connections and the resulting record: each expected number is computed by hand.

use std::collections::BTreeMap;

use tlslab_contract::histogram::decoded;
use tlslab_contract::record::{CountedName, OpenLoop, StepResult};
use tlslab_contract::spec::load::Rate;
use tlslab_wire::outcome::{Failure, Mismatch};

use super::super::histograms::Histograms;
use super::*;

/// A connection with distinct times: 2 ms start delay, 4 ms connect, 8 ms handshake, 16 ms until
/// its last request, 32 ms until the first byte of the response, 64 ms until its last byte.
const AT: Milestones = Milestones {
    intended: MILLISECOND,
    started: 3 * MILLISECOND,
    established: 7 * MILLISECOND,
    secured: 15 * MILLISECOND,
    requested: 31 * MILLISECOND,
    answered: 63 * MILLISECOND,
    // The first byte of an earlier response.
    first_answered: 27 * MILLISECOND,
};
const END: Nanos = 127 * MILLISECOND;
/// The same connection in a closed loop.
const CLOSED: Milestones = Milestones { intended: 0, ..AT };

const BYTES: Bytes =
    Bytes { handshake_sent: 1, handshake_received: 2, sent: 3, received: 4, head: 0, body: 0 };
const ANSWER: Answer = Answer { page: 1, status: 203, head_bytes: 100, body_bytes: 1000 };
const CPU: CpuTime = CpuTime { user_us: 5, system_us: 6 };

const FAILED: Outcome = Outcome::Failed(Failure::Reset);
const UNEXPECTED: Outcome = Outcome::Unexpected(Mismatch::Group);

/// A resumed handshake by the library.
fn resumed(early_data: EarlyData) -> Negotiated {
    let kind = HandshakeKind::Resumed;
    Negotiated { kind, early_data, minimal_client: false, authenticated: false, ..negotiated(1) }
}

/// The number of times of each kind, and their mean in milliseconds.
fn shown(histograms: &Histograms) -> BTreeMap<String, (u64, u64)> {
    let filled = histograms.summaries().into_iter().filter(|(_, summary)| summary.n > 0);
    filled.map(|(name, summary)| (name, (summary.n, summary.mean_ms.round() as u64))).collect()
}

fn once<const N: usize>(times: [(&str, u64); N]) -> BTreeMap<String, (u64, u64)> {
    times.map(|(name, ms)| (name.to_owned(), (1, ms))).into()
}

fn spec() -> RunSpec {
    let text = r#"{"url":"https://localhost/","connections":8,"stop":{"duration_ms":1000}}"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn each_time_is_that_between_its_two_instants() {
    let mut recorder = Recorder::new(1, true);
    recorder.started(Some(2 * MILLISECOND));
    recorder.request(&AT, END, true, ANSWER);
    recorder.completed(&AT, END, Some(negotiated(1)), &BYTES);
    let part = &recorder.parts[0];
    assert_eq!((part.started, part.completed, part.requests), (1, 1, 1));
    let [library, minimal] = &part.histograms;
    assert_eq!(shown(library), once([("start_delay", 2)]));
    let expected = [
        ("connect", 4),
        ("handshake", 8),
        ("handshake_full", 8),
        ("established", 12),
        ("first_byte", 32),
        ("exchange", 96),
        ("service", 124),
        ("response_established", 14),
        ("response_first_byte", 26),
        ("response", 126),
    ];
    assert_eq!(shown(minimal), once(expected));
    let second = &recorder.second;
    let TimesInBuckets { handshake, service, response, exchange } = second.times;
    let sums = [handshake, service, response, exchange].map(|times| (times.count(), times.sum));
    assert_eq!(sums, [8, 124, 126, 96].map(|ms| (1, ms * MILLISECOND)));
    let found = [second.service(), second.response(), second.exchange()].map(Option::unwrap);
    for (found, ms) in found.into_iter().zip([124.0, 126.0, 96.0]) {
        let is_near = |time: f64| (time - ms).abs() < 1.1;
        assert!(found.n == 1 && is_near(found.p50_ms) && is_near(found.p99_ms), "{found:?}");
    }
    let Second { started, completed, failed, requests, .. } = **second;
    assert_eq!((started, completed, failed, requests), (1, 1, 0, 1));
    let sent = (recorder.bytes.handshake_sent, recorder.bytes.sent);
    let received = (recorder.bytes.handshake_received, recorder.bytes.received);
    assert_eq!((sent, received), ((1, 3), (2, 4)));
    assert_eq!((recorder.bytes.head, recorder.bytes.body), (100, 1000));
    assert_eq!(recorder.statuses.counted(), [("203".to_owned(), 1)].into());
}

#[test]
fn a_closed_loop_has_no_response_times_and_a_silent_server_no_first_byte() {
    let mut closed = Recorder::new(1, false);
    closed.started(None);
    closed.completed(&CLOSED, END, Some(resumed(EarlyData::None)), &BYTES);
    let [library, minimal] = &closed.parts[0].histograms;
    let expected = [
        ("connect", 4),
        ("handshake", 8),
        ("handshake_resumed", 8),
        ("established", 12),
        ("service", 124),
    ];
    assert_eq!((shown(library), shown(minimal)), (once(expected), BTreeMap::new()));
    assert_eq!(closed.second.response(), None);
    let mut open = Recorder::new(1, true);
    open.completed(&Milestones { first_answered: 0, ..AT }, END, Some(negotiated(1)), &BYTES);
    let found = shown(&open.parts[0].histograms[1]);
    assert!(found.contains_key("response") && !found.contains_key("response_first_byte"));
}

#[test]
fn kinds_and_early_data_are_counted_apart() {
    let mut recorder = Recorder::new(1, false);
    let done = [EarlyData::None, EarlyData::Accepted, EarlyData::Accepted, EarlyData::Rejected];
    let facts = done.map(resumed).into_iter().chain([negotiated(1); 2]);
    facts.for_each(|facts| recorder.completed(&CLOSED, END, Some(facts), &BYTES));
    recorder.primed(Primed { connections: 7, sessions: 8 });
    recorder.refilled(9);
    let kinds = recorder.kinds;
    assert_eq!((kinds.full, kinds.resumed), (2, 4));
    assert_eq!((kinds.early_data_accepted, kinds.early_data_rejected), (2, 1));
    assert_eq!((kinds.primed_connections, kinds.primed_sessions), (7, 8));
    assert_eq!(kinds.refill_connections, 9);
    assert_eq!((recorder.completed, recorder.authenticated, recorder.minimal_client), (6, 2, 2));
}

#[test]
fn a_slice_has_what_ended_in_it() {
    let mut recorder = Recorder::new(1, false);
    let end = |recorder: &mut Recorder, completed: u64, failed: u64| {
        (0..completed).for_each(|_| recorder.completed(&CLOSED, END, Some(negotiated(1)), &BYTES));
        (0..failed).for_each(|_| recorder.troubled(FAILED, None));
    };
    end(&mut recorder, 2, 1);
    recorder.close_slice(3 * SECOND, 2 * SECOND, 5 * SECOND, CPU);
    end(&mut recorder, 1, 3);
    recorder.close_slice(5 * SECOND, 2 * SECOND, 6 * SECOND, CPU);
    let slice = |at_s, seconds, completed, failed| {
        let cpu = CPU;
        Interval { at_s, seconds, completed, failed, cpu }
    };
    assert_eq!(recorder.slices, [slice(1.0, 2.0, 2, 1), slice(3.0, 1.0, 1, 3)]);
    assert_eq!(recorder.ended(), (3, 4));
    assert_eq!((recorder.second.completed, recorder.second.failed), (3, 4));
}

/// Three steps of an open loop, of which two were reached. The first has a completed and a reset
/// connection, the second an unexpected group.
fn stepped() -> Recorder {
    let mut recorder = Recorder::new(3, true);
    recorder.start_measurement(4);
    recorder.due(9);
    (0..2).for_each(|_| recorder.started(Some(1)));
    recorder.completed(&CLOSED, END, Some(negotiated(1)), &BYTES);
    recorder.troubled(FAILED, Some(negotiated(2)));
    assert_eq!(recorder.step(), 0);
    recorder.close_step(1, SECOND, 2 * SECOND, 4 * SECOND, CPU);
    assert_eq!(recorder.step(), 1);
    recorder.started(Some(1));
    recorder.troubled(UNEXPECTED, Some(negotiated(2)));
    recorder.close_step(2, SECOND, 4 * SECOND, 5 * SECOND, CPU);
    recorder.in_flight_at_stop = 4;
    recorder
}

#[test]
fn the_record_of_an_open_loop_has_what_was_noted() {
    let mut spec = spec();
    spec.load.rate = Some(Rate::Steps(vec![10.0, 20.0, 30.0]));
    spec.tls.server_names = vec!["a.test".to_owned(), "b.test".to_owned()];
    let mut recorder = stepped();
    assert_eq!((recorder.attempts(), recorder.arrivals.due, recorder.second.due), (7, 9, 9));
    assert_eq!(recorder.second.carried, 4);
    recorder.arrivals =
        ArrivalAccounting { due: 9, blocked: 2, waiting_at_stop: 6, window: 3 * SECOND };
    recorder.flight = Flight {
        within: u128::from(SECOND),
        before: u128::from(2 * SECOND),
        troubled: u128::from(3 * SECOND),
        unfinished: u128::from(4 * SECOND),
    };
    recorder.slow_connects = 10;
    recorder.names.count(1, Outcome::Completed);
    let found = recorder.conclude(&spec);
    let outcomes = &found.outcomes;
    assert!(outcomes.balanced());
    assert_eq!((outcomes.attempts, outcomes.completed, outcomes.in_flight_at_stop), (7, 1, 4));
    assert_eq!(outcomes.failed, BTreeMap::from([("reset".to_owned(), 1)]));
    assert_eq!(outcomes.unexpected, BTreeMap::from([("group".to_owned(), 1)]));
    let expected = OpenLoop {
        arrivals: 9,
        started: 3,
        blocked: 2,
        waiting_at_stop: 6,
        offered_per_s: 3.0,
        achieved_per_s: 1.0,
        users: None,
    };
    assert_eq!(found.open_loop, Some(expected));
    let steps = found.steps.iter().map(|step| {
        let ended = (step.started, step.completed, step.failed.len(), step.unexpected.len());
        ((step.connections, step.rate), (step.at_s, step.seconds), ended, step.cpu)
    });
    let expected = [
        ((8, Some(10.0)), (1.0, 2.0), (2, 1, 1, 0), CPU),
        ((8, Some(20.0)), (3.0, 1.0), (1, 0, 0, 1), CPU),
    ];
    assert!(steps.eq(expected));
    // The most frequent facts come first.
    assert_eq!(found.facts.iter().map(|facts| facts.count).collect::<Vec<_>>(), [2, 1]);
    let name = |name: &str, completed| CountedName {
        name: name.to_owned(),
        completed,
        failed: 0,
        unexpected: 0,
        abandoned: 0,
    };
    assert_eq!(found.server_names, [name("a.test", 0), name("b.test", 1)]);
    // One client made all connections.
    assert_eq!((found.clients.len(), found.summaries["service"].n), (0, 1));
    let encoded = found.histograms.iter().map(|(name, text)| (name, decoded(text).unwrap().len()));
    assert!(encoded.eq(found.summaries.iter().map(|(name, summary)| (name, summary.n))));
    assert_eq!((found.carried, found.slow_connects, found.minimal_client), (4, 10, 1));
    let FlightTimes { within_s, before_s, troubled_s, unfinished_s } = found.flight.times();
    assert_eq!([within_s, before_s, troubled_s, unfinished_s], [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn steps_of_connections_have_their_level_and_two_clients_their_own_times() {
    let mut spec = spec();
    spec.load.connection_steps = vec![2, 5];
    let workers = [(4, 1), (6, 2)].map(|(end, times)| {
        let mut recorder = Recorder::new(2, false);
        recorder.completed(&CLOSED, END, Some(negotiated(1)), &BYTES);
        for _ in 0..times {
            recorder.completed(&CLOSED, END, Some(resumed(EarlyData::None)), &BYTES);
            recorder.request(&CLOSED, END, false, ANSWER);
        }
        recorder.close_step(1, SECOND, (end - 1) * SECOND, end * SECOND, CPU);
        recorder.close_step(1, SECOND, end * SECOND, (2 * end) * SECOND, CPU);
        recorder
    });
    let [mut all, other] = workers;
    all.merge(&other);
    let found = all.conclude(&spec);
    let of = |step: &StepResult| {
        (step.connections, step.rate, step.at_s, step.seconds, step.completed, step.requests)
    };
    // The earliest start and the longest duration of the two workers.
    let expected = [(2, None, 4.0, 1.0, 5, 3), (5, None, 5.0, 6.0, 0, 0)];
    assert!(found.steps.iter().map(of).eq(expected));
    assert_eq!(found.steps[0].cpu, CpuTime { user_us: 10, system_us: 12 });
    assert_eq!(found.steps[0].summaries["service"].n, 5);
    assert_eq!((found.requests, found.open_loop), (3, None));
    let clients = found.clients.iter().map(|(name, of)| (name.as_str(), of.connections));
    assert!(clients.eq([("library", 3), ("minimal", 2)]));
    let library = &found.clients["library"].summaries;
    assert_eq!((library["handshake_full"].n, library["handshake_resumed"].n), (0, 3));
    assert!(recorded_without_steps(&spec).steps.is_empty());
}

/// The conclusion of a measurement without steps.
fn recorded_without_steps(spec: &RunSpec) -> Conclusion {
    let mut spec = spec.clone();
    spec.load.connection_steps.clear();
    let mut recorder = Recorder::new(1, false);
    recorder.close_step(0, 0, 0, SECOND, CPU);
    recorder.conclude(&spec)
}

#[test]
fn a_client_of_two_has_no_delay_of_starts() {
    let mut spec = spec();
    spec.load.rate = Some(Rate::Constant(10.0));
    let mut recorder = Recorder::new(1, true);
    recorder.started(Some(1));
    recorder.completed(&AT, END, Some(negotiated(1)), &BYTES);
    recorder.completed(&AT, END, Some(resumed(EarlyData::None)), &BYTES);
    let found = recorder.conclude(&spec);
    assert!(found.steps.is_empty());
    assert_eq!(found.summaries["start_delay"].n, 1);
    for client in found.clients.values() {
        assert!(!client.summaries.contains_key("start_delay"));
        assert!(!client.histograms.contains_key("start_delay"));
        assert!(client.summaries.contains_key("response") && client.connections == 1);
    }
    assert_eq!(found.clients.len(), 2);
}

#[test]
fn names_add_up_over_workers() {
    let [mut names, mut others] = [(); 2].map(|()| Names::default());
    for outcome in [Outcome::Completed, UNEXPECTED, Outcome::Completed] {
        names.count(1, outcome);
    }
    names.count(0, FAILED);
    for (name, outcome) in [(2, FAILED), (1, Outcome::Completed), (1, UNEXPECTED), (0, FAILED)] {
        others.count(name, outcome);
    }
    names.merge(&others);
    let listed = ["a", "b", "c", "d"].map(str::to_owned);
    let found = names.of(&listed);
    let counts = found.iter().map(|of| (&*of.name, of.completed, of.failed, of.unexpected));
    assert!(counts.eq([("a", 0, 2, 0), ("b", 3, 0, 2), ("c", 0, 1, 0), ("d", 0, 0, 0)]));
}

#[test]
fn each_count_of_a_second_is_added_to_its_own_and_cleared() {
    let mut all = Second::new();
    for _ in 0..2 {
        let mut second = Second::new();
        (second.length, second.cpu, second.due, second.carried) = (1, CPU, 2, 3);
        (second.started, second.completed, second.failed) = (4, 5, 6);
        (second.requests, second.in_flight, second.waiting) = (7, 8, 9);
        second.trouble(FAILED);
        second.service.saturating_record(10 * MILLISECOND);
        second.response.saturating_record(20 * MILLISECOND);
        second.exchange.saturating_record(30 * MILLISECOND);
        let times = &mut second.times;
        times.handshake.note(1);
        (0..2).for_each(|_| times.service.note(1));
        (0..3).for_each(|_| times.response.note(1));
        (0..4).for_each(|_| times.exchange.note(1));
        all.take(&mut second);
        assert_eq!((second.length, second.cpu, second.due), (0, CpuTime::default(), 0));
        assert_eq!((second.carried, second.started, second.completed), (0, 0, 0));
        assert_eq!((second.failed, second.requests, second.in_flight), (0, 0, 0));
        assert_eq!((second.waiting, second.troubles.each().count()), (0, 0));
        assert_eq!((second.service(), second.response(), second.exchange()), (None, None, None));
        assert_eq!(second.times, TimesInBuckets::default());
    }
    assert_eq!((all.length, all.cpu), (1, CpuTime { user_us: 10, system_us: 12 }));
    assert_eq!((all.due, all.carried, all.started, all.completed), (4, 6, 8, 10));
    // One of them was counted by `trouble`.
    assert_eq!((all.failed, all.requests, all.in_flight, all.waiting), (14, 14, 16, 18));
    assert!(all.troubles.each().eq([(FAILED, 2)]));
    let TimesInBuckets { handshake, service, response, exchange } = all.times;
    let counts = [handshake, service, response, exchange].map(|times| times.count());
    assert_eq!(counts, [2, 4, 6, 8]);
    let medians = [all.service(), all.response(), all.exchange()];
    let medians = medians.map(|found| found.map(|times| (times.n, times.p50_ms.round() as u64)));
    assert_eq!(medians, [Some((2, 10)), Some((2, 20)), Some((2, 30))]);
}

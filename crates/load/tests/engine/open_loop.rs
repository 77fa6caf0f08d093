//! Load over time: open loop, steps, ramps, think time; and the events during a run.

use std::sync::atomic::AtomicBool;

use crate::harness::{self, BACKENDS, measured, spec, trust};
use openssl::x509::X509;
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::load::{ArrivalProcess, LoadSpec, Ramp, Rate};
use tlslab_contract::spec::{BackendChoice, HttpVersion, RequestsPerConnection, RunSpec, Stop};
use tlslab_load::check::{Checked, check};
use tlslab_load::run::run;
use tlslab_load::trace::Trace;
use tlslab_load::watch::{Observer, Progress, Totals};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Fin, Receive, Send, Wait};
use tlslab_testkit::peers::{Peer, bare, secured};
use tlslab_testkit::tls_server::Settings;
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

/// The reference server, and the authority to trust.
fn reference() -> (Server, TrustAnchors) {
    pausing(0)
}

/// As [`reference`], with a pause before each response.
pub fn pausing(pause: Nanos) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let loopback = ServeSpec::loopback(ServerBackend::Rustls, vec![made.identity]);
    let server = Server::start(&ServeSpec { pause, ..loopback }).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (server, TrustAnchors::Certificates(vec![authority]))
}

/// A run of N milliseconds with up to 64 connections.
fn timed(server: &Server, backend: BackendChoice, ms: u64, load: LoadSpec) -> RunSpec {
    let stop = Stop::DurationMs(ms);
    RunSpec { stop, load, connections: 64, ..spec(server.address(), backend) }
}

fn rate(rate: Rate) -> LoadSpec {
    LoadSpec { rate: Some(rate), ..LoadSpec::default() }
}

#[test]
fn as_many_connections_are_due_as_the_rate_says() {
    let (server, trust) = reference();
    for (backend, threads) in BACKENDS.into_iter().zip([1, 2]) {
        for (load, due) in [
            (rate(Rate::Constant(200.0)), 100),
            (rate(Rate::Ramp(Ramp { from: 0.0, to: 400.0, over_ms: 250 })), 150),
            (rate(Rate::Steps(vec![40.0, 400.0])), 110),
        ] {
            let spec = RunSpec { threads, warmup_ms: 50, ..timed(&server, backend, 500, load) };
            let record = measured(spec, trust.clone());
            let open_loop = record.open_loop.unwrap();
            // Arrivals that were due in the warm-up and did not start in it are carried over.
            let carried = open_loop.arrivals - due;
            assert!(carried <= 20, "{open_loop:?}");
            assert!((open_loop.offered_per_s - open_loop.arrivals as f64 / 0.5).abs() < 1e-6);
            assert!(record.outcomes.completed > 0);
        }
    }
}

#[test]
fn a_seed_makes_the_same_poisson_arrivals() {
    let (server, trust) = reference();
    let due = |seed| {
        let arrivals = ArrivalProcess::Poisson;
        let load = LoadSpec { arrivals, seed, trace: 1_000, ..rate(Rate::Constant(400.0)) };
        let mut notes = Notes::default();
        let spec = timed(&server, BackendChoice::Rustls, 250, load);
        let record = observed(spec, trust.clone(), &mut notes);
        let rows = notes.trace.unwrap().connections;
        assert_eq!(rows.len() as u64, record.outcomes.attempts);
        assert!(rows.iter().all(|row| 0 < row.intended && row.intended <= row.started));
        let first = rows[0].intended;
        let waits: Vec<u64> = rows.iter().map(|row| row.intended - first).collect();
        (record.open_loop.unwrap().arrivals, waits)
    };
    let (again, other) = (due(1), due(2));
    let (count, instants) = due(1);
    assert_eq!(count, again.0);
    let both = instants.len().min(again.1.len());
    // The absolute instants are rounded to the nanosecond.
    let same = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 2;
    assert!(both > 20 && instants.iter().zip(&again.1).all(same), "{both}");
    assert_ne!(instants[..10], other.1[..10]);
}

#[test]
fn arrivals_that_find_no_slot_are_blocked_and_have_a_response_time() {
    let (server, trust) = reference();
    for (backend, threads) in BACKENDS.into_iter().zip([2, 1]) {
        // 20,000 per second on two slots: no handshake ends within 100 microseconds.
        let spec = timed(&server, backend, 200, rate(Rate::Constant(20_000.0)));
        let record = measured(RunSpec { connections: 2, threads, ..spec }, trust.clone());
        let open_loop = record.open_loop.unwrap();
        assert_eq!(open_loop.arrivals, 4_000);
        assert!(open_loop.blocked > 2_000 && open_loop.waiting_at_stop > 0, "{open_loop:?}");
        assert!(record.outcomes.in_flight_at_stop <= 2);
        let (response, service) = (record.summaries["response"], record.summaries["service"]);
        assert!(response.mean_ms > service.mean_ms, "{response:?} {service:?}");
        let codes: Vec<_> = record.verdicts.iter().map(|v| format!("{:?}", v.code)).collect();
        assert!(codes.contains(&"RateNotAchieved".to_owned()), "{codes:?}");
        assert!(codes.contains(&"LateArrivals".to_owned()), "{codes:?}");
        assert!(!codes.contains(&"LittlesLaw".to_owned()), "{:?}", record.verdicts);
    }
}

#[test]
fn time_in_flight_counts_up_to_the_end_of_the_measurement() {
    let authority = Authority::new("silence");
    let identities = vec![authority.issue(Key::P256)];
    let peer = Peer::start(&Settings { identities, ..Settings::default() }, 1, bare(vec![Wait]));
    // One connection, which gets no answer from start to end.
    let spec = spec(peer.address(), BACKENDS[0]);
    let spec = RunSpec { stop: Stop::DurationMs(300), connections: 1, ..spec };
    let record = measured(spec, trust(&authority));
    assert_eq!(record.outcomes.in_flight_at_stop, 1);
    assert!(record.concurrency > 0.5, "{}", record.concurrency);
}

#[test]
fn an_open_loop_may_end_by_count() {
    let (server, trust) = reference();
    for handshake_only in [false, true] {
        let load = rate(Rate::Constant(500.0));
        let spec = timed(&server, BackendChoice::Rustls, 1, load);
        let stop = Stop::Count(31);
        let record = measured(RunSpec { stop, threads: 2, handshake_only, ..spec }, trust.clone());
        let open_loop = record.open_loop.unwrap();
        assert_eq!((record.outcomes.attempts, record.outcomes.completed), (31, 31));
        assert_eq!((open_loop.arrivals, open_loop.waiting_at_stop), (31, 0));
        let first_bytes = if handshake_only { 0 } else { 31 };
        assert_eq!(record.summaries["response_first_byte"].n, first_bytes);
    }
    let counted = server.stop().unwrap().handshakes;
    assert_eq!((counted.full, counted.failed), (2 * (31 + 1), 0));
}

#[test]
fn connections_in_steps_have_a_result_each() {
    let (server, trust) = reference();
    for (threads, backend) in [1, 2].into_iter().zip(BACKENDS) {
        let load = LoadSpec { connection_steps: vec![1, 8, 2], ..LoadSpec::default() };
        let spec = RunSpec { threads, ..timed(&server, backend, 600, load) };
        let record = measured(RunSpec { connections: 8, ..spec }, trust.clone());
        let levels: Vec<_> = record.steps.iter().map(|step| step.connections).collect();
        assert_eq!(levels, [1, 8, 2]);
        assert!(record.steps.iter().all(|step| step.completed > 0 && step.seconds > 0.0));
        // When a step begins, only connections of the step before may be in flight.
        assert!(record.outcomes.in_flight_at_stop <= 2, "{:?}", record.outcomes);
        assert!(0.0 < record.concurrency && record.concurrency < 8.0, "{}", record.concurrency);
    }
}

#[test]
fn rates_in_steps_have_a_result_each() {
    let (server, trust) = reference();
    let load = rate(Rate::Steps(vec![20.0, 200.0]));
    let record = measured(timed(&server, BackendChoice::Rustls, 1_000, load), trust);
    let rates: Vec<_> = record.steps.iter().map(|step| step.rate).collect();
    assert_eq!(rates, [Some(20.0), Some(200.0)]);
    assert_eq!(record.open_loop.unwrap().arrivals, 110);
    assert!(record.steps[0].started <= 10 && record.steps[1].started >= 50, "{:?}", record.steps);
}

const VERSIONS: [HttpVersion; 2] = [HttpVersion::Http11, HttpVersion::Http2];

#[test]
fn a_connection_thinks_between_its_requests() {
    let (server, trust) = reference();
    for version in VERSIONS {
        for (backend, threads) in BACKENDS.into_iter().zip([1, 2]) {
            let load = LoadSpec { think_us: 20_000, ..LoadSpec::default() };
            let spec = timed(&server, backend, 1, load);
            let mut spec = RunSpec { threads, stop: Stop::Count(12), ..spec };
            spec.requests_per_connection = RequestsPerConnection::Count(3);
            spec.http.version = version;
            let record = measured(spec, trust.clone());
            assert_eq!((record.outcomes.completed, record.requests), (12, 36), "{version:?}");
            // Twice 20 ms, to the histogram's 0.1 %; the excess depends on the machine.
            let service = record.summaries["service"];
            assert!(service.min_ms >= 39.9, "{version:?}: {service:?}");
            // Think time is not part of a request.
            assert!(record.summaries["exchange"].min_ms < 20.0, "{version:?}");
        }
    }
}

/// Think time does not count against the deadline, however short the deadline is.
#[test]
fn no_deadline_holds_while_a_connection_thinks() {
    let (server, trust) = reference();
    for version in VERSIONS {
        let load = LoadSpec { think_us: 900_000, ..LoadSpec::default() };
        let spec = RunSpec { load, ..harness::impatient(server.address(), BackendChoice::Rustls) };
        let mut spec = RunSpec { connections: 2, stop: Stop::Count(2), ..spec };
        spec.requests_per_connection = RequestsPerConnection::Count(2);
        spec.http.version = version;
        let spec = spec.checked().unwrap();
        let checked = check(&spec, trust.clone()).unwrap();
        let record = run(&spec, &checked, &mut Notes::default(), &AtomicBool::new(false)).unwrap();
        harness::assert_accounting(&record);
        assert_eq!((record.outcomes.completed, record.requests), (2, 4), "{version:?}");
    }
}

#[test]
fn connections_without_end_think_as_well() {
    let (server, trust) = reference();
    for version in VERSIONS {
        let load = LoadSpec { think_us: 50_000, ..LoadSpec::default() };
        let mut spec = RunSpec {
            requests_per_connection: RequestsPerConnection::Unlimited,
            connections: 4,
            ..timed(&server, BackendChoice::Rustls, 400, load)
        };
        spec.http.version = version;
        let record = measured(spec, trust.clone());
        assert_eq!((record.outcomes.attempts, record.outcomes.in_flight_at_stop), (4, 4));
        // At most one at once and one after each 50 ms.
        assert!((4..=4 * 9).contains(&record.requests), "{version:?}: {}", record.requests);
    }
}

#[test]
fn a_server_that_hangs_up_while_a_connection_thinks_has_closed_it() {
    let authority = Authority::new("tlslab test");
    let settings = Settings {
        identities: vec![authority.issue(Key::P256)],
        body_length: 4_788,
        ..Settings::default()
    };
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for backend in BACKENDS {
        let acts = vec![Receive, Send(answer.to_vec()), Fin];
        let peer = Peer::start(&settings, 1, secured(&settings, acts));
        let load = LoadSpec { think_us: 100_000, ..LoadSpec::default() };
        let requests_per_connection = RequestsPerConnection::Count(2);
        let spec = RunSpec { load, requests_per_connection, ..spec(peer.address(), backend) };
        let record = measured(RunSpec { connections: 2, ..spec }, trust(&authority));
        let Outcomes { completed, closed_idle, .. } = record.outcomes;
        assert_eq!((completed, closed_idle, record.requests), (4, 4, 4), "{backend:?}");
    }
}

/// Keeps the events.
#[derive(Default)]
struct Notes {
    seconds: Vec<Progress>,
    totals: Option<Totals>,
    trace: Option<Trace>,
}

impl Observer for Notes {
    fn preflight(&mut self, _: &Checked) {}
    fn phase(&mut self, _: &'static str, _: u64) {}
    fn progress(&mut self, progress: Progress) {
        self.seconds.push(progress);
    }
    fn ended(&mut self, totals: Totals, _: f64) {
        self.totals = Some(totals);
    }
    fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }
}

fn observed(spec: RunSpec, trust: TrustAnchors, notes: &mut Notes) -> RunRecord {
    let spec = spec.checked().unwrap();
    let checked = check(&spec, trust).unwrap();
    let record = run(&spec, &checked, notes, &AtomicBool::new(false)).unwrap();
    harness::assert_accounting(&record);
    record
}

#[test]
fn each_second_is_reported_and_nothing_twice() {
    let (server, trust) = reference();
    for load in [LoadSpec::default(), rate(Rate::Constant(50.0))] {
        let is_open = load.rate.is_some();
        let spec = timed(&server, BackendChoice::Rustls, 2_600, load);
        let mut notes = Notes::default();
        let spec = RunSpec { threads: 2, connections: 4, ..spec };
        let record = observed(spec, trust.clone(), &mut notes);
        assert!((1..=2).contains(&notes.seconds.len()), "{:?}", notes.seconds);
        assert!(notes.seconds.is_sorted_by_key(|second| second.completed));
        let last = notes.seconds.last().unwrap();
        assert!(0 < last.completed && last.completed <= record.outcomes.completed);
        let service: u64 = notes.seconds.iter().flat_map(|s| s.service).map(|times| times.n).sum();
        assert_eq!(service, last.completed);
        assert!(notes.seconds.iter().all(|second| second.in_flight <= 4));
        assert!(notes.seconds.iter().all(|second| second.response.is_some() == is_open));
        assert_totals(&notes, &record);
    }
}

/// The totals of each second balance and never decrease, and the last ones are those of the record.
fn assert_totals(notes: &Notes, record: &RunRecord) {
    let last = notes.totals.as_ref().unwrap();
    let all: Vec<&Totals> =
        notes.seconds.iter().map(|second| &second.totals).chain([last]).collect();
    for totals in &all {
        let failed: u64 = totals.failed.values().sum();
        let ended = totals.completed + failed + totals.unexpected + totals.abandoned;
        assert_eq!(totals.arrivals, ended + totals.in_flight, "{totals:?}");
        let times = &totals.times;
        assert_eq!(
            (times.handshake.count(), times.service.count()),
            (totals.completed, totals.completed)
        );
        assert_eq!(times.exchange.count(), totals.requests);
    }
    assert!(all.is_sorted_by_key(|totals| (totals.arrivals, totals.completed, totals.requests)));
    assert!(all.is_sorted_by_key(|totals| totals.due));
    let outcomes = &record.outcomes;
    assert_eq!((last.arrivals, last.completed), (outcomes.attempts, outcomes.completed));
    assert_eq!((&last.failed, last.requests), (&outcomes.failed, record.requests));
    assert_eq!(last.unexpected, outcomes.unexpected.values().sum::<u64>());
    assert_eq!(last.abandoned, outcomes.abandoned);
    assert_eq!((last.in_flight, last.cpu), (outcomes.in_flight_at_stop, record.cpu));
    assert_eq!(last.due, record.open_loop.map(|open| open.arrivals));
    for (name, buckets) in [
        ("handshake", last.times.handshake),
        ("service", last.times.service),
        ("response", last.times.response),
        ("exchange", last.times.exchange),
    ] {
        let summary = record.summaries.get(name).copied().unwrap_or_default();
        assert_eq!(buckets.count(), summary.n, "{name}");
        // Histograms have three digits.
        let mean_ms = buckets.sum as f64 / 1e6 / summary.n.max(1) as f64;
        assert!((mean_ms - summary.mean_ms).abs() <= 1e-3 * summary.mean_ms, "{name} {summary:?}");
    }
}

#[test]
fn totals_have_the_abandoned_connections() {
    let (server, trust) = pausing(SECOND);
    let load = LoadSpec { patience_ms: Some(100), retries: 1, ..rate(Rate::Constant(40.0)) };
    let mut notes = Notes::default();
    let record = observed(timed(&server, BackendChoice::Rustls, 1_200, load), trust, &mut notes);
    assert_totals(&notes, &record);
    assert!(notes.seconds.iter().all(|second| second.failed == 0));
    assert!(notes.totals.unwrap().abandoned > 0);
}

#[test]
fn totals_have_the_failures_by_class() {
    let authority = Authority::new("totals");
    let identities = vec![authority.issue(Key::P256)];
    let settings = Settings { identities, body_length: 100, ..Settings::default() };
    for backend in BACKENDS {
        // The preflight's connection gets a response; all others are closed after their request.
        let closing = secured(&settings, vec![Receive, Fin]);
        let peer = Peer::start(&settings, 1, closing);
        let spec = RunSpec { stop: Stop::DurationMs(1_300), ..spec(peer.address(), backend) };
        let mut notes = Notes::default();
        let record =
            observed(RunSpec { threads: 2, connections: 3, ..spec }, trust(&authority), &mut notes);
        assert_totals(&notes, &record);
        let failed = &notes.totals.as_ref().unwrap().failed;
        assert!(failed.keys().eq(["closed_first_byte"]), "{failed:?}");
        assert!(notes.seconds.iter().all(|second| second.totals.failed["closed_first_byte"] > 0));
    }
}

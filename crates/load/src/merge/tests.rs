//! Merged records equal the record of one generator with all the samples.

mod hosts;
mod whole;
mod window;

use proptest::prelude::*;
use tlslab_contract::record::{
    Preflight, RECORD_SCHEMA, StartTime, Supply, Verdict, VerdictCode, busiest, places,
};
use tlslab_contract::spec::{Resume, RunSpec};
use tlslab_tls::{EarlyData, Facts, HandshakeKind, KeyExchangeGroup, Negotiated};
use tlslab_wire::names::{CipherSuite, TlsVersion};
use tlslab_wire::outcome::{Failure, Outcome};
use tlslab_wire::reason::{OTHER, REASONS_LIMIT, Reason};

use super::*;
use crate::recorder::{Answer, Milestones, Recorder};

/// The processor time of each worker.
const CPU: CpuTime = CpuTime { user_us: 5, system_us: 6 };

/// Merges records without findings about their generators.
fn merge(parts: &[Named]) -> Result<RunRecord, MergeError> {
    super::merge(parts, &HostFindings::default())
}

/// The outcome and times of one connection.
#[derive(Debug, Clone)]
struct Sample {
    times: [u64; 4],
    group: u16,
    is_minimal: bool,
    is_resumed: bool,
    round_trips: u8,
    fails: Option<u8>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let one = (
        prop::array::uniform4(1_u64..10_000_000_000),
        23_u16..26,
        any::<bool>(),
        any::<bool>(),
        1_u8..6,
        // Fewer different reasons than the limit of a record.
        prop::option::weighted(0.2, 0_u8..20),
    );
    one.prop_map(|(times, group, is_minimal, is_resumed, round_trips, fails)| Sample {
        times,
        group,
        is_minimal,
        is_resumed,
        round_trips,
        fails,
    })
}

fn negotiated(sample: &Sample) -> Negotiated {
    Negotiated {
        version: TlsVersion::Tls13,
        suite: CipherSuite::from_code_point(0x1301),
        group: Some(KeyExchangeGroup::Named(sample.group)),
        signature_scheme: None,
        kind: if sample.is_resumed { HandshakeKind::Resumed } else { HandshakeKind::Full },
        hello_retry_request: false,
        alpn: None,
        client_authenticated: false,
        resumed_by: Resume::None,
        early_data: EarlyData::None,
        ocsp_response_bytes: 0,
        authenticated: true,
        minimal_client: sample.is_minimal,
    }
}

/// Notes a connection. In an open loop, `delay` is its start delay.
fn note(recorder: &mut Recorder, sample: &Sample, delay: Option<u64>) {
    recorder.started(delay);
    if let Some(number) = sample.fails {
        let outcome = Outcome::Failed(Failure::Reset);
        let reason = Reason::named(format!("reason {number}"));
        recorder.troubled(outcome, None);
        recorder.reasons.note(outcome, &reason, u16::from(number));
        recorder.pages.failed(u16::from(number % 2));
        return;
    }
    let [connect, handshake, first, rest] = sample.times;
    let started = 1 + delay.unwrap_or(0);
    let at = Milestones {
        intended: u64::from(delay.is_some()),
        started,
        established: started + connect,
        secured: started + connect + handshake,
        requested: started + connect + handshake,
        answered: started + connect + handshake + first,
        first_answered: started + connect + handshake + first,
    };
    let now = at.answered + rest;
    let (page, status) = (u16::from(sample.is_minimal), 200 + u16::from(sample.is_resumed));
    let answer = Answer { page, status, head_bytes: 100, body_bytes: 1000 };
    recorder.request(&at, now, sample.is_minimal, answer);
    let bytes = Bytes {
        handshake_sent: 400,
        handshake_received: 900,
        sent: 500,
        received: 2000,
        ..Bytes::default()
    };
    let facts = negotiated(sample);
    recorder.completed(&at, now, Some(facts), &bytes);
    recorder.round_trips.note(facts.kind, sample.round_trips);
}

fn spec() -> RunSpec {
    serde_json::from_str(r#"{"url":"https://localhost/","stop":{"duration_ms":1000}}"#).unwrap()
}

/// The record of a generator with these samples, in an open loop.
fn record(samples: &[Sample]) -> RunRecord {
    let mut recorder = Recorder::new(1, true);
    samples.iter().for_each(|sample| note(&mut recorder, sample, Some(1)));
    let intervals = vec![slice(0.0, 2), slice(0.5, 3)];
    RunRecord { intervals, ..concluded(spec(), vec![recorder]) }
}

/// The record of a generator from the notes of its workers, at least one.
fn concluded(spec: RunSpec, workers: Vec<Recorder>) -> RunRecord {
    let usage = WorkerUsage { cpu: CPU, seconds: 1.0, ..WorkerUsage::default() };
    let usage = vec![usage; workers.len()];
    let mut cpu = CpuTime::default();
    usage.iter().for_each(|worker| cpu += worker.cpu);
    let notes = workers.into_iter().reduce(|mut mine, theirs| {
        mine.merge(&theirs);
        mine
    });
    let notes = notes.unwrap().conclude(&spec);
    let flight = notes.flight.times();
    RunRecord {
        schema: RECORD_SCHEMA.to_owned(),
        spec,
        backend: "rustls".to_owned(),
        versions: BTreeMap::new(),
        environment: Environment::default(),
        address: "127.0.0.1:1".to_owned(),
        preflight: Preflight {
            facts: Facts::from(negotiated(&Sample {
                times: [1; 4],
                group: 29,
                is_minimal: false,
                is_resumed: false,
                round_trips: 3,
                fails: None,
            })),
            certificate: None,
            status: None,
            body_bytes: None,
            body_sha256: None,
            server: None,
            streams: None,
            dh_prime: None,
            sessions: None,
        },
        outcomes: notes.outcomes,
        facts: notes.facts,
        server_names: notes.server_names,
        statuses: notes.statuses,
        urls: notes.urls,
        client_certificate: None,
        kinds: notes.kinds,
        authenticated: notes.authenticated,
        minimal_client: notes.minimal_client,
        confirmed_by: notes.confirmed_by,
        round_trips: notes.round_trips,
        requests: notes.requests,
        seconds: 1.0,
        cpu,
        busy: busiest(&places(&usage, &Supply::default())),
        workers: usage,
        supply: Supply::default(),
        bytes: notes.bytes,
        histograms: notes.histograms,
        summaries: notes.summaries,
        clients: notes.clients,
        intervals: notes.slices,
        open_loop: notes.open_loop,
        steps: notes.steps,
        concurrency: flight.within_s,
        flight: Some(flight),
        slow_connects: SlowConnects { count: notes.slow_connects, ..SlowConnects::default() },
        verdicts: vec![Verdict { code: VerdictCode::Valid, message: "valid".to_owned() }],
        notes: vec!["common".to_owned()],
        client_fallback: None,
        started: Some(StartTime { unix_s: 1000.0, monotonic_s: 1.0 }),
        hosts: Vec::new(),
        common: None,
    }
}

fn slice(at_s: f64, completed: u64) -> Interval {
    Interval { at_s, seconds: 0.5, completed, failed: 1, cpu: CpuTime::default() }
}

/// The records with names. Each starts a microsecond after the one before it.
fn named(records: Vec<RunRecord>) -> Vec<Named> {
    let named = records.into_iter().enumerate();
    named
        .map(|(number, mut record)| {
            let unix_s = 1000.0 + 1e-6 * number as f64;
            record.started = Some(StartTime { unix_s, monotonic_s: 1.0 });
            Named { name: format!("host-{number}"), record }
        })
        .collect()
}

#[test]
fn steps_that_some_generators_did_not_reach_are_kept() {
    let step = |at_s: f64, started: u64| StepResult {
        connections: 10,
        rate: Some(100.0),
        at_s,
        seconds: 1.0,
        started,
        completed: started,
        failed: BTreeMap::new(),
        unexpected: BTreeMap::new(),
        abandoned: 0,
        requests: started,
        cpu: CpuTime::default(),
        summaries: BTreeMap::new(),
    };
    let mut parts = named(vec![record(&[]), record(&[])]);
    parts[0].record.steps = vec![step(0.0, 100)];
    parts[1].record.steps = vec![step(0.0, 90), step(1.0, 80)];
    let there = merge(&parts).unwrap().steps;
    parts.swap(0, 1);
    let back = merge(&parts).unwrap().steps;
    for steps in [there, back] {
        let started: Vec<_> = steps.iter().map(|step| (step.started, step.connections)).collect();
        assert_eq!(started, [(190, 20), (80, 10)]);
    }
}

#[test]
fn shares_are_added_and_anything_else_must_be_the_same() {
    let mut parts = named(vec![record(&[]), record(&[])]);
    (parts[0].record.spec.connections, parts[1].record.spec.connections) = (3, 4);
    parts[1].record.spec.cpus = vec![1];
    parts[1].record.spec.load.seed = 9;
    (parts[0].record.spec.portion, parts[1].record.spec.portion) = (Some(0.4), Some(0.6));
    let merged = merge(&parts).unwrap();
    assert_eq!((merged.spec.connections, merged.spec.threads), (7, 2));
    assert_eq!(merged.spec.portion, None);
    parts[1].record.spec.tls.groups = vec!["P-256".parse().unwrap()];
    let error = merge(&parts).unwrap_err().to_string();
    assert!(error.contains("'host-1' differs from 'host-0' in spec.tls.groups"), "{error}");
}

#[test]
fn what_is_no_record_of_one_generator_is_refused() {
    assert_eq!(merge(&[]), Err(MergeError::Nothing));
    let mut parts = named(vec![record(&[]), record(&[])]);
    parts[1].name = "host-0".to_owned();
    assert_eq!(merge(&parts), Err(MergeError::SameName("host-0".to_owned())));
    parts[1].name = "other".to_owned();
    let whole = merge(&parts).unwrap();
    let twice = [Named { name: "whole".to_owned(), record: whole }];
    assert_eq!(merge(&twice), Err(MergeError::Merged("whole".to_owned())));
    parts[1].record.outcomes.attempts = 1;
    assert_eq!(merge(&parts), Err(MergeError::Unbalanced("other".to_owned())));
    parts[1].record.outcomes.attempts = 0;
    parts[1].record.histograms.insert("handshake".to_owned(), "AAAA".to_owned());
    let histogram = "handshake".to_owned();
    assert_eq!(merge(&parts), Err(MergeError::Histogram { name: "other".to_owned(), histogram }));
}

#[test]
fn one_generator_s_objection_is_the_whole_s() {
    let mut parts = named(vec![record(&[]), record(&[]), record(&[])]);
    assert_eq!(merge(&parts).unwrap().verdicts[0].code, VerdictCode::Valid);
    let alone = merge(&parts[..1]).unwrap();
    assert_eq!(alone.verdicts[0].message, "valid: the run of the one generator is");
    let message = "the generator was 99 % busy".to_owned();
    parts[1].record.verdicts = vec![Verdict { code: VerdictCode::ClientSaturated, message }];
    parts[2].record.notes.push("a note of its own".to_owned());
    let merged = merge(&parts).unwrap();
    let words = "1 of 3 generators: host-1: the generator was 99 % busy";
    assert_eq!(merged.verdicts.len(), 1);
    assert_eq!(merged.verdicts[0].message, words);
    assert_eq!(merged.notes, ["common", "host-2: a note of its own"]);
}

#[test]
fn one_record_under_two_names_is_no_second_generator() {
    let mut parts = named(vec![record(&[]), record(&[])]);
    parts[1].record.started = parts[0].record.started;
    let (first, name) = ("host-0".to_owned(), "host-1".to_owned());
    assert_eq!(merge(&parts), Err(MergeError::Same { first, name }));
}

#[test]
fn reasons_stay_bounded_and_add_up_to_their_class() {
    let many = |from: u8| -> Vec<Sample> {
        let times = [1; 4];
        let failed = |number| Sample {
            times,
            group: 29,
            is_minimal: true,
            is_resumed: false,
            round_trips: 3,
            fails: Some(number),
        };
        (from..from + 30).map(failed).collect()
    };
    let merged = merge(&named(vec![record(&many(0)), record(&many(30))])).unwrap();
    assert_eq!(merged.outcomes.failed["reset"], 60);
    assert!(merged.outcomes.balanced());
    assert!(merged.outcomes.reasons.len() <= REASONS_LIMIT + 1);
    assert_eq!(merged.outcomes.reasons.last().unwrap().reason, OTHER);
}

#[test]
fn a_thousand_records_are_merged() {
    let sample = Sample {
        times: [1_000, 2_000, 3_000, 4_000],
        group: 29,
        is_minimal: true,
        is_resumed: false,
        round_trips: 3,
        fails: None,
    };
    let one = record(&[sample]);
    let parts = named(vec![one; 1000]);
    let merged = merge(&parts).unwrap();
    assert_eq!((merged.outcomes.completed, merged.hosts.len()), (1000, 1000));
    assert_eq!(merged.summaries["handshake"].n, 1000);
}

//! Complete runs of the engine, and assertions about every record.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tlslab_contract::record::{
    CountedFacts, CountedName, RoundTrips, RunRecord, StepResult, Users, VerdictCode, of_no_client,
};
use tlslab_contract::spec::{
    Authenticate, BackendChoice, CheckedSpec, ClientChoice, Deadlines, KeyShare, RunSpec, Stop,
    TlsSpec,
};
use tlslab_load::check::{Checked, check};
use tlslab_load::error::RunError;
use tlslab_load::run::run;
use tlslab_load::watch::{Observer, Progress};
use tlslab_testkit::certificates::Authority;
use tlslab_tls::TrustAnchors;
use tlslab_wire::names::{Group, TlsVersion};

/// Both back ends.
pub const BACKENDS: [BackendChoice; 2] = [BackendChoice::Rustls, BackendChoice::Openssl];

/// How much longer than its deadlines allow a run may take.
pub const SLACK: Duration = Duration::from_secs(1);

/// The deadline of each step for peers that are slow on purpose, in milliseconds.
pub const STEP_MS: u32 = 300;

/// A specification of four connections with one request each to this address, by this back end's
/// library.
pub fn spec(address: SocketAddr, backend: BackendChoice) -> RunSpec {
    let json = format!(r#"{{"url":"https://{address}/bytes/4788","stop":{{"count":4}}}}"#);
    let mut spec: RunSpec = serde_json::from_str(&json).unwrap();
    spec.tls.backend = backend;
    spec.tls.client = ClientChoice::Library;
    spec
}

/// As [`spec`], with short deadlines and all four connections in flight.
pub fn impatient(address: SocketAddr, backend: BackendChoice) -> RunSpec {
    let step = STEP_MS;
    let deadlines =
        Deadlines { connect_ms: step, handshake_ms: step, first_byte_ms: step, body_ms: step };
    RunSpec { deadlines, connections: 4, ..spec(address, backend) }
}

/// The specification with TLS 1.3 and one group: the engine's minimal client makes all connections
/// except the first.
pub fn with_minimal_client(spec: RunSpec) -> RunSpec {
    let (versions, groups) = (vec![TlsVersion::Tls13], vec![Group::X25519]);
    RunSpec { tls: TlsSpec { versions, groups, client: ClientChoice::Auto, ..spec.tls }, ..spec }
}

/// As [`with_minimal_client`], with the settings of `--lean`: the first connection is verified, and
/// 1 in 128 after that.
pub fn lean(spec: RunSpec) -> RunSpec {
    let (authenticate, key_share) = (Authenticate::Sampled, KeyShare::Reused);
    let spec = with_minimal_client(spec);
    RunSpec { tls: TlsSpec { authenticate, key_share, ..spec.tls }, ..spec }
}

/// Trust in this authority.
pub fn trust(authority: &Authority) -> TrustAnchors {
    TrustAnchors::Certificates(vec![authority.certificate().to_vec()])
}

/// An observer that ignores all events.
pub struct Deaf;

impl Observer for Deaf {
    fn preflight(&mut self, _: &Checked) {}
    fn phase(&mut self, _: &'static str, _: u64) {}
    fn progress(&mut self, _: Progress) {}
}

/// Makes a run, and asserts its length and accounting. Returns the error if the run was not
/// possible.
pub fn try_run(spec: RunSpec, trust: TrustAnchors) -> Result<RunRecord, RunError> {
    let spec = spec.checked().unwrap();
    let checked = check(&spec, trust)?;
    let began = Instant::now();
    let record = run(&spec, &checked, &mut Deaf, &AtomicBool::new(false))?;
    let took = began.elapsed();
    assert!(took <= longest(&spec) + SLACK, "{took:?}");
    assert_accounting(&record);
    Ok(record)
}

/// Makes a run, which must be possible, and asserts what must be true of every record.
pub fn measured(spec: RunSpec, trust: TrustAnchors) -> RunRecord {
    try_run(spec, trust).unwrap()
}

/// The longest time of a run by its specification. After the warm-up, that is the duration or, with
/// a count, the deadlines of all steps of the consecutive connections in one slot.
fn longest(spec: &CheckedSpec) -> Duration {
    let spec = spec.spec();
    let d = &spec.deadlines;
    let steps = [d.connect_ms, d.handshake_ms, d.first_byte_ms, d.body_ms];
    let milliseconds = match spec.stop {
        Stop::DurationMs(ms) => ms,
        Stop::Count(count) => {
            let turns = count.div_ceil(u64::from(spec.connections));
            turns * u64::from(steps.iter().sum::<u32>())
        }
    };
    Duration::from_millis(spec.warmup_ms + milliseconds)
}

/// Asserts that the accounting balances, that facts count completed and unexpected connections, and
/// that histograms of connections count completed ones only.
pub fn assert_accounting(record: &RunRecord) {
    let outcomes = &record.outcomes;
    assert!(outcomes.balanced(), "{outcomes:?}");
    let unexpected: u64 = outcomes.unexpected.values().sum();
    let facts: u64 = record.facts.iter().map(|counted| counted.count).sum();
    assert_eq!(facts, outcomes.completed + unexpected);
    for name in ["connect", "established", "service"] {
        assert_eq!(record.summaries[name].n, outcomes.completed, "{name}");
    }
    let handshakes = if record.backend == "none" { 0 } else { outcomes.completed };
    assert_eq!(record.summaries["handshake"].n, handshakes);
    for name in ["first_byte", "exchange"] {
        assert_eq!(record.summaries[name].n, record.requests, "{name}");
    }
    assert_times(record);
    assert!(record.authenticated <= outcomes.completed);
    assert!(record.minimal_client <= outcomes.completed);
    assert_eq!(record.confirmed_by.total(), outcomes.completed);
    assert_eq!(record.round_trips.connections(), outcomes.completed);
    assert_round_trips(record);
    // The time in flight is accounted for, whatever the server did.
    let doubted = record.verdicts.iter().find(|said| said.code == VerdictCode::LittlesLaw);
    assert_eq!(doubted, None, "{:?}", record.flight);
    assert_clients(record);
    assert_names(record);
    assert_responses(record);
    assert_arrivals(record);
    assert_steps(record);
    let slices = record.intervals.iter();
    let (completed, failed) =
        slices.fold((0, 0), |sum, slice| (sum.0 + slice.completed, sum.1 + slice.failed));
    assert_eq!((completed, completed + failed), (outcomes.completed, outcomes.ended()));
}

/// Asserts that the responses by status are the requests and the failures by status, and that the
/// requests of several URLs add up.
fn assert_responses(record: &RunRecord) {
    let refused = record.outcomes.failed.get("http_status").unwrap_or(&0);
    assert_eq!(record.statuses.values().sum::<u64>(), record.requests + refused);
    let (paths, urls) = (&record.spec.http.paths, &record.urls);
    if paths.len() > 1 {
        assert!(urls.iter().map(|url| &url.path).eq(paths.iter().map(|path| &path.path)));
        assert_eq!(urls.iter().map(|url| url.requests).sum::<u64>(), record.requests);
        let failed: u64 = urls.iter().map(|url| url.failed).sum();
        assert!(*refused <= failed && failed <= record.outcomes.failures());
        assert!(urls.iter().all(|url| url.exchange.is_some_and(|times| times.n == url.requests)));
    } else {
        assert_eq!(*urls, []);
    }
}

/// Asserts that a part of a time is no longer than the whole. Histograms have three digits.
fn assert_times(record: &RunRecord) {
    let of = |name: &str| record.summaries[name];
    let wholes = [
        ("connect", "established"),
        ("handshake", "established"),
        ("established", "service"),
        ("first_byte", "exchange"),
    ];
    for (part, whole) in wholes {
        let (part_ms, whole_ms) = (of(part).max_ms, of(whole).max_ms);
        assert!(part_ms <= whole_ms * 1.002, "{part} {part_ms}, {whole} {whole_ms}");
        assert!(of(part).mean_ms <= of(whole).mean_ms * 1.002, "{part}, {whole}");
    }
}

/// Asserts that every connection took the round trips of its protocol: the handshake's are counted as
/// flights arrive, and here follow from the facts.
fn assert_round_trips(record: &RunRecord) {
    // Of unexpected connections, round trips are not counted. Early data may be a part of a request.
    let is_early = record.facts.iter().any(|counted| counted.facts.early_data == "accepted");
    if is_early || !record.outcomes.unexpected.is_empty() {
        return;
    }
    let mut expected = RoundTrips::default();
    for CountedFacts { facts, count } in &record.facts {
        // Without TLS: the TCP connect and the request.
        let is_plain = facts.tls == "none";
        let (is_tls13, is_full) = (facts.tls == "1.3", is_plain || facts.kind == "full");
        let handshake = if is_plain { 0 } else { 1 + u8::from(is_full && !is_tls13) };
        let ends_by_finished = record.spec.handshake_only && is_full && !is_tls13;
        let round_trips =
            1 + handshake + u8::from(facts.hello_retry_request) + u8::from(!ends_by_finished);
        let of_kind = if is_full { &mut expected.full } else { &mut expected.resumed };
        *of_kind.entry(round_trips.to_string()).or_default() += count;
    }
    assert_eq!(record.round_trips, expected);
}

/// Asserts that the times by client add up to those of all connections, and that they are separate
/// only if there are two clients.
fn assert_clients(record: &RunRecord) {
    let (minimal, completed) = (record.minimal_client, record.outcomes.completed);
    let both = minimal > 0 && minimal < completed;
    assert_eq!(record.clients.len(), if both { 2 } else { 0 });
    if both {
        assert_eq!(record.clients["minimal"].connections, minimal);
        assert_eq!(record.clients["library"].connections, completed - minimal);
        let apart = of_no_client(record.spec.load.patience_ms.is_some());
        for (name, whole) in record.summaries.iter().filter(|(name, _)| !apart.contains(&&***name))
        {
            let of = |client: &str| record.clients[client].summaries[name];
            let (library, minimal) = (of("library"), of("minimal"));
            assert_eq!(library.n + minimal.n, whole.n, "{name}");
            assert!(whole.max_ms == library.max_ms.max(minimal.max_ms), "{name}");
        }
        let carried = if 2 * minimal > completed { "minimal" } else { "library" };
        let (client, times) = record.load_client().unwrap();
        assert!(client == carried || 2 * minimal == completed, "{client}");
        assert_eq!(record.load_summary("service"), Some(times.summaries["service"]));
    }
}

/// Asserts that the accounting by server name adds up to the accounting of all.
fn assert_names(record: &RunRecord) {
    if record.server_names.is_empty() {
        return;
    }
    let outcomes = &record.outcomes;
    let total = |of: fn(&CountedName) -> u64| record.server_names.iter().map(of).sum::<u64>();
    assert_eq!(total(|name| name.completed), outcomes.completed);
    assert_eq!(total(|name| name.failed), outcomes.failed.values().sum::<u64>());
    assert_eq!(total(|name| name.unexpected), outcomes.unexpected.values().sum::<u64>());
}

/// Asserts for an open loop: arrivals = started + still waiting, and attempts = started + in flight
/// at the start.
fn assert_arrivals(record: &RunRecord) {
    let Some(open_loop) = &record.open_loop else {
        assert!(!record.summaries.contains_key("response"));
        return;
    };
    let users = open_loop.users.unwrap_or_default();
    let waited = open_loop.waiting_at_stop + users.left_waiting;
    assert_eq!(open_loop.arrivals, open_loop.started + waited, "{open_loop:?}");
    assert!(open_loop.blocked <= open_loop.arrivals, "{open_loop:?}");
    assert!(record.outcomes.attempts >= open_loop.started + users.retries);
    assert_eq!(record.summaries["start_delay"].n, open_loop.started);
    for name in ["response", "response_established"] {
        let n = record.outcomes.completed + users.gave_up;
        assert_eq!(record.summaries[name].n, n, "{name}");
    }
    if open_loop.users.is_some() {
        assert_users(record, users);
    }
    assert!(record.summaries["response"].mean_ms >= record.summaries["service"].mean_ms * 0.999);
}

/// Asserts for an open loop with patience that every user is accounted for once, and by which
/// connections.
fn assert_users(record: &RunRecord, users: Users) {
    let (outcomes, open_loop) = (&record.outcomes, record.open_loop.unwrap());
    assert!(users.balanced(), "{users:?}");
    let carried = outcomes.attempts - open_loop.started - users.retries;
    assert_eq!(users.arrived, carried + open_loop.arrivals, "{users:?}");
    assert_eq!(users.unfinished, outcomes.in_flight_at_stop + open_loop.waiting_at_stop);
    assert_eq!(users.answered(), outcomes.completed, "{users:?}");
    // Each retry follows a connection that was abandoned or failed, and did not lose its user.
    let ended = outcomes.abandoned + outcomes.troubled();
    let lost = users.gave_up - users.left_waiting + users.failed;
    assert_eq!(users.retries, ended - lost, "{users:?} {outcomes:?}");
    assert!(outcomes.in_flight_at_stop <= u64::from(record.spec.connections));
}

/// Asserts that the figures of the steps add up to those of the whole.
fn assert_steps(record: &RunRecord) {
    if record.steps.is_empty() {
        return;
    }
    let total = |of: fn(&StepResult) -> u64| record.steps.iter().map(of).sum::<u64>();
    assert_eq!(total(|step| step.completed), record.outcomes.completed);
    assert_eq!(total(|step| step.failed.values().sum()), record.outcomes.failures());
    assert_eq!(total(|step| step.abandoned), record.outcomes.abandoned);
    assert_eq!(total(|step| step.requests), record.requests);
    assert_eq!(total(|step| step.summaries["service"].n), record.outcomes.completed);
    let (attempts, started) = (record.outcomes.attempts, total(|step| step.started));
    assert!(started <= attempts && attempts - started <= u64::from(record.spec.connections));
}

/// The highest memory use of this process so far, in MiB (VmHWM).
pub fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

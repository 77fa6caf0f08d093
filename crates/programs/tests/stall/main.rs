//! A server that is frozen (SIGSTOP) for a second: what an open loop must show of it, and what a
//! closed one hides (coordinated omission). A program of its own: other tests would make it late.

#[path = "../programs/support/mod.rs"]
mod support;

use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;
use support::{Running, Temporary, record};

/// Connections a second, and how many of them: three seconds. What piles up in the stall is worked
/// off before the next one is due.
const RATE: f64 = 20.0;
const COUNT: usize = 60;

/// How far a percentile may be from what theory predicts, and a time of none from the stall.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_MS: f64 = 10.0;

/// Histograms keep three significant digits.
const RESOLUTION: f64 = 0.001;

/// How often a machine that was late itself is tried again.
const TRIES: usize = 3;

/// Stalls are measured one at a time: a second one would make the first one late.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// When the server stood still, in nanoseconds of CLOCK_MONOTONIC: each pair has the instants just
/// before and just after the change.
struct Stall {
    stopped: (u64, u64),
    continued: (u64, u64),
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    u64::try_from(time.tv_sec()).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap()
}

/// Whether all threads of a process stand still.
fn is_stopped(id: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("stat")).unwrap())
        .all(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')))
}

/// A load whose server is frozen for a second, half a second after the measurement began.
fn frozen(flags: &[&str]) -> (Value, Stall, Vec<Row>) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let serve = env!("CARGO_BIN_EXE_tlslab-serve");
    let mut server = Running::start(&mut Command::new(serve));
    let ready: Value = serde_json::from_str(&server.first_line()).unwrap();
    let target = format!("https://{}/bytes/100", ready["address"].as_str().unwrap());
    let trace = Temporary::new(b"");
    let all = [&["--insecure", "--lean", "--trace", trace.path()], flags, &[&target]].concat();
    let mut running = Running::load(&all);
    running.until_measuring();
    std::thread::sleep(Duration::from_millis(500));
    let before = now();
    server.signal(Signal::SIGSTOP);
    while !is_stopped(server.id()) {
        std::thread::yield_now();
    }
    let stopped = (before, now());
    std::thread::sleep(Duration::from_secs(1));
    let before = now();
    server.signal(Signal::SIGCONT);
    let continued = (before, now());
    let said = running.said();
    let rows = fs::read_to_string(trace.path()).unwrap().lines().skip(1).map(Row::new).collect();
    (record(&said), Stall { stopped, continued }, rows)
}

/// A line of the trace.
struct Row {
    intended: u64,
    started: u64,
    ended: u64,
}

impl Row {
    fn new(line: &str) -> Self {
        let fields: Vec<&str> = line.split(',').collect();
        let instant = |column: usize| fields[column].parse().unwrap_or(0);
        Self { intended: instant(2), started: instant(3), ended: instant(7) }
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// From when on theory has a connection be served: one that is due before the server goes on, and
/// does not end before that, when the server goes on; any other at once.
fn served(stall: &Stall, row: &Row) -> u64 {
    let met = row.intended < stall.continued.1 && row.ended >= stall.continued.0;
    if met { row.intended.max(stall.continued.0) } else { row.intended }
}

/// A percentile of the response time: what theory predicts, what was found, and by how much the
/// machine itself was late, in milliseconds.
#[derive(Debug)]
struct Percentile {
    name: &'static str,
    theory: f64,
    found: f64,
    late: f64,
}

impl Percentile {
    /// The connections that wait as long as theory says, or less, end so much later than that: the
    /// start was late, or the server took its time with what had piled up. The trace shows it.
    fn new(name: &'static str, share: f64, record: &Value, waits: &[(f64, f64)]) -> Self {
        let rank = (share * waits.len() as f64).ceil() as usize;
        let theory = waits[rank - 1].0;
        let ended = waits[..rank].iter().map(|(_, response)| *response).fold(0.0, f64::max);
        let found = record["summaries"]["response"][name].as_f64().unwrap();
        Self { name, theory, found, late: (ended - theory).max(0.0) }
    }

    fn tolerance(&self) -> f64 {
        if self.theory > 0.0 { TOLERANCE * self.theory } else { TOLERANCE_MS }
    }

    /// The latest that a histogram may say, by what the trace shows of the machine's lateness.
    fn traced(&self) -> f64 {
        (self.theory + self.late) * (1.0 + RESOLUTION)
    }

    /// Whether the machine was so late that one per cent says nothing of the generator.
    fn is_late(&self) -> bool {
        self.traced() > self.theory + self.tolerance()
    }

    /// No response is shorter than theory says, on any machine; on one that is not late itself none
    /// is longer. Lateness is allowed for by what the trace shows of it, and by no more.
    fn assert(&self) {
        let latest = self.traced().max(self.theory + self.tolerance());
        let range = self.theory - self.tolerance()..=latest;
        let name = self.name;
        assert!(range.contains(&self.found), "{name} is not within {range:?} ms: {self:?}");
    }
}

/// The percentiles of a run that met theory in all that does not depend on how fast the machine is.
fn percentiles(record: &Value, stall: &Stall, rows: &[Row]) -> Vec<Percentile> {
    let outcomes = &record["outcomes"];
    assert_eq!(outcomes["completed"], COUNT, "{outcomes}");
    assert_eq!(rows.len(), COUNT);
    let certain = stall.stopped.1..stall.continued.0;
    let frozen = rows.iter().filter(|row| certain.contains(&row.intended));
    assert!(frozen.clone().all(|row| row.ended >= stall.continued.0) && frozen.count() > 0);
    let wait = |row: &Row| ms(served(stall, row) - row.intended);
    let mut waits: Vec<_> =
        rows.iter().map(|row| (wait(row), ms(row.ended - row.intended))).collect();
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The stall's own share of all arrivals, which are evenly spaced.
    let long = waits.iter().filter(|(wait, _)| *wait >= 500.0).count() as f64;
    assert!(long >= RATE * 0.5 - 1.0, "{long} waited for half a second");
    [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99)]
        .map(|(name, share)| Percentile::new(name, share, record, &waits))
        .into()
}

/// The percentiles of the response time are those that theory predicts, within one per cent; a run
/// in which the machine was late itself is made again, a few times.
fn as_theory_predicts(connections: &str) -> Value {
    let (rate, count) = (RATE.to_string(), COUNT.to_string());
    let mut tries = 0;
    loop {
        let (record, stall, rows) = frozen(&["--rate", &rate, "-n", &count, "-c", connections]);
        let found = percentiles(&record, &stall, &rows);
        tries += 1;
        if tries == TRIES || !found.iter().any(Percentile::is_late) {
            found.iter().for_each(Percentile::assert);
            return record;
        }
    }
}

#[test]
fn an_open_loop_shows_a_frozen_server_as_theory_predicts() {
    let record = as_theory_predicts(&COUNT.to_string());
    assert_eq!(record["open_loop"]["blocked"], 0);
}

#[test]
fn arrivals_that_were_blocked_by_it_have_the_same_response_times() {
    let record = as_theory_predicts("4");
    let open_loop = &record["open_loop"];
    // Four of some twenty found a slot.
    assert!(open_loop["blocked"].as_f64().unwrap() >= RATE * 0.7, "{open_loop}");
    let service = &record["summaries"]["service"];
    let response = &record["summaries"]["response"];
    // Theory for its three seconds: a sixth of all arrivals waited for half a second and more.
    assert!(response["p90_ms"].as_f64().unwrap() >= 500.0, "{response}");
    assert!(service["p90_ms"].as_f64().unwrap() < 500.0, "{service}");
}

#[test]
fn a_closed_loop_hides_it_in_a_handful_of_samples() {
    let (record, stall, rows) = frozen(&["-c", "4", "-d", "2500ms"]);
    let service = &record["summaries"]["service"];
    assert!(service["max_ms"].as_f64().unwrap() >= 1_000.0 - TOLERANCE_MS, "{service}");
    // Ten of the open loop's arrivals wait for half a second; here four can, as many as
    // are in flight, however many there are in all.
    let ended = rows.iter().filter(|row| row.ended > 0);
    let long = ended.filter(|row| ms(row.ended - row.started) >= 500.0).count();
    assert!((1..=4).contains(&long), "{long}");
    assert!(stall.stopped.1 < stall.continued.0);
}

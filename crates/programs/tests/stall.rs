//! A server that is frozen (SIGSTOP) for a second: what an open loop must show of it, and what a
//! closed one hides (coordinated omission).

mod support;

use std::fs;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;
use support::{Running, Temporary, record};

/// Connections a second, and how many of them.
const RATE: f64 = 40.0;
const COUNT: usize = 120;

/// A hundredth of the stall.
const TOLERANCE_MS: f64 = 10.0;

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

/// The percentiles of the response time against theory. What a response takes beside the wait is not
/// the stall's: the longest that any took is found in the trace, and allowed for.
fn assert_theory(record: &Value, stall: &Stall, rows: &[Row]) {
    let outcomes = &record["outcomes"];
    assert_eq!(outcomes["completed"], COUNT, "{outcomes}");
    assert_eq!(rows.len(), COUNT);
    let certain = stall.stopped.1..stall.continued.0;
    let frozen = rows.iter().filter(|row| certain.contains(&row.intended));
    assert!(frozen.clone().all(|row| row.ended >= stall.continued.0) && frozen.count() > 0);
    let mut waits: Vec<f64> =
        rows.iter().map(|row| ms(served(stall, row) - row.intended)).collect();
    waits.sort_by(f64::total_cmp);
    let beside = rows.iter().map(|row| ms(row.ended - served(stall, row))).fold(0.0, f64::max);
    let response = &record["summaries"]["response"];
    for (name, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
        let rank = (share * COUNT as f64).ceil() as usize;
        let (theory, found) = (waits[rank - 1], response[name].as_f64().unwrap());
        let range = theory - TOLERANCE_MS..=theory + beside + TOLERANCE_MS;
        assert!(range.contains(&found), "{name}: {found} is not in {range:?}");
    }
    // The stall's own share of all arrivals: each second 40, evenly spaced.
    let long = waits.iter().filter(|wait| **wait >= 500.0).count() as f64;
    assert!(long >= RATE * 0.5 - 1.0, "{long} waited for half a second");
}

#[test]
fn an_open_loop_shows_a_frozen_server_as_theory_predicts() {
    let rate = RATE.to_string();
    let count = COUNT.to_string();
    let (record, stall, rows) = frozen(&["--rate", &rate, "-n", &count, "-c", "120"]);
    assert_theory(&record, &stall, &rows);
    assert_eq!(record["open_loop"]["blocked"], 0);
}

#[test]
fn arrivals_that_were_blocked_by_it_have_the_same_response_times() {
    let rate = RATE.to_string();
    let count = COUNT.to_string();
    let (record, stall, rows) = frozen(&["--rate", &rate, "-n", &count, "-c", "4"]);
    assert_theory(&record, &stall, &rows);
    let open_loop = &record["open_loop"];
    // Four of some forty found a slot.
    assert!(open_loop["blocked"].as_f64().unwrap() >= RATE * 0.8, "{open_loop}");
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
    // Twenty and more of the open loop's arrivals wait for half a second; here four can, as many as
    // are in flight, however many there are in all.
    let ended = rows.iter().filter(|row| row.ended > 0);
    let long = ended.filter(|row| ms(row.ended - row.started) >= 500.0).count();
    assert!((1..=4).contains(&long), "{long}");
    assert!(stall.stopped.1 < stall.continued.0);
}

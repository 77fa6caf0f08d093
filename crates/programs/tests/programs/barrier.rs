//! `tlslab-load --barrier`: a run that starts at a given instant.

use std::process::Stdio;

use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::support::{Running, Said, exit_code, faults, load, record, run, server};

/// CLOCK_MONOTONIC in nanoseconds.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    u64::try_from(now.tv_sec() * 1_000_000_000 + now.tv_nsec()).unwrap()
}

/// A load of 300 ms that has read its specification and waits for the start.
fn ready(url: &str) -> Running {
    let mut command = load();
    command.args(["--json", "--events", "--barrier", "--spec", "-"]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    let spec = json!({
        "url": url,
        "connections": 4,
        "threads": 2,
        "warmup_ms": 100,
        "stop": { "duration_ms": 300 },
        "tls": { "trust": "anyone" },
    });
    running.give(&spec.to_string());
    running.until(r#""event":"ready""#);
    running
}

/// The output of the program after this line of input.
fn started(url: &str, line: &str) -> Said {
    let mut running = ready(url);
    running.give(line);
    running.said()
}

#[test]
fn load_begins_at_the_agreed_instant_of_the_agreed_clock() {
    let (_server, url) = server("127.0.0.1:0");
    let mut running = ready(&url);
    let event: Value = serde_json::from_str(running.until("ready")).unwrap();
    let now = now_ns();
    assert!(event["now_ns"].as_u64().unwrap() <= now);
    let at = now + 200_000_000;
    running.give(&json!({ "start_at_ns": at, "unix_s": 1000.5 }).to_string());
    let said = running.said();
    let record = record(&said);
    assert_eq!((said.code, faults(&record)), (exit_code(&record), vec![]), "{said:?}");
    let started = |name: &str| record["started"][name].as_f64().unwrap();
    // The measurement begins after the warm-up.
    let planned = (at + 100_000_000) as f64 / 1e9;
    let late = started("monotonic_s") - planned;
    assert!(late >= 0.0, "{late}");
    assert!((started("unix_s") - 1000.6 - late).abs() < 1e-6, "{record}");
    assert!(said.stderr.contains(r#""event":"alive""#));
    for event in said.stderr.lines() {
        let event: Value = serde_json::from_str(event).unwrap();
        let begins = event["phase"].is_string();
        assert!(!begins || event["at_ns"].as_u64().unwrap() >= at, "load before the start");
    }
}

#[test]
fn without_a_start_there_is_no_load() {
    let (_server, url) = server("127.0.0.1:0");
    let refused = |said: &Said, class: &str, words: &str| {
        assert_eq!(said.code, Some(3), "{said:?}");
        assert_eq!(said.json()["class"], class, "{said:?}");
        assert!(said.stderr.contains(words), "{said:?}");
        assert!(!said.stderr.contains(r#""event":"phase""#), "{said:?}");
    };
    let mut silent = ready(&url);
    silent.give_no_more();
    refused(&silent.said(), "no_start", "standard input ended before the line with the start");
    let passed = json!({ "start_at_ns": now_ns() - 5_000_000, "unix_s": 1000.0 });
    refused(&started(&url, &passed.to_string()), "late_start", "had passed");
    let far = json!({ "start_at_ns": u64::MAX, "unix_s": 1000.0 });
    refused(&started(&url, &far.to_string()), "no_start", "more than 60 s from now");
    refused(&started(&url, "begin"), "no_start", "the line with the start");
    let interrupted = ready(&url);
    interrupted.signal(Signal::SIGINT);
    refused(&interrupted.said(), "no_start", "interrupted before the start");
}

#[test]
fn what_is_refused_is_refused_before_the_run_is_ready() {
    let mut command = load();
    command.args(["--json", "--events", "--barrier", "--spec", "-"]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.give(r#"{"url":"https://192.0.2.7/","stop":{"duration_ms":300}}"#);
    let said = running.said();
    assert_eq!((said.code, &said.json()["class"]), (Some(3), &json!("target_refused")));
    assert!(!said.stderr.contains("ready"));
    let alone = run(&["--barrier", "https://127.0.0.1:1/"]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.stderr.contains("--json"), "{alone:?}");
}

#[test]
fn options_are_printed_as_the_specification_that_they_stand_for() {
    let (_server, url) = server("127.0.0.1:0");
    let said = run(&["--print-spec", "-c", "3", "-n", "9", "--insecure", &url]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let spec = said.json();
    assert_eq!((&spec["connections"], &spec["stop"]["count"]), (&json!(3), &json!(9)));
    let mut command = load();
    let mut again = Running::start(command.args(["--json", "--spec", "-"]).stdin(Stdio::piped()));
    again.give(&spec.to_string());
    again.give_no_more();
    let record = record(&again.said());
    assert_eq!(record["spec"], spec);
    assert_eq!(faults(&record), [""; 0]);
    let wrong = run(&["--print-spec", "--rate", "0", &url]);
    assert_eq!(wrong.code, Some(2));
}

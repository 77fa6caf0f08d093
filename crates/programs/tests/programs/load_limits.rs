//! `tlslab-load` if the operating system grants less than a run needs.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Running, faults, load, record, run, url, verdicts};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, bare, late};
use tlslab_testkit::tls_server::Settings;

fn settings() -> Settings {
    Settings {
        identities: vec![Authority::new("tlslab test").issue(Key::P256)],
        body_length: 100,
        ..Settings::default()
    }
}

fn server() -> Peer {
    Peer::honest(&settings())
}

/// The load generator under a file limit, as set by the shell's `ulimit`.
fn limited(ulimit: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {ulimit} && exec \"$@\""), "sh"]);
    shell.arg(load().get_program());
    shell
}

#[test]
fn a_file_limit_below_the_concurrency_is_found_before_the_run() {
    let peer = server();
    let flags = ["--json", "--insecure", "-c", "100", "-n", "200", &url(peer.address())];
    let said = Running::start(limited("-n 64").args(flags)).said();
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.json()["class"], "files_exhausted");
    assert!(said.stderr.contains("need 117 open files, and only 64 are allowed"), "{said:?}");
    assert!(said.stderr.contains("ulimit -n"), "{said:?}");
    assert_eq!(peer.accepted(), 0);
}

const KEPT_OPEN: [&str; 9] = [
    "--json",
    "--insecure",
    "-c",
    "8",
    "-d",
    "300ms",
    "--requests-per-connection",
    "unlimited",
    "--open-within",
];

#[test]
fn a_measurement_waits_until_all_connections_are_open() {
    const PAUSE: Duration = Duration::from_millis(700);
    let peer = Peer::start(&settings(), 1, late(&settings(), PAUSE));
    let start = Instant::now();
    let said = run(&[&KEPT_OPEN[..], &["20s", &url(peer.address())]].concat());
    let passed = start.elapsed();
    let record = record(&said);
    assert!(PAUSE < passed && passed < Duration::from_secs(10), "{passed:?}");
    assert_eq!(record["outcomes"]["attempts"], 8, "no connection is begun in it");
    let slices = record["intervals"].as_array().unwrap();
    assert!(!slices.is_empty());
    assert!(record["requests"].as_u64().unwrap() > 0);
    assert_eq!(faults(&record), [""; 0]);
}

#[test]
fn connections_that_do_not_open_in_time_fail_the_run() {
    // The preflights of both clients, and half of the connections.
    let peer = Peer::start(&settings(), 2 + 4, bare(vec![Act::Wait]));
    let start = Instant::now();
    let said = run(&[&KEPT_OPEN[..], &["400ms", &url(peer.address())]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.json()["class"], "not_open");
    assert!(said.stderr.contains("4 of 8 connections were open after 400 ms"), "{said:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "the drain is bounded");
}

#[test]
fn real_time_needs_the_right_to_it() {
    let peer = server();
    // Without root there is no such right from the start.
    let mut without = if nix::unistd::geteuid().is_root() {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--bounding-set", "-sys_nice", "--"]).arg(load().get_program());
        setpriv
    } else {
        load()
    };
    let flags = ["--json", "--insecure", "--rate", "50", "--realtime", "-d", "200ms"];
    let said = Running::start(without.args(flags).arg(url(peer.address()))).said();
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.json()["class"], "realtime");
    assert!(said.stderr.contains("leave --realtime out"), "{said:?}");
}

#[test]
fn in_real_time_the_workers_go_ahead_of_others() {
    const SCHED_FIFO: &str = "1";
    if !nix::unistd::geteuid().is_root() {
        return; // The right to it is what the test above is about.
    }
    let peer = server();
    let flags = ["--insecure", "-c", "8", "--rate", "50", "--realtime", "-d", "600ms"];
    let mut running = Running::load(&[&flags[..], &[&url(peer.address())]].concat());
    running.until_measuring();
    let tasks = fs::read_dir(format!("/proc/{}/task", running.id())).unwrap();
    let policies: Vec<String> = tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("stat")).unwrap())
        // The 41st field, counted from the state (proc(5)), which is the third.
        .map(|stat| stat.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap().to_owned())
        .collect();
    let record = record(&running.said());
    assert_eq!(policies.iter().filter(|policy| *policy == SCHED_FIFO).count(), 1, "{policies:?}");
    assert_eq!(record["open_loop"]["arrivals"], 30);
}

#[test]
fn a_soft_file_limit_is_raised() {
    let peer = server();
    let flags = ["--json", "--insecure", "-c", "100", "-n", "200", &url(peer.address())];
    let said = Running::start(limited("-S -n 64").args(flags)).said();
    assert_eq!(record(&said)["outcomes"]["completed"], 200);
}

#[test]
fn files_that_run_out_in_the_middle_are_failures_and_no_reason_to_spin() {
    const CONNECTIONS: u64 = 16;
    // A socket is used again after a successful connection, so that some must fail.
    let peer = Peer::start(&settings(), 4 * CONNECTIONS, bare(vec![Act::Reset]));
    let connections = CONNECTIONS.to_string();
    let mut running =
        Running::load(&["--insecure", "-c", &connections, "-d", "600ms", &url(peer.address())]);
    running.until_measuring();
    let id = running.id().to_string();
    let lowered = Command::new("prlimit").args(["--pid", &id, "--nofile=5:5"]).status().unwrap();
    assert!(lowered.success());
    let said = running.said();
    assert_eq!(said.code, Some(1));
    let record = record(&said);
    assert!(verdicts(&record).contains(&"failures"));
    let failed = record["outcomes"]["failed"]["files_exhausted"].as_u64().unwrap();
    // Each slot pauses for 10 ms after a failure.
    let most = CONNECTIONS * 600 / 10;
    assert!((CONNECTIONS..=most).contains(&failed), "{failed}");
}

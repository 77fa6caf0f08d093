//! `tlslab-load` on a host with faults: no ports, no name resolution, no disk space, a clock that
//! jumps, a process that is stopped or killed.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::namespace::inside;
use crate::support::{Running, Temporary, load, record, run, url, verdicts};
use nix::sys::signal::Signal;
use serde_json::Value;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::Settings;

/// The longest time of a program beyond its deadline.
const SLACK: Duration = Duration::from_secs(1);

/// A C library whose wall clock jumps back and forth by an hour at every reading.
const JUMPING_CLOCK: &str = include_str!("support/jumping_clock.c");

fn honest() -> Peer {
    Peer::honest(&Settings {
        identities: vec![Authority::new("tlslab test").issue(Key::P256)],
        body_length: 100,
        ..Settings::default()
    })
}

/// The reference server, and the URL of its documents of 100 bytes.
fn reference() -> (Running, String) {
    let mut server = Running::start(&mut Command::new(env!("CARGO_BIN_EXE_tlslab-serve")));
    let ready: Value = serde_json::from_str(&server.first_line()).unwrap();
    let target = format!("https://{}/bytes/100", ready["address"].as_str().unwrap());
    (server, target)
}

#[test]
fn local_ports_that_run_out_are_failures_of_their_own_class() {
    if !inside("host_faults::local_ports_that_run_out_are_failures_of_their_own_class") {
        return;
    }
    let (_server, target) = reference();
    // Eight connections at once, and no more.
    fs::write("/proc/sys/net/ipv4/ip_local_port_range", "50000 50007").unwrap();
    for backend in ["rustls", "openssl"] {
        let flags = ["--json", "--insecure", "--backend", backend, "-c", "20", "-n", "200"];
        let said = run(&[&flags[..], &[&target]].concat());
        assert_eq!(said.code, Some(1), "{said:?}");
        let record = record(&said);
        assert!(verdicts(&record).contains(&"failures"));
        let failed = record["outcomes"]["failed"].as_object().unwrap();
        assert_eq!(failed.keys().collect::<Vec<_>>(), ["ports_exhausted"], "{backend}");
        assert!(failed["ports_exhausted"].as_u64().unwrap() >= 12);
        assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_name_server_that_never_answers_is_waited_for_as_long_as_asked() {
    if !inside("host_faults::a_name_server_that_never_answers_is_waited_for_as_long_as_asked") {
        return;
    }
    let silent = UdpSocket::bind("127.0.0.1:53").unwrap();
    let settings = Temporary::new(b"nameserver 127.0.0.1\noptions timeout:30 attempts:5\n");
    let arguments = ["--bind", settings.path(), "/etc/resolv.conf"];
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
    let began = Instant::now();
    let said = run(&["--json", "--insecure", "--timeout", "700ms", "https://slow.example/"]);
    assert!(began.elapsed() < Duration::from_millis(700) + SLACK, "{:?}", began.elapsed());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.json()["class"], "timeout_name");
    assert!(said.stderr.contains("slow.example"), "{said:?}");
    // The name server got a query.
    silent.set_nonblocking(true).unwrap();
    assert!(silent.recv(&mut [0; 512]).is_ok());
}

#[test]
fn every_address_of_a_name_is_tried_and_the_one_that_works_is_named() {
    if !inside("host_faults::every_address_of_a_name_is_tried_and_the_one_that_works_is_named") {
        return;
    }
    let hosts = Temporary::new(b"::1 localhost two.test\n127.0.0.1 localhost two.test\n");
    let arguments = ["--bind", hosts.path(), "/etc/hosts"];
    assert!(Command::new("mount").args(arguments).status().unwrap().success());
    let peer = honest();
    let (address, port) = (peer.address().to_string(), peer.address().port());
    for host in ["localhost", "two.test", "localhost."] {
        let target = format!("https://{host}:{port}/bytes/100");
        for backend in ["rustls", "openssl"] {
            let said = run(&["--json", "--insecure", "--backend", backend, "-n", "4", &target]);
            assert_eq!(said.code, Some(0), "{said:?}");
            assert_eq!(record(&said)["address"], address.as_str());
        }
        let probed = run(&["probe", "--json", "--only", "versions", &format!("{host}:{port}")]);
        let probed = probed.json();
        assert_eq!(probed["address"], address.as_str(), "{probed}");
        assert_eq!(probed["server_name"], host.trim_end_matches('.'));
    }
    let nothing = "nothing listens on two.test:1 (::1 refused, 127.0.0.1 refused)";
    for arguments in [&["--insecure", "https://two.test:1/"][..], &["probe", "two.test:1"]] {
        let said = run(arguments);
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(said.stderr.contains(nothing), "{said:?}");
    }
    let untrusted = run(&[&format!("https://localhost:{port}/")]);
    let place = format!("localhost:{port} (127.0.0.1): certificate");
    assert!(untrusted.stderr.contains(&place), "{untrusted:?}");
}

#[test]
fn a_wall_clock_that_jumps_changes_nothing() {
    let source = Temporary::new(JUMPING_CLOCK.as_bytes());
    let library = format!("{}.so", source.path());
    let flags = ["-x", "c", "-shared", "-fPIC", "-O1", "-o", &library, source.path()];
    assert!(Command::new("cc").args(flags).status().unwrap().success());
    let jumping = |mut command: Command| {
        command.env("LD_PRELOAD", &library);
        command
    };
    let looks = jumping(Command::new("date")).arg("+%s%n").output().unwrap().stdout;
    let time = String::from_utf8(looks).unwrap().trim().parse::<i64>().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
    assert!((time - now).abs() > 3_000, "the clock does not jump");

    let peer = honest();
    for backend in ["rustls", "openssl"] {
        let flags = ["--json", "--insecure", "--backend", backend, "-c", "4", "-d", "600ms"];
        let mut command = jumping(load());
        let began = Instant::now();
        let said = Running::start(command.args(flags).arg(url(peer.address()))).said();
        let took = began.elapsed().as_secs_f64();
        let record = record(&said);
        assert_eq!(record["outcomes"]["failed"].as_object().unwrap().len(), 0, "{record}");
        assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
        let seconds = record["seconds"].as_f64().unwrap();
        assert!((0.3..took).contains(&seconds), "{seconds} of {took}");
        assert!(record["summaries"]["service"]["max_ms"].as_f64().unwrap() < took * 1e3);
    }
    fs::remove_file(library).unwrap();
}

#[test]
fn a_generator_that_was_stopped_shows_it() {
    let stop = Duration::from_millis(1_200);
    let peer = honest();
    for backend in ["rustls", "openssl"] {
        let flags = ["--insecure", "--backend", backend, "-c", "4", "-d", "2s"];
        let mut running = Running::load(&[&flags[..], &[&url(peer.address())]].concat());
        running.until_measuring();
        std::thread::sleep(Duration::from_millis(200));
        running.signal(Signal::SIGSTOP);
        std::thread::sleep(stop);
        running.signal(Signal::SIGCONT);
        let record = record(&running.said());
        // Connections in flight took as long, and so did one slice of the measurement.
        let longest = record["summaries"]["service"]["max_ms"].as_f64().unwrap();
        assert!(longest >= stop.as_secs_f64() * 1e3, "{backend}: {longest} ms");
        let slices = record["intervals"].as_array().unwrap().iter();
        let widest = slices.map(|slice| slice["seconds"].as_f64().unwrap()).fold(0.0, f64::max);
        assert!(widest >= stop.as_secs_f64(), "{backend}: {widest} s");
        assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
        let worker = &record["workers"][0];
        // The watching thread sees what its sleep of 20 ms was too long.
        assert!(worker["stopped_s"].as_f64().unwrap() >= 1.1, "{worker}");
        assert!(sum(&worker["kept_off_s"]) >= 1.1, "{worker}");
        assert!(verdicts(&record).contains(&"client_starved"), "{}", record["verdicts"]);
    }
}

fn sum(numbers: &Value) -> f64 {
    numbers.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).sum()
}

/// A program that computes on processor 0 until it is dropped.
struct Busy(std::process::Child);

impl Busy {
    fn new() -> Self {
        let loops = ["-c", "0", "sh", "-c", "while :; do :; done"];
        Self(Command::new("taskset").args(loops).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_generator_without_its_processor_makes_no_valid_run() {
    let (_server, target) = reference();
    let _busy = [Busy::new(), Busy::new(), Busy::new()];
    for open_loop in [&[][..], &["--rate", "2000"]] {
        let flags =
            ["--json", "--insecure", "--cpu", "0", "-c", "16", "-d", "1s", "--warmup", "0s"];
        let record = record(&run(&[&flags[..], open_loop, &[&target]].concat()));
        let worker = &record["workers"][0];
        assert!(worker["queued_s"].as_f64().unwrap() > 0.2, "{worker}");
        let seconds = (sum(&worker["kept_off_s"]) - worker["queued_s"].as_f64().unwrap()).abs();
        assert!(seconds < 1e-6, "{worker}");
        assert!(verdicts(&record).contains(&"client_starved"), "{}", record["verdicts"]);
    }
}

/// The kernel's mean over all processors would hide what else runs on the only one that the workers
/// may use.
#[test]
fn workers_that_a_processor_set_confines_lose_what_others_have_of_it() {
    let (_server, target) = reference();
    let _busy = [Busy::new(), Busy::new(), Busy::new()];
    let mut confined = Command::new("taskset");
    confined.args(["-c", "0"]).arg(load().get_program());
    let flags = ["--json", "--insecure", "-t", "2", "-c", "16", "-d", "1s", "--warmup", "0s"];
    let record = record(&Running::start(confined.args(flags).arg(&target)).said());
    assert_eq!(record["supply"]["processors"], 1);
    let shares = record["workers"].as_array().unwrap().iter().map(|it| &it["processor_busy"]);
    assert!(shares.clone().all(|share| share.as_f64().unwrap() > 0.9), "{}", record["workers"]);
    assert!(verdicts(&record).contains(&"client_starved"), "{}", record["verdicts"]);
}

#[test]
fn workers_on_one_processor_are_as_busy_in_the_table_as_in_the_verdict() {
    let (_server, target) = reference();
    let flags = ["--insecure", "--cpu", "0", "-t", "4", "-c", "64", "-d", "1s", &target];
    let said = run(&flags);
    let row = said.stdout.lines().find(|line| line.contains("4 worker threads; ready")).unwrap();
    let (words, _) = row.split_once(" %").unwrap();
    let shown = words.split_whitespace().last().unwrap().to_owned();
    assert!(said.stdout.contains("4 worker threads on 1 processor: "), "{}", said.stdout);
    // A verdict without the figure is about a failure or lost time.
    for line in said.stdout.lines().filter(|line| line.contains(" busy ")) {
        let valid = line.contains(&format!("the generator was {shown} % busy"));
        let bound = line.contains(&format!("4 workers on processor 0 were busy {shown} %"));
        // The table rounds, the verdict rounds down.
        let below = shown.parse::<u32>().unwrap() - 1;
        let rounded = line.contains(&format!("was {below} % busy"))
            || line.contains(&format!("were busy {below} %"));
        assert!(valid || bound || rounded || line.contains("processor time"), "{row}\n{line}");
    }
}

#[test]
fn what_proc_does_not_say_is_not_known() {
    if !inside("host_faults::what_proc_does_not_say_is_not_known") {
        return;
    }
    let (_server, target) = reference();
    let hidden = Command::new("mount").args(["-t", "tmpfs", "none", "/proc"]).status().unwrap();
    assert!(hidden.success());
    let said = run(&["--json", "--insecure", "-c", "2", "-d", "300ms", &target]);
    let record = record(&said);
    let worker = &record["workers"][0];
    assert!(worker["queued_s"].is_null() && worker["stolen"].is_null(), "{worker}");
    assert!(record["supply"]["throttled_s"].is_null(), "{}", record["supply"]);
    assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
    assert!(!verdicts(&record).contains(&"client_starved"), "{}", record["verdicts"]);
    let notes = record["notes"].as_array().unwrap().iter();
    let words = "this system does not say for how long workers were ready";
    assert_eq!(notes.filter(|note| note.as_str().unwrap().starts_with(words)).count(), 1);
    let probed = run(&["--json", "--insecure", "--probe-only", "versions", "--probe", &target]);
    assert_eq!(probed.code, Some(0), "{probed:?}");
}

#[test]
fn a_result_that_finds_no_room_is_one_line() {
    let peer = honest();
    let target = url(peer.address());
    for form in [&["--json"][..], &[]] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" >/dev/full", "sh"]).arg(load().get_program());
        let said = Running::start(shell.args(["--insecure", "-n", "4", &target]).args(form)).said();
        assert_eq!(said.code, Some(3), "{said:?}");
        assert_eq!(said.stderr.lines().count(), 1, "{said:?}");
        assert!(said.stderr.contains("No space left on device"), "{said:?}");
    }
}

#[test]
fn a_run_ends_by_sigterm_as_by_sigint() {
    let peer = honest();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut running =
            Running::load(&["--insecure", "-c", "4", "-d", "60s", &url(peer.address())]);
        running.until_measuring();
        std::thread::sleep(Duration::from_millis(200));
        let began = Instant::now();
        running.signal(signal);
        let said = running.said();
        assert!(began.elapsed() < SLACK * 10, "{:?}", began.elapsed());
        assert_eq!(said.code, Some(130), "{}", said.stderr);
        assert_eq!(verdicts(&record(&said))[0], "interrupted");
    }
}

#[test]
fn a_generator_that_is_killed_leaves_a_server_that_serves() {
    let (_server, target) = reference();
    let mut running = Running::load(&["--insecure", "-c", "16", "-d", "60s", &target]);
    running.until_measuring();
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::SIGKILL);
    let said = running.said();
    assert_eq!((said.code, said.stdout.as_str()), (None, ""));
    let record = record(&run(&["--json", "--insecure", "-c", "4", "-n", "40", &target]));
    assert_eq!(record["outcomes"]["completed"], 40);
}

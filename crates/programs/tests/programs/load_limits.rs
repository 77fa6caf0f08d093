//! `tlslab-load` where the operating system grants less than a run needs.

use std::process::Command;

use crate::support::{Running, load, record, url, verdicts};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, bare};
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

/// The load generator under a file limit, as the shell's `ulimit` sets it.
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
    // A socket is used again after a connection that went well, so that some have to go wrong.
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
    // Each place rests for 10 ms after a failure.
    let most = CONNECTIONS * 600 / 10;
    assert!((CONNECTIONS..=most).contains(&failed), "{failed}");
}

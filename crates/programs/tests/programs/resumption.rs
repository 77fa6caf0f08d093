//! Resumption on the command lines of both programs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{Temporary, load, record, refused, run};
use serde_json::Value;

/// A running `tlslab-serve`; killed when the test ends.
struct Serving {
    child: Child,
    url: String,
    ca: Temporary,
}

impl Serving {
    fn start(arguments: &[&str]) -> Self {
        let ca = Temporary::new(b"");
        let mut child = Command::new(env!("CARGO_BIN_EXE_tlslab-serve"))
            .args(["--ca-out", ca.path()])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = format!("https://{}/bytes/100", ready["address"].as_str().unwrap());
        Self { child, url, ca }
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["--ca", self.ca.path(), "-n", "20"], more, &[&self.url]].concat()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_does_not_fit_together_is_wrong_usage() {
    let cases: [(&[&str], &str); 6] = [
        (&["--resume-ratio", "0.5"], "needs a kind of resumption; give --resume;"),
        (&["--resume", "psk", "--resume-ratio", "2"], "must lie between 0 and 1"),
        (&["--early-data"], "needs resumption by psk or psk-only; give --resume;"),
        (&["--resume", "psk", "--handshake-only"], "tickets come after the handshake"),
        (&["--resume", "id", "--tls", "1.3"], "exists in TLS 1.2 only"),
        (&["--offer-share", "P-256", "--group", "P-256"], "share of P-256"),
    ];
    for (flags, words) in cases {
        let line = refused(&[flags, &["https://localhost/"]].concat(), 2, "usage");
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn a_kind_that_a_back_end_lacks_is_named_with_those_that_it_has() {
    let flags =
        ["--resume", "psk-only", "--backend", "rustls", "--insecure", "https://127.0.0.1:1/"];
    let line = refused(&flags, 2, "unsupported");
    assert!(
        line.contains("rustls has no resumption by psk-only; it has: id, ticket, psk"),
        "{line}"
    );
}

#[test]
fn a_server_resumes_what_its_flags_say_and_the_load_reports_how_it_went() {
    let serving = Serving::start(&["--resumption", "psk", "--early-data", "4096"]);
    let flags = ["--resume", "psk", "--early-data", "--json", "--events"];
    let output = load().args(serving.arguments(&flags)).output().unwrap();
    let events = String::from_utf8(output.stderr.clone()).unwrap();
    let phases: Vec<_> = events.lines().filter(|line| line.contains("phase")).collect();
    assert!(phases[0].contains("prime"), "{events}");
    let said = run(&serving.arguments(&["--resume", "psk", "--early-data", "--json"]));
    let record = record(&said);
    assert_eq!(record["kinds"]["early_data_accepted"], 20);
    let said = run(&serving.arguments(&["--resume", "psk", "--early-data"]));
    assert!(said.stdout.contains("resumed by psk, early data accepted"), "{}", said.stdout);
    let resumed = said.stdout.lines().find(|line| line.contains("resumed an earlier session"));
    let wanted = "20  resumed an earlier session (100.00 % of those that were to)";
    assert_eq!(resumed.unwrap().trim(), wanted);
}

#[test]
fn a_server_that_was_not_told_to_resume_is_refused_by_a_load_that_resumes() {
    let serving = Serving::start(&[]);
    let line = refused(&serving.arguments(&["--resume", "ticket"]), 3, "unexpected_kind");
    assert!(line.contains("gave nothing to resume by"), "{line}");
}

#[test]
fn the_servers_own_flags_are_checked() {
    let serve = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tlslab-serve")).args(arguments).output().unwrap()
    };
    for (flags, words) in [
        (["--early-data", "100"], "early data needs resumption by psk"),
        (["--tickets", "33"], "is not a number from 0 to 32"),
    ] {
        let output = serve(&flags);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
}

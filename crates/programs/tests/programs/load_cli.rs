//! `tlslab-load` as users start it: exit statuses, one-line messages, records.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    self, Running, Temporary, exit_code, faults, load, record, refused, run, url, verdicts,
};
use nix::sys::signal::Signal;
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::h2;
use tlslab_testkit::peers::script::Act::{Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Peer, answering, bare, nowhere};
use tlslab_testkit::tls_server::{Settings, Version};

fn serving(identity: Identity) -> Settings {
    Settings { identities: vec![identity], body_length: 100, ..Settings::default() }
}

/// A correct server, and the file with the authority to trust.
fn good() -> (Peer, Temporary) {
    let authority = Authority::new("tlslab test");
    (Peer::honest(&serving(authority.issue(Key::P256))), Temporary::ca(&authority))
}

#[test]
fn what_nobody_has_is_wrong_usage_that_says_what_there_is() {
    let line = refused(&["--group", "P-257", "https://localhost/"], 2, "usage");
    assert!(
        line.contains("unknown group 'P-257' (did you mean 'P-256'?); known: X25519, P-256"),
        "{line}"
    );
    let line = refused(&["--suite", "NO-SUCH-SUITE", "https://localhost/"], 2, "usage");
    assert!(line.contains("unknown cipher suite 'NO-SUCH-SUITE'; known: "), "{line}");
    let line = refused(&["--no-such-flag", "https://localhost/"], 2, "usage");
    assert!(line.contains("--no-such-flag"), "{line}");
    refused(&[], 2, "usage");
    refused(&["--insecure", "ftp://localhost/"], 2, "usage");
    for (flags, words) in [
        (&["-d", "0s"][..], "--duration must be at least 1"),
        (&["--timeout", "0s"], "--timeout must be at least 1"),
        (&["-c", "-5"], "invalid value '-5' for '--connections"),
        (&["--connect-to", "a:b"], "'a:b': is not a host with a port; write HOST:PORT"),
        (&["--connect-to", "::b:2"], "the last two alone are taken here; write HOST:PORT"),
        (&["--connect-to", "a:1:b:2"], "has the four parts of curl's option"),
        (&["--allow", "10.0.0.0/8"], "allowed host '10.0.0.0/8': is no host"),
        (&["--allow", "ftp://h/"], "allowed host 'ftp://h/': has another scheme"),
    ] {
        let line = refused(&[flags, &["https://localhost/"]].concat(), 2, "usage");
        assert!(line.contains(words), "{line}");
    }
}

#[test]
fn without_tls_options_of_tls_are_refused_and_a_port_that_speaks_it_is_suspected() {
    for (flags, option) in [
        (&["--handshake-only"][..], "--handshake-only"),
        (&["--tls", "1.3"], "--tls"),
        (&["--group", "X25519"], "--group"),
        (&["--resume", "psk"], "--resume"),
        (&["--sni", "h"], "--sni"),
    ] {
        let line = refused(&[flags, &["http://127.0.0.1:1/"]].concat(), 2, "usage");
        assert!(line.contains(&format!("{option} needs TLS, and the URL is http://")), "{line}");
    }
    let (peer, _) = good();
    let said = run(&[&url(peer.address()).replace("https://", "http://")]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("; if it speaks TLS, write https://: exit 3"), "{said:?}");
}

#[test]
fn http_2_without_tls_is_spoken_with_prior_knowledge() {
    let settings = serving(Authority::new("tlslab test").issue(Key::P256));
    let url_of = |answer: Vec<u8>| {
        let peer = Peer::start(&settings, 0, bare(vec![Receive, Send(answer), Wait]));
        let url = url(peer.address()).replace("https://", "http://");
        (peer, url)
    };
    let body = vec![b'x'; 4_788];
    let (_peer, url) = url_of([h2::settings(&[]), h2::response(1, &[], &body)].concat());
    let said = run(&["--http", "2", "-c", "4", "-n", "40", "--json", &url]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let record: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(record["outcomes"]["completed"], 40, "{record}");
    // A server of HTTP/1.1 alone answers the preface in its own version.
    let (_peer, url) = url_of(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec());
    let said = run(&["--http", "2", "-n", "4", &url]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("speaks this version of HTTP without TLS"), "{said:?}");
}

#[test]
fn a_summary_without_tls_has_no_handshakes() {
    let (_server, url) = support::serving(&["--backend", "none"]);
    assert!(url.starts_with("http://"), "{url}");
    let said = run(&["-c", "4", "-n", "20", &url]);
    assert!(said.stdout.contains(" without TLS\n"), "{said:?}");
    assert!(said.stdout.contains("round trips to the first byte: 2\n"), "{said:?}");
    assert!(!said.stdout.contains("handshake"), "{said:?}");
}

#[test]
fn a_run_that_is_not_valid_says_what_to_do() {
    let settings = serving(Authority::new("tlslab test").issue(Key::P256));
    let peer = Peer::start(&settings, 8, bare(vec![Receive, Reset]));
    let said = run(&["--insecure", "-n", "40", &url(peer.address())]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let verdict = said.stdout.lines().find(|line| line.starts_with("not valid: ")).unwrap();
    assert!(verdict.contains("connections failed: reset"), "{verdict}");
    assert!(verdict.ends_with("; see the server's log for why it ended the connection"));
}

#[test]
fn what_a_back_end_lacks_is_named_with_what_it_has() {
    let lacking = ["--insecure", "--backend", "rustls", "--group", "ffdhe2048"];
    let line = refused(&[&lacking[..], &["https://127.0.0.1:1/"]].concat(), 2, "unsupported");
    assert!(line.contains("rustls has no group ffdhe2048; it has: X25519"), "{line}");
    let lacking = ["--insecure", "--backend", "openssl", "--lean", "https://127.0.0.1:1/"];
    let line = refused(&lacking, 2, "unsupported");
    assert!(line.contains("openssl has no re-used key share"), "{line}");
}

#[test]
fn a_malformed_specification_is_wrong_usage_that_says_where() {
    let cases = [
        ("{\n \"url\": \"https://localhost/\",\n \"stop\": }", "line 3 column 10"),
        (
            "{\"url\":\"https://localhost/\",\"stop\":{\"count\":1},\"conections\":3}",
            "unknown field `conections`",
        ),
        (
            "{\"url\":\"https://localhost/\",\"stop\":{\"count\":0}}",
            "stop.count must be at least 1",
        ),
        ("", "line 1 column 0"),
    ];
    for (json, words) in cases {
        let file = Temporary::new(json.as_bytes());
        let line = refused(&["--spec", file.path()], 2, "usage");
        assert!(line.contains(words), "{line}");
    }
    refused(&["--spec", "/no/such/file"], 2, "usage");
}

#[test]
fn a_target_that_cannot_be_loaded_is_said_in_one_line() {
    let (_, ca) = good();
    let trusting =
        |url: &str, class: &str| refused(&["--ca", ca.path(), "--timeout", "300ms", url], 3, class);
    let line = trusting(&url(nowhere()), "refused");
    assert!(line.contains("nothing listens on 127.0.0.1:"), "{line}");
    trusting("https://no-such-host.invalid/", "name_not_found");
    let line = trusting("https://192.0.2.7/", "target_refused");
    assert!(line.contains("--allow"), "{line}");
    // If allowed, the program connects: no host answers there.
    for allowed in ["https://192.0.2.7/", "192.0.2.7:443"] {
        let said = run(&["--allow", allowed, "--timeout", "50ms", "https://192.0.2.7/"]);
        assert!(said.code == Some(3) && !said.stderr.contains("--allow"), "{said:?}");
    }
    let settings = Settings::default();
    let http = bare(vec![Receive, Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Wait]);
    trusting(&url(Peer::start(&settings, 0, http).address()), "tls_protocol");
    let silent = Peer::start(&settings, 0, bare(vec![Wait]));
    trusting(&url(silent.address()), "timeout_handshake");
}

#[test]
fn a_ca_file_without_a_certificate_is_reported_by_its_name() {
    let (_, key) = Authority::new("tlslab test").issue(Key::P256).pem();
    let cut = "-----BEGIN CERTIFICATE-----\nMIIB";
    let der = Authority::new("tlslab test").certificate().to_vec();
    for (bytes, words) in [
        (Vec::new(), "holds no certificate"),
        (b"no PEM at all\n".to_vec(), "holds no certificate"),
        (key.into_bytes(), "holds no certificate"),
        (cut.into(), "is not PEM"),
        (der, "is not PEM"),
    ] {
        let file = Temporary::new(&bytes);
        let line = refused(&["--ca", file.path(), "https://127.0.0.1:1/"], 2, "usage");
        assert!(line.contains(file.path()) && line.contains(words), "{line}");
    }
    let line = refused(&["--ca", "/no/such/file", "https://127.0.0.1:1/"], 2, "usage");
    assert!(line.contains("/no/such/file"), "{line}");
}

#[test]
fn a_server_that_is_not_the_one_asked_for_is_said_in_one_line() {
    let authority = Authority::new("tlslab test");
    let ca = Temporary::ca(&authority);
    let peer = Peer::honest(&serving(authority.issue(Key::P256)));
    let other_ca = Temporary::ca(&Authority::new("another"));
    let expired = Peer::honest(&serving(authority.issue_expired(Key::P256)));
    let good = url(peer.address());
    for (flags, target, words, remedy) in [
        (&["--ca", other_ca.path()][..], &good, "", "; the file of --ca FILE is not its CA, "),
        (&["--ca", ca.path(), "--sni", "example.com"], &good, "", "; give a name that the "),
        (&["--ca", ca.path()], &url(expired.address()), "expired", "; renew the server's "),
    ] {
        for backend in ["rustls", "openssl"] {
            let line = [flags, &["--backend", backend, target]].concat();
            let line = refused(&line, 3, "certificate");
            assert!(line.contains(words) && line.contains(remedy), "{backend}: {line}");
        }
    }
    let settings = serving(authority.issue(Key::P256));
    let missing = answering(&settings, *b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let missing = Peer::start(&settings, 0, missing);
    let line = refused(&["--ca", ca.path(), &url(missing.address())], 3, "http_status");
    assert!(line.contains("status 404"), "{line}");
    let json = run(&["--json", "--ca", ca.path(), &url(missing.address())]).json();
    assert_eq!(json["status"], 404);
    let preferring = Settings {
        version: Some(Version::Tls12),
        prefers_its_own: true,
        groups: "P-256:X25519".to_owned(),
        ..settings
    };
    let preferring = Peer::honest(&preferring);
    let forced = ["--ca", ca.path(), "--tls", "1.2", "--group", "X25519"];
    let line =
        refused(&[&forced[..], &[&url(preferring.address())]].concat(), 3, "unexpected_group");
    assert!(line.contains("group P-256"), "{line}");
}

#[test]
fn a_good_run_prints_its_record_and_nothing_else() {
    let (peer, ca) = good();
    let target = url(peer.address());
    let flags = ["--ca", ca.path(), "-c", "2", "-n", "8", &target];
    for backend in ["rustls", "openssl"] {
        let said = run(&[&["--json", "--backend", backend], &flags[..]].concat());
        let record = record(&said);
        assert_eq!(record["outcomes"]["completed"], 8);
        assert_eq!(record["backend"], backend);
        assert_eq!(said.stderr, "");
        assert_eq!((said.code, faults(&record)), (exit_code(&record), vec![]));
    }
    let text = run(&flags);
    assert!(text.stdout.contains("8 connections completed"), "{}", text.stdout);
    let preflight = run(&[&["--preflight"], &flags[..]].concat());
    assert_eq!((preflight.code, preflight.stderr.as_str()), (Some(0), ""));
    assert_eq!(preflight.json()["preflight"]["body_bytes"], 100);
}

#[test]
fn a_specification_comes_from_standard_input() {
    let (peer, _) = good();
    let target = url(peer.address());
    let spec = format!(r#"{{"url":"{target}","stop":{{"count":3}},"tls":{{"trust":"anyone"}}}}"#);
    let schema = run(&["--print-schema", "spec"]).json();
    crate::support::schema::validate(&serde_json::from_str(&spec).unwrap(), &schema).unwrap();
    let mut child = load()
        .args(["--spec", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(spec.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["outcomes"]["completed"], 3);
}

#[test]
fn an_interrupted_run_keeps_its_record() {
    let (peer, ca) = good();
    let target = url(peer.address());
    let mut running =
        Running::load(&["--ca", ca.path(), "-c", "4", "-t", "2", "-d", "60s", &target]);
    running.until_measuring();
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGINT);
    let said = running.said();
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let record = record(&said);
    assert_eq!(verdicts(&record)[0], "interrupted");
    assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
}

#[test]
fn an_interrupt_before_the_run_ends_the_program() {
    let peer = Peer::start(&Settings::default(), 0, bare(vec![Wait]));
    let running = Running::load(&["--insecure", "--timeout", "60s", &url(peer.address())]);
    let began = Instant::now();
    while peer.accepted() == 0 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    running.signal(Signal::SIGINT);
    let said = running.said();
    assert_eq!((said.code, said.stdout.as_str()), (Some(130), ""));
}

#[test]
fn a_server_that_dies_in_the_middle_is_a_failed_run_that_names_its_failures() {
    let mut server = Running::start(&mut Command::new(env!("CARGO_BIN_EXE_tlslab-serve")));
    let ready: serde_json::Value = serde_json::from_str(&server.first_line()).unwrap();
    let target = format!("https://{}/bytes/100", ready["address"].as_str().unwrap());
    let mut running = Running::load(&["--insecure", "-c", "4", "-d", "1s", &target]);
    running.until_measuring();
    std::thread::sleep(Duration::from_millis(200));
    server.signal(Signal::SIGKILL);
    let said = running.said();
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let record = record(&said);
    assert!(verdicts(&record).contains(&"failures"), "{:?}", verdicts(&record));
    assert!(record["outcomes"]["completed"].as_u64().unwrap() > 0);
    assert!(record["outcomes"]["failed"]["refused"].as_u64().unwrap() > 0);
}

#[test]
fn what_a_server_says_reaches_no_terminal_as_it_is() {
    let authority = Authority::new("tlslab test");
    let ca = Temporary::ca(&authority);
    let settings = serving(authority.issue_named(Key::P256, "\u{1b}[2J\u{9b}31m\u{202e}evil\n"));
    let says = "HTTP/1.1 200 OK\r\nServer: \u{9b}31m\u{202e}x\r\nContent-Length: 0\r\n\r\n";
    let peer = Peer::start(&settings, 0, answering(&settings, says));
    let target = url(peer.address());
    let flags = ["--ca", ca.path(), "-n", "2", &target];
    // All tests here assert that the programs print no such characters.
    assert!(run(&flags).stdout.contains("2 connections completed"));
    let record = record(&run(&[&["--json"], &flags[..]].concat()));
    let subject = record["preflight"]["certificate"]["subject"].as_str().unwrap();
    assert!(subject.contains("\u{fffd}31m\u{fffd}evil"), "{subject}");
    assert_eq!(record["preflight"]["server"], "\u{fffd}31m\u{fffd}x");
    let escape = "HTTP/1.1 200 OK\r\nServer: \u{1b}[2J\r\nContent-Length: 0\r\n\r\n";
    let peer = Peer::start(&settings, 0, answering(&settings, escape));
    refused(&["--ca", ca.path(), &url(peer.address())], 3, "http_protocol");
}

#[test]
fn a_trace_has_a_line_for_each_attempt_and_its_instants_in_order() {
    let (peer, ca) = good();
    let target = url(peer.address());
    let trace = Temporary::new(b"");
    let flags = ["--json", "--ca", ca.path(), "--trace", trace.path(), "-t", "2", "-c", "4"];
    let said = run(&[&flags[..], &["-d", "300ms", &target]].concat());
    let record = record(&said);
    let text = fs::read_to_string(trace.path()).unwrap();
    let mut lines = text.lines();
    let header = "connection,local_port,intended_ns,started_ns,established_ns,secured_ns,\
                  answered_ns,ended_ns,outcome";
    assert_eq!(lines.next(), Some(header));
    let (mut completed, mut in_flight) = (0, 0);
    for (number, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0].parse(), Ok(number));
        assert!(fields[1].parse::<u16>().unwrap() > 0);
        assert_eq!(fields[2], "", "a closed loop intends nothing");
        let instants: Vec<u64> = fields[3..8].iter().flat_map(|field| field.parse()).collect();
        assert!(instants.is_sorted(), "{line}");
        match fields[8] {
            "completed" => completed += u64::from(instants.len() == 5),
            "in_flight_at_stop" => in_flight += u64::from(fields[7].is_empty()),
            other => panic!("{other}"),
        }
    }
    assert_eq!(record["outcomes"]["completed"], completed);
    assert_eq!(record["outcomes"]["in_flight_at_stop"], in_flight);
    refused(&["--ca", ca.path(), "--trace", "/no/such/folder/t", &target], 3, "output");
}

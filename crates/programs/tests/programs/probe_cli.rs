//! `tlslab-load --probe` as users start it.

use crate::support::{Running, Temporary, load, refused, run, schema};
use nix::sys::signal::Signal;
use serde_json::Value;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Receive, Send, Wait};
use tlslab_testkit::peers::{Peer, after_dialogue, bare, except, nowhere, secured};
use tlslab_testkit::tls_server::Settings;

fn good() -> (Peer, Temporary) {
    let authority = Authority::new("tlslab test");
    let identity = authority.issue_named(Key::P256, "a\u{1b}[2Jb\u{202e}c");
    let settings = Settings { identities: vec![identity], ..Settings::default() };
    (Peer::honest(&settings), Temporary::ca(&authority))
}

#[test]
fn a_probe_prints_a_record_that_is_what_its_schema_says() {
    let (peer, ca) = good();
    let target = format!("--probe={}", peer.address());
    let said = run(&[&target, "--json", "--ca", ca.path(), "--sni", "localhost"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let record = said.json();
    schema::validate(&record, &run(&["--print-schema", "probe"]).json()).unwrap();
    assert_eq!(record["schema"], "tlslab.probe/1");
    assert_eq!(record["incomplete"], Value::Null);
    assert_eq!(record["certificates"][0]["trusted"], true);
    assert_eq!(record["certificates"][0]["name_matches"], true);
}

#[test]
fn for_people_it_is_a_table_that_cannot_drive_their_terminal() {
    let (peer, ca) = good();
    let said = run(&["--probe", &peer.address().to_string(), "--ca", ca.path()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = ["TLS 1.3", "suites TLS 1.2", "groups 1.3", "certificate", "ALPN", "early data"];
    for row in rows {
        assert!(said.stdout.lines().any(|line| line.starts_with(row)), "{row}: {}", said.stdout);
    }
}

#[test]
fn what_has_no_answer_is_shown_as_not_known() {
    const WORDS: &str = "the server gave no answer in 200 ms, nor in 600 ms";
    let settings =
        Settings { identities: vec![Authority::new("tlslab").issue(Key::P256)], ..<_>::default() };
    // The first client asks for TLS 1.3. Later ones with TLS 1.3 or 1.2 get no answer.
    let newer = |hello: &[u8]| hello.get(9..11) == Some(&[3, 3]);
    let peer = Peer::start(&settings, 1, except(&settings, newer, u64::MAX, vec![Wait]));
    let target = peer.address().to_string();
    let said = run(&["probe", &target, "--only", "suites", "--timeout", "200ms", "--insecure"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let value = |name: &str| {
        let line = said.stdout.lines().find(|line| line.starts_with(name));
        line.map(|line| line[name.len()..].trim().to_owned())
    };
    assert_eq!(value("TLS 1.3").as_deref(), Some("yes"));
    assert_eq!(value("TLS 1.2"), Some(format!("not known: {WORDS}")));
    let not_asked = "not known: not asked after offers without an answer";
    assert_eq!(value("SSL 2.0").as_deref(), Some(not_asked));
    // The offers of TLS 1.2 and the large ClientHello have had the two second tries.
    let once = "suites of TLS 1.3: the server gave no answer in 200 ms";
    assert_eq!(value("not answered").as_deref(), Some(once));
    assert_eq!(value("hint"), None);
}

#[test]
fn a_specification_may_come_from_a_file() {
    let (peer, _) = good();
    let json = format!(
        r#"{{"target":"{}","trust":"anyone","offers":[{{"versions":["1.3"],"groups":["P-384"]}}]}}"#,
        peer.address()
    );
    let file = Temporary::new(json.as_bytes());
    let found = run(&["--probe", "--json", "--spec", file.path()]).json();
    assert_eq!((&found["offers"][0]["accepted"], &found["connections"]), (&true.into(), &1.into()));
    refused(&["--probe", "other:1", "--spec", file.path()], 2, "usage");
    let file = Temporary::new(json.replace("offers", "ofers").as_bytes());
    let line = refused(&["--probe", "--spec", file.path()], 2, "usage");
    assert!(line.contains("unknown field `ofers`"), "{line}");
}

#[test]
fn wrong_usage_is_said_in_one_line() {
    for target in ["", "http://localhost/", "localhost:0", "a b"] {
        let line = refused(&[&format!("--probe={target}")], 2, "usage");
        assert!(line.contains(&format!("'{target}'")), "{line}");
    }
    let line = refused(&["--probe", "localhost", "--probe-only", "curves"], 2, "usage");
    assert!(line.contains("known: versions, suites"), "{line}");
    refused(&["--probe", "localhost", "--probe-connections", "5000"], 2, "usage");
    refused(&["--probe", "localhost", "--ca", "/no/such/file"], 2, "usage");
}

#[test]
fn what_cannot_be_probed_is_said_in_one_line() {
    let line = refused(&["--probe", &nowhere().to_string()], 3, "refused");
    assert!(line.contains("nothing listens on 127.0.0.1:"), "{line}");
    let line = refused(&["--probe", "192.0.2.7"], 3, "target_refused");
    assert!(line.contains("--allow"), "{line}");
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let plain = Peer::start(&Settings::default(), 0, bare(vec![Receive, Send(http), Wait]));
    let line = refused(&["--probe", &plain.address().to_string()], 3, "no_tls");
    assert!(
        line.contains("speaks no TLS: it answers in plain HTTP; check that the port"),
        "{line}"
    );
}

#[test]
fn a_service_turns_to_tls() {
    let authority = Authority::new("tlslab test");
    let settings = Settings { identities: vec![authority.issue(Key::P256)], ..Settings::default() };
    let turns = [(&b"+OK hi\r\n"[..], &b"STLS\r\n"[..]), (b"+OK go\r\n", b"")];
    let turns = turns.map(|(sent, wanted)| (sent.to_vec(), wanted.to_vec())).to_vec();
    let served = after_dialogue(turns, secured(&settings, vec![Wait]));
    let peer = Peer::start(&settings, 0, served);
    let (target, ca) = (peer.address().to_string(), Temporary::ca(&authority));
    let line = ["probe", &target, "--only", "certificates", "--ca", ca.path()];
    let said = run(&[&line[..], &["--starttls", "pop3"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let words = format!("{target} ({target}), SNI none, STARTTLS of pop3\n");
    assert!(said.stdout.contains(&words), "{}", said.stdout);
    assert!(said.stdout.contains("\ntrust                       trusted: the chain leads"));
    let record = run(&[&line[..], &["--starttls", "pop3", "--json"]].concat()).json();
    schema::validate(&record, &run(&["schema", "probe"]).json()).unwrap();
    assert_eq!(
        (&record["starttls"], &record["trust"]["code"]),
        (&"pop3".into(), &"trusted".into())
    );
    for (service, code, words) in [
        (
            "postgres",
            3,
            "does not turn to TLS as postgres: it answered '+OK hi' to the request for TLS; check \
             the port and the service of --starttls",
        ),
        ("ftp", 2, "unknown service 'ftp'; known: smtp, imap, pop3, postgres, ldap"),
    ] {
        let said = run(&["probe", &target, "--starttls", service]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(code), ""), "{said:?}");
        assert!(said.stderr.contains(words), "{said:?}");
    }
}

#[test]
fn an_interrupted_probe_ends_at_once() {
    let silent = Peer::start(&Settings::default(), 0, bare(vec![Wait]));
    let target = format!("--probe={}", silent.address());
    let running = Running::start(load().args([&target, "--timeout", "1h", "--probe-time", "1h"]));
    while silent.accepted() == 0 {
        std::thread::yield_now();
    }
    running.signal(Signal::SIGINT);
    assert_eq!(running.said().code, Some(130));
}

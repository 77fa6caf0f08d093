//! `tlslab-load hold`, and its older form `--hold`, as users start them.

use crate::support::{Temporary, refused, run, schema, url};
use serde_json::Value;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Peer, answering};
use tlslab_testkit::tls_server::{Farewell, Settings};

fn peer(authority: &Authority, last: Option<(usize, Farewell)>) -> Peer {
    let identities = vec![authority.issue(Key::P256)];
    Peer::honest(&Settings { identities, body_length: 100, last, ..Settings::default() })
}

#[test]
fn what_is_held_is_reported_as_json_that_fits_its_schema_and_as_text() {
    let authority = Authority::new("tlslab test");
    let (peer, ca) = (peer(&authority, None), Temporary::ca(&authority));
    let url = url(peer.address());
    let flags = ["--ca", ca.path(), "--hold", "3,8", "--dwell", "20ms", &url];
    let said = run(&[&["--json", "--events"], &flags[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let record = said.json();
    schema::validate(&record, &run(&["--print-schema", "hold"]).json()).unwrap();
    assert_eq!((&record["attempts"], &record["alive"]), (&Value::from(8), &Value::from(8)));
    let events: Vec<Value> =
        said.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["event"] == "held"));
    let reported: Vec<&Value> = events.iter().map(|event| &event["level"]).collect();
    assert_eq!(reported, record["levels"].as_array().unwrap().iter().collect::<Vec<_>>());

    let said = run(&flags);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("8 answered again, 0 lost"), "{said:?}");
}

#[test]
fn options_stand_before_between_and_behind_the_levels_and_the_url() {
    let authority = Authority::new("tlslab test");
    let (peer, ca) = (peer(&authority, None), Temporary::ca(&authority));
    let url = url(peer.address());
    let options = ["--ca", ca.path(), "--dwell", "20ms"];
    for line in [
        [&["hold"][..], &options, &["2,3", &url]].concat(),
        [&["hold", "2,3"], &options[..], &[&url]].concat(),
        [&["hold", "2,3", &url], &options[..]].concat(),
    ] {
        let said = run(&line);
        assert_eq!(said.code, Some(0), "{line:?}: {said:?}");
        assert!(said.stdout.contains("3 answered again, 0 lost"), "{said:?}");
    }
    assert_eq!(run(&["hold", "2", "3", &url]).code, Some(2));
}

#[test]
fn an_answer_that_is_not_expected_is_held_on_request() {
    let settings = Settings {
        identities: vec![Authority::new("tlslab test").issue(Key::P256)],
        ..Settings::default()
    };
    let words = *b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let peer = Peer::start(&settings, 0, answering(&settings, words));
    let said = run(&["hold", "1", "--insecure", &url(peer.address())]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("with --expect-status 404"), "{said:?}");
    let expecting = ["hold", "1", "--insecure", "--dwell", "1ms", "--expect-status", "404"];
    let said = run(&[&expecting[..], &[&url(peer.address())]].concat());
    assert!(!said.stderr.contains("status 404"), "{said:?}");
}

#[test]
fn connections_that_do_not_last_are_a_failure() {
    let authority = Authority::new("tlslab test");
    let peer = peer(&authority, Some((1, Farewell::CloseNotify)));
    let said = run(&["--insecure", "--hold", "4", "--dwell", "20ms", &url(peer.address())]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("0 answered again, 4 lost"), "{said:?}");
}

#[test]
fn what_makes_no_sense_is_wrong_usage() {
    for wrong in [&["--hold", "5,3"][..], &["--hold", "0"], &["--hold", "2", "-n", "4"]] {
        refused(&[wrong, &["--insecure", "https://127.0.0.1:1/"]].concat(), 2, "usage");
    }
    refused(&["--dwell", "1s", "--insecure", "https://127.0.0.1:1/"], 2, "usage");
}

#[test]
fn an_address_of_somebody_else_is_reported_before_the_run() {
    let authority = Authority::new("tlslab test");
    let peer = peer(&authority, None);
    let url = url(peer.address());
    let line = refused(&["--insecure", "--source", "192.0.2.1", "-n", "2", &url], 3, "source");
    assert!(line.contains("give addresses of this machine"), "{line}");
    assert_eq!(peer.accepted(), 0);
}

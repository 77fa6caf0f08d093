//! Peers that violate TLS, or whose certificate is rejected.

use tlslab_contract::spec::{Deadlines, RunSpec};
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::peers::forge::{Forgery, flood, ticketing};
use tlslab_testkit::peers::script::Act::{Flood, Receive, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, bare, compressed, hello_retry, secured};
use tlslab_testkit::tls_server::{Settings, Version};

use super::{
    ALL, CONNECTIONS, Client, LIBRARIES, VERIFYING, accounting, accounting_of, completes, fail,
    fails, head, settings,
};
use crate::alone::measured_alone;
use crate::harness::{STEP_MS, measured, trust};

/// A flood of zero bytes, which are no record.
const ZEROS: [u8; 64] = [0; 64];

#[test]
fn what_is_not_tls_breaks_the_protocol() {
    let authority = Authority::new("tlslab test");
    let says = |bytes: &[u8]| bare(vec![Receive, Send(bytes.to_vec()), Wait]);
    let floods = |bytes: &[u8]| bare(vec![Receive, Flood(bytes.to_vec())]);
    let cases: [(&str, &str, Fault); 7] = [
        ("HTTP", "tls_protocol", says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")),
        ("SSH", "tls_protocol", says(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")),
        ("garbage", "tls_protocol", says(&[22, 3, 3, 0, 8, 9, 9, 9, 9, 9, 9, 9, 9])),
        ("zeros", "tls_protocol", floods(&ZEROS)),
        ("an oversized record", "tls_protocol", floods(&[22, 3, 3, 0xff, 0xff])),
        ("fatal alerts", "alert_handshake_failure", floods(&[21, 3, 3, 0, 2, 2, 40])),
        ("HelloRetryRequests", "tls_protocol", hello_retry::forever()),
    ];
    for (name, class, fault) in &cases {
        fails(&authority, name, class, fault);
    }
    // A server of TLS 1.2, which the libraries offer here, may warn.
    let warnings = floods(&[21, 3, 3, 0, 2, 1, 112]);
    fail(&LIBRARIES, &authority, "warnings", "tls_protocol", &warnings);
    let minimal = [Client::Minimal, Client::Lean];
    fail(&minimal, &authority, "warnings", "alert_unrecognized_name", &warnings);
    // The libraries would accept any number of them; the minimal client rejects the first one.
    let empty = floods(&[22, 3, 3, 0, 0]);
    for client in ALL {
        let failed = accounting(&authority, empty.clone(), client).failed;
        let by_library = if let Client::Library(_) = client { CONNECTIONS } else { 1 };
        let expected =
            [("rule_empty_record", by_library), ("tls_protocol", CONNECTIONS - by_library)];
        let expected = expected.into_iter().filter(|(_, count)| *count > 0);
        assert_eq!(failed, expected.map(|(name, n)| (name.to_owned(), n)).collect(), "{client:?}");
    }
}

#[test]
fn floods_behind_the_handshake_end_the_connection() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority);
    let forgeries = [
        Forgery::Empty,
        Forgery::Alerts,
        Forgery::KeyUpdates,
        Forgery::Tickets,
        Forgery::Falsified,
        Forgery::Untyped,
    ];
    for forgery in forgeries {
        let name = format!("{forgery:?}");
        for client in ALL {
            let outcomes = accounting_of(&authority, flood(&settings, forgery), client, patient);
            let failed = [("tls_protocol".to_owned(), CONNECTIONS)].into();
            assert_eq!(outcomes.failed, failed, "{name}, {client:?}");
        }
    }
}

#[test]
fn many_tickets_are_no_flood_for_any_client() {
    let authority = Authority::new("tlslab test");
    let answer = head("Content-Length: 0");
    let fault = ticketing(&settings(&authority), 200, answer);
    completes(&ALL, &authority, "200 tickets", &fault);
}

/// A flood ends by its own length, however slow a busy machine is.
fn patient(spec: RunSpec) -> RunSpec {
    let step = 20 * STEP_MS;
    let deadlines =
        Deadlines { connect_ms: step, handshake_ms: step, first_byte_ms: step, body_ms: step };
    RunSpec { deadlines, ..spec }
}

#[test]
fn handshakes_that_must_not_succeed_do_not() {
    let authority = Authority::new("tlslab test");
    let good = settings(&authority);
    let with = |change: fn(&mut Settings, &Authority)| -> Fault {
        let mut settings = good.clone();
        change(&mut settings, &authority);
        secured(&settings, vec![Wait])
    };
    let cases: [(&str, &str, Fault); 5] = [
        ("expired", "certificate", with(|s, a| s.identities = vec![a.issue_expired(Key::P256)])),
        (
            "wrong name",
            "certificate",
            with(|s, a| {
                s.identities = vec![a.issue_for(Key::P256, &["example.com", "127.0.0.2"])];
            }),
        ),
        (
            "unknown authority",
            "certificate",
            with(|s, _| {
                s.identities = vec![Authority::new("another").issue(Key::P256)];
            }),
        ),
        (
            "no common group",
            "alert_handshake_failure",
            with(|s, _| {
                s.groups = "ffdhe8192".to_owned();
            }),
        ),
        (
            "certificate demanded",
            "alert_certificate_required",
            with(|s, _| {
                s.demands_certificate = true;
            }),
        ),
    ];
    for (name, class, fault) in &cases {
        match *class {
            "certificate" => fail(&VERIFYING, &authority, name, class, fault),
            _ => fails(&authority, name, class, fault),
        }
    }
}

#[test]
fn a_version_that_was_not_asked_for_is_an_alert() {
    let authority = Authority::new("tlslab test");
    let other = Settings { version: Some(Version::Tls12), ..settings(&authority) };
    for client in ALL {
        let fault = secured(&other, vec![Wait]);
        let peer = Peer::start(&settings(&authority), client.preflights(), fault);
        let mut spec = client.spec(peer.address());
        spec.tls.versions = vec!["1.3".parse().unwrap()];
        let record = measured(spec, trust(&authority));
        let failed = [("alert_protocol_version".to_owned(), CONNECTIONS)].into();
        assert_eq!(record.outcomes.failed, failed, "{client:?}");
    }
}

/// A server with a certificate of this size in KiB, followed by this number of other certificates.
fn chain_of(authority: &Authority, kib: usize, others: usize) -> Fault {
    let bloated = authority.issue_bloated(kib * 1024);
    let chain = vec![bloated.certificate.clone(); others];
    secured(&Settings { chain, identities: vec![bloated], ..settings(authority) }, vec![Wait])
}

#[test]
fn a_chain_beyond_64_kib_is_not_taken_in() {
    let authority = Authority::new("tlslab test");
    let cases =
        [("64 KiB", 64, 0), ("1 MiB", 1024, 0), ("1 MiB in parts", 32, 31), ("15 MiB", 1023, 14)];
    for (name, kib, others) in cases {
        fails(&authority, name, "tls_protocol", &chain_of(&authority, kib, others));
    }
}

/// Runs in which every server has this certificate, from the first connection on.
fn served_by(identity: Identity, authority: &Authority) {
    let server = Settings { identities: vec![identity], ..settings(authority) };
    for client in ALL {
        let peer = Peer::honest(&server);
        let record = measured_alone(client.spec(peer.address()), authority);
        assert_eq!(record.outcomes.completed, CONNECTIONS, "{client:?}");
        let subject = record.preflight.certificate.unwrap().subject;
        assert!(!subject.contains('\0') && subject.chars().count() <= 256, "{subject}");
    }
}

#[test]
fn odd_certificates_that_are_valid_are_taken() {
    let authority = Authority::new("tlslab test");
    served_by(authority.issue_bloated(60 * 1024), &authority);
    served_by(authority.issue_crowded(Key::P256, 10_000), &authority);
    served_by(authority.issue_unreadable(Key::P256), &authority);
}

#[test]
fn a_certificate_that_nobody_asked_to_be_compressed_is_not_unpacked() {
    let authority = Authority::new("tlslab test");
    let fault = compressed::bomb(&settings(&authority));
    fails(&authority, "8 MiB of zeros", "tls_protocol", &fault);
}

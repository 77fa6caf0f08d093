//! Servers that turn from plain text to TLS, and peers that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tlslab_probe::{ProbeError, ProbeLimits, ProbeRecord, ProbeSpec, Service, Topic};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Drip, Fin, Flood, Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, after_dialogue, bare, secured};
use tlslab_testkit::tls_server::Settings;

use super::{probed, spec, try_probe, versions};

const EXTENDED_REQUEST: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
const EXTENDED_RESPONSE: &[u8] = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";

/// What a server sends and a client answers, until TLS begins.
fn dialogue(service: Service) -> Vec<(&'static [u8], &'static [u8])> {
    match service {
        Service::Smtp => vec![
            (b"220-mail.test\r\n220 ready\r\n", b"EHLO [127.0.0.1]\r\n"),
            (b"250-mail.test\r\n250-STARTTLS\r\n250 SIZE 1\r\n", b"STARTTLS\r\n"),
            (b"220 go ahead\r\n", b""),
        ],
        Service::Imap => vec![
            (
                b"* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n* OK [ALERT] soon\r\n",
                b"a STARTTLS\r\n",
            ),
            (b"* OK [ALERT] soon\r\na OK begin\r\n", b""),
        ],
        Service::Pop3 => vec![(b"+OK ready\r\n", b"STLS\r\n"), (b"+OK begin\r\n", b"")],
        Service::Postgres => vec![(b"", b"\x00\x00\x00\x08\x04\xd2\x16\x2f"), (b"S", b"")],
        Service::Ldap => vec![(b"", EXTENDED_REQUEST), (EXTENDED_RESPONSE, b"")],
    }
}

fn after(turns: &[(&[u8], &[u8])], then: Fault) -> Fault {
    let owned = turns.iter().map(|(sent, wanted)| (sent.to_vec(), wanted.to_vec()));
    after_dialogue(owned.collect(), then)
}

fn settings() -> Settings {
    let authority = Authority::new("tlslab test");
    Settings { identities: vec![authority.issue(Key::P256)], ..Settings::default() }
}

/// A server that answers a request over TLS.
fn served(service: Service) -> Fault {
    let answering = secured(&settings(), vec![Receive, Send(b"an answer\r\n".to_vec()), Wait]);
    after(&dialogue(service), answering)
}

fn spec_of(peer: &Peer, service: Service, only: &[Topic]) -> ProbeSpec {
    ProbeSpec { starttls: Some(service), ..spec(peer.address(), only) }
}

/// The result for a peer that treats every connection by this fault.
fn asked(fault: Fault, service: Service) -> (Result<ProbeRecord, ProbeError>, u64) {
    let peer = Peer::start(&Settings::default(), 0, fault);
    let limits = ProbeLimits { connection_ms: 300, all_ms: 5_000, ..ProbeLimits::default() };
    let result = try_probe(ProbeSpec { limits, ..spec_of(&peer, service, &[]) });
    (result, peer.accepted())
}

#[test]
fn each_service_shows_what_its_tls_accepts() {
    let secured = secured(&settings(), vec![Receive, Send(b"an answer\r\n".to_vec()), Wait]);
    let plain = probed(Peer::start(&Settings::default(), 0, secured).address(), &[]);
    for service in Service::ALL {
        let peer = Peer::start(&Settings::default(), 0, served(service));
        let record = try_probe(spec_of(&peer, service, &[])).unwrap();
        assert_eq!((record.starttls, &record.incomplete), (Some(service), &None));
        assert_eq!(record.unanswered, [], "{service:?}");
        assert_eq!(versions(&record), versions(&plain), "{service:?}");
        assert_eq!(record.suites, plain.suites);
        assert_eq!(record.groups, plain.groups);
        assert_eq!(record.resumption, plain.resumption, "{service:?}");
        assert_eq!(record.certificates.len(), 1);
        assert_eq!(u64::from(record.connections), peer.accepted(), "each speaks the dialogue");
    }
}

#[test]
fn a_server_that_does_not_turn_to_tls_is_named_by_what_it_does() {
    let greeting = (&b"220 hi\r\n"[..], &b"EHLO [127.0.0.1]\r\n"[..]);
    let extensions = (&b"250-mail.test\r\n250 STARTTLS\r\n"[..], &b"STARTTLS\r\n"[..]);
    let injected = b"220 go\r\n250 injected\r\n".to_vec();
    let slow = std::time::Duration::from_millis(50);
    let silence = "gave no answer in 300 ms";
    let much = "sent more than 16384 bytes before TLS";
    let smtp = Service::Smtp;
    let cases: [(&str, Service, Fault); 16] = [
        (silence, smtp, bare(vec![Wait])),
        (silence, smtp, bare(vec![Drip(b"220-".to_vec(), slow)])),
        (silence, Service::Ldap, bare(vec![Send(b"\x30\x80".to_vec()), Wait])),
        (much, smtp, bare(vec![Flood(b"220-welcome\r\n".to_vec())])),
        (much, Service::Imap, bare(vec![Flood(b"x".to_vec())])),
        (much, Service::Ldap, bare(vec![Flood(b"\x30\x84\x7f\xff\xff\xff".to_vec())])),
        ("greeted with '\u{fffd}[2J'", smtp, bare(vec![Send(b"\x1b[2J\r\n".to_vec()), Wait])),
        ("closed the connection", smtp, bare(vec![Fin])),
        ("reset the connection", Service::Postgres, bare(vec![Receive, Reset])),
        (
            "answered '454 later' to the request for TLS",
            smtp,
            after(&[greeting, extensions], bare(vec![Send(b"454 later\r\n".to_vec()), Wait])),
        ),
        (
            "has no STARTTLS among its extensions",
            smtp,
            after(&[greeting], bare(vec![Send(b"250 SIZE 1\r\n".to_vec()), Wait])),
        ),
        (
            "has no STARTTLS among its extensions",
            smtp,
            after(&[greeting], bare(vec![Send(b"250 STARTTLS\r\n".to_vec()), Wait])),
        ),
        (
            "sent an answer before the request: 'a OK begin'",
            Service::Imap,
            bare(vec![Send(b"* OK ready\r\na OK begin\r\n".to_vec()), Wait]),
        ),
        (
            "sent more in plain text than its answer: '250 injected' (CVE-2011-0411)",
            smtp,
            after(&[greeting, extensions], bare(vec![Send(injected), Wait])),
        ),
        (
            "sent more in plain text than its answer: 'EFATAL' (CVE-2011-0411)",
            Service::Postgres,
            bare(vec![Receive, Send(b"SEFATAL".to_vec()), Wait]),
        ),
        (
            "answered N to the request for TLS: it has none",
            Service::Postgres,
            bare(vec![Receive, Send(b"N".to_vec()), Wait]),
        ),
    ];
    for (words, service, fault) in cases {
        let (result, accepted) = asked(fault, service);
        match result {
            Err(error @ ProbeError::StartTls { .. }) => {
                assert_eq!(error.class(), "no_starttls");
                let said = error.to_string();
                let wanted = format!(" does not turn to TLS as {}: it {words}", service.name());
                assert!(said.ends_with(&wanted), "{said}");
            }
            other => panic!("{words}: {other:?}"),
        }
        assert_eq!(accepted, 1, "{words}: nothing is asked twice");
    }
}

#[test]
fn what_was_found_before_a_server_turns_no_longer_is_kept() {
    const TURNS: u64 = 12;
    let served = served(Service::Smtp);
    let busy = bare(vec![Send(b"421 too many connections\r\n".to_vec()), Wait]);
    let seen = AtomicU64::new(0);
    let fault: Fault = Arc::new(move |socket| {
        let is_served = seen.fetch_add(1, Ordering::Relaxed) < TURNS;
        if is_served { served(socket) } else { busy(socket) }
    });
    let record = asked(fault, Service::Smtp).0.unwrap();
    let words = "connection 13 came to no TLS: the server greeted with '421 too many connections'";
    assert_eq!(record.incomplete.as_deref(), Some(words));
    assert_eq!(record.versions[0].accepted, Some(true));
}

#[test]
fn plain_text_behind_the_dialogue_is_no_tls() {
    let late = bare(vec![Receive, Send(b"250 injected\r\n".to_vec()), Wait]);
    match asked(after(&dialogue(Service::Smtp), late), Service::Smtp).0 {
        Err(error @ ProbeError::NoTls { .. }) => {
            assert!(error.to_string().contains("what is no TLS: '250 injected"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

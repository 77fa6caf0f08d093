//! Handshakes that break off: what they were to show is not known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use openssl::ssl::SslVersion;
use tlslab_probe::{ProbeRecord, Protocol, Topic};
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::peers::script::Act::{Receive, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, bare, except, hello_retry, late};
use tlslab_testkit::tls_server::{Settings, Version};

use super::{names, of_version, probed, serve};

fn identity() -> Identity {
    Authority::new("tlslab test").issue(Key::P256)
}

fn of(version: Version) -> Settings {
    Settings { version: Some(version), identities: vec![identity()], ..Settings::default() }
}

/// The questions of a topic without an answer.
fn open(record: &ProbeRecord, topic: Topic) -> Vec<&str> {
    let of_topic = record.unanswered.iter().filter(|each| each.topic == topic);
    of_topic.map(|each| each.question.as_str()).collect()
}

/// What a peer answers that serves `well_served` connections beyond those that the questions for
/// versions take, and then treats all others by a fault.
fn broken_after(well_served: u64, settings: &Settings, fault: Fault, topic: Topic) -> ProbeRecord {
    let honest = Peer::honest(settings);
    probed(honest.address(), &[Topic::Versions]);
    let peer = Peer::start(settings, honest.accepted() + well_served, fault);
    probed(peer.address(), &[topic])
}

#[test]
fn a_group_beyond_the_usual_ones_hides_nothing() {
    for group in ["MLKEM768", "SecP384r1MLKEM1024", "ffdhe4096"] {
        let server = serve(
            &identity(),
            |context| {
                context.set_min_proto_version(Some(SslVersion::TLS1_3)).unwrap();
                context.set_groups_list(group).unwrap();
            },
            drop,
        );
        let record = probed(server.address(), &[Topic::SignatureSchemes, Topic::Certificates]);
        let schemes = of_version(&record.signature_schemes, Protocol::Tls13);
        assert_eq!(names(schemes), ["ecdsa_secp256r1_sha256"], "{group}");
        assert_eq!((record.certificates.len(), record.unanswered.len()), (1, 0), "{group}");
    }
}

#[test]
fn a_version_without_any_complete_handshake_leaves_its_certificates_open() {
    let peer = Peer::start(&Settings::default(), 0, hello_retry::forever());
    let record = probed(peer.address(), &[Topic::SignatureSchemes, Topic::Certificates]);
    assert_eq!(record.versions[0].accepted, Some(true));
    assert_eq!(record.certificates, []);
    assert_eq!(open(&record, Topic::Certificates), ["certificates of TLS 1.3"]);
    assert_eq!(open(&record, Topic::SignatureSchemes), ["signature schemes of TLS 1.3"]);
}

/// From the first fallback on, this server closes every connection.
#[test]
fn a_server_that_closes_every_connection_has_no_findings_of_protections() {
    const FALLBACK: [u8; 4] = [0x56, 0x00, 1, 0];
    let settings = Settings { identities: vec![identity()], ..Settings::default() };
    let gone = AtomicBool::new(false);
    let fades = move |hello: &[u8]| {
        let falls_back = hello.windows(FALLBACK.len()).any(|window| window == FALLBACK);
        gone.fetch_or(falls_back, Ordering::Relaxed) || falls_back
    };
    let peer = Peer::start(&settings, 0, except(&settings, fades, u64::MAX, Vec::new()));
    let record = probed(peer.address(), &[Topic::Protections]);
    let found = record.protections.as_ref().unwrap();
    assert_eq!((found.fallback_scsv, &found.fallback_refusal), (None, &None));
    assert_eq!(found.hello_retry_request, None);
    let questions = ["fallback SCSV in TLS 1.2", "HelloRetryRequest of TLS 1.3"];
    assert_eq!(open(&record, Topic::Protections), questions);
}

#[test]
fn a_certificate_that_never_comes_is_neither_compressed_nor_not() {
    // rustls, which asks for compressed certificates, does not have this group.
    let server = serve(&identity(), |context| context.set_groups_list("X448").unwrap(), drop);
    let record = probed(server.address(), &[Topic::Compression]);
    assert_eq!(record.compression.as_ref().unwrap().certificates, None);
    assert_eq!(record.unanswered, [], "the server answered, and has what the probe lacks");
    let settings = of(Version::Tls13);
    let record = broken_after(0, &settings, bare(vec![Receive, Reset]), Topic::Compression);
    assert_eq!(record.compression.as_ref().unwrap().certificates, None);
    let questions = open(&record, Topic::Compression);
    assert_eq!((questions.len(), questions[0]), (3, "zlib compression of certificates in TLS 1.3"));
}

#[test]
fn a_server_that_demands_a_certificate_shows_nothing_of_its_tickets() {
    let settings = Settings { demands_certificate: true, ..of(Version::Tls13) };
    let record = probed(Peer::honest(&settings).address(), &[Topic::Resumption]);
    let found = record.resumption.as_ref().unwrap();
    assert_eq!((found.psk, found.tickets, found.max_early_data_bytes), (None, None, None));
    assert_eq!(open(&record, Topic::Resumption), ["tickets of TLS 1.3"]);
    // TLS 1.2 demands it within the handshake: none completes, and the first flight shows the rest.
    let settings = Settings { demands_certificate: true, ..of(Version::Tls12) };
    let topics = [Topic::Suites, Topic::Resumption, Topic::Renegotiation];
    let record = probed(Peer::honest(&settings).address(), &topics);
    assert!(of_version(&record.suites, Protocol::Tls12).accepted.len() > 5);
    let found = record.resumption.as_ref().unwrap();
    assert_eq!((found.session_id, found.ticket), (None, None));
    let questions = ["resumption by session ID in TLS 1.2", "resumption by ticket in TLS 1.2"];
    assert_eq!(open(&record, Topic::Resumption), questions);
    assert_eq!(open(&record, Topic::Renegotiation), ["renegotiation in TLS 1.2"]);
}

#[test]
fn servers_of_different_settings_behind_one_address_are_reported() {
    let topics = [Topic::Suites];
    for version in [Version::Tls12, Version::Tls13] {
        assert!(probed(Peer::honest(&of(version)).address(), &topics).hints.is_empty());
    }
    let servers =
        [Version::Tls12, Version::Tls13].map(|version| late(&of(version), Duration::ZERO));
    let turn = AtomicUsize::new(0);
    let in_turn = move |socket| servers[turn.fetch_add(1, Ordering::Relaxed) % 2](socket);
    let peer = Peer::start(&of(Version::Tls12), 0, Arc::new(in_turn));
    let record = probed(peer.address(), &topics);
    let [hint] = &record.hints[..] else { panic!("{record:?}") };
    assert!(hint.starts_with("the server gave different answers to the same offer of TLS 1.3: "));
    assert!(hint.contains("a refusal") && hint.contains("TLS_AES_"), "{hint}");
    assert_eq!(record.unanswered, []);
}

#[test]
fn one_reset_of_a_handshake_that_is_made_once_is_no_answer() {
    let reset = || bare(vec![Receive, Reset]);
    let record = broken_after(1, &of(Version::Tls12), reset(), Topic::Resumption);
    assert_eq!(record.resumption.as_ref().unwrap().session_id, None);
    assert_eq!(record.unanswered[0].question, "resumption by session ID in TLS 1.2");
    assert_eq!(record.unanswered[0].refusal.class, "reset");
    let record = broken_after(1, &of(Version::Tls13), reset(), Topic::Resumption);
    assert_eq!(record.resumption.as_ref().unwrap().psk, None);
    assert_eq!(open(&record, Topic::Resumption), ["resumption by PSK in TLS 1.3"]);
    // An alert is an answer.
    let alert = bare(vec![Receive, Send(vec![21, 3, 3, 0, 2, 2, 40]), Wait]);
    let record = broken_after(1, &of(Version::Tls13), alert, Topic::Resumption);
    assert_eq!(record.resumption.unwrap().psk, Some(false));
}

#[test]
fn offers_of_protocols_that_all_fail_show_nothing_of_any_other() {
    let alert: Fault = bare(vec![Receive, Send(vec![21, 3, 3, 0, 2, 2, 80]), Wait]);
    let settings = of(Version::Tls13);
    let failed = broken_after(0, &settings, Arc::clone(&alert), Topic::Alpn).alpn.unwrap();
    assert_eq!((failed.accepted.len(), failed.others_known), (0, false));
    assert_eq!((failed.refusal, failed.failed.len()), (None, 12));
    let answered = probed(Peer::honest(&settings).address(), &[Topic::Alpn]).alpn.unwrap();
    assert!(answered.others_known && answered.failed.is_empty());
}

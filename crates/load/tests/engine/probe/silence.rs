//! Servers that do not answer some questions: what these ask for is not known.

use std::time::Duration;

use openssl::ssl::SslVersion;
use tlslab_probe::{
    Chain, OfferFound, ProbeLimits, ProbeOffer, ProbeRecord, ProbeSpec, Protocol, Topic,
};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{self, Fin, Reset, Send, Wait};
use tlslab_testkit::peers::{Fault, Peer, bare, except, late};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_wire::names::TlsVersion;

use super::{serve, spec, try_probe};

/// The time limit of a connection; a second try has three times as much.
const EACH_MS: u32 = 200;

const WORDS: &str = "gave no answer in 200 ms, nor in 600 ms";

/// Whether a client offers exactly TLS 1.2: this version, and a suite that TLS 1.3 does not have.
fn of_tls12(hello: &[u8]) -> bool {
    const VERSION: std::ops::Range<usize> = 9..11;
    hello.get(VERSION) == Some(&[3, 3]) && hello.windows(2).any(|suite| suite == [0xc0, 0x2b])
}

fn settings() -> Settings {
    let identities = vec![Authority::new("tlslab test").issue(Key::P256)];
    Settings { identities, ..Settings::default() }
}

fn only_tls12() -> Settings {
    Settings { version: Some(Version::Tls12), ..settings() }
}

fn limits() -> ProbeLimits {
    ProbeLimits { connection_ms: EACH_MS, ..ProbeLimits::default() }
}

fn asked(peer: &Peer, only: &[Topic]) -> ProbeRecord {
    try_probe(ProbeSpec { limits: limits(), ..spec(peer.address(), only) }).unwrap()
}

/// A peer that serves a client of TLS 1.2 correctly, unless it is one of the first N.
fn marking(clients: u64, acts: Vec<Act>) -> Peer {
    let fault = except(&settings(), of_tls12, clients, acts);
    Peer::start(&settings(), 0, fault)
}

/// The answers to the questions for versions.
fn accepted(record: &ProbeRecord) -> Vec<Option<bool>> {
    record.versions.iter().map(|found| found.accepted).collect()
}

/// The questions without an answer.
fn unanswered(record: &ProbeRecord) -> Vec<&str> {
    record.unanswered.iter().map(|each| each.question.as_str()).collect()
}

/// What a peer answers that serves `well_served` connections beyond those that the questions for
/// versions take, and is then silent.
fn silent_after(well_served: u64, settings: &Settings, topic: Topic) -> ProbeRecord {
    let honest = Peer::honest(settings);
    asked(&honest, &[Topic::Versions]);
    let peer = Peer::start(settings, honest.accepted() + well_served, bare(vec![Wait]));
    asked(&peer, &[topic])
}

#[test]
fn a_late_answer_is_an_answer() {
    for fault in [
        late(&settings(), Duration::from_millis(300)),
        except(&settings(), of_tls12, 1, vec![Wait]),
    ] {
        let record = asked(&Peer::start(&settings(), 0, fault), &[Topic::Versions]);
        let wanted = [true, true, true, true, false, false].map(Some);
        assert_eq!((accepted(&record), unanswered(&record)), (wanted.to_vec(), vec![]));
        assert_eq!(record.versions[1].refusal, None);
    }
}

#[test]
fn a_version_without_an_answer_is_not_known_and_the_others_are() {
    let record = asked(&marking(u64::MAX, vec![Wait]), &[Topic::Versions]);
    // SSL 2.0 is not asked for after a silence.
    assert_eq!(
        accepted(&record),
        [Some(true), None, Some(true), Some(true), Some(false), None],
        "{record:?}"
    );
    let silence = record.versions[1].refusal.as_ref().unwrap();
    assert_eq!((silence.class.as_str(), silence.words.as_str()), ("timeout_handshake", WORDS));
    assert_eq!(record.versions[5].refusal, None);
    let [question] = &record.unanswered[..] else { panic!("{record:?}") };
    assert_eq!((question.topic, question.question.as_str()), (Topic::Versions, "TLS 1.2"));
    assert_eq!((&question.refusal.words, &record.incomplete), (&silence.words, &None));
}

#[test]
fn after_two_silent_versions_the_others_are_not_asked_for() {
    let peer = Peer::start(&settings(), 0, except(&settings(), |_| true, 4, vec![Wait]));
    let spec = ProbeSpec { limits: limits(), ..spec(peer.address(), &[Topic::Versions]) };
    let words = try_probe(spec).unwrap_err().to_string();
    assert!(words.starts_with("cannot say whether") && words.contains(WORDS), "{words}");
    // Two tries for the first version, and one for the next: the server has never answered.
    assert_eq!(peer.accepted(), 3);
}

#[test]
fn a_close_and_a_second_reset_are_answers() {
    for (acts, class) in [(vec![Fin], "closed_handshake"), (vec![Reset], "reset")] {
        let record = asked(&marking(u64::MAX, acts), &[Topic::Versions]);
        let found = &record.versions[1];
        assert_eq!((found.accepted, unanswered(&record)), (Some(false), vec![]), "{class}");
        assert_eq!(found.refusal.as_ref().unwrap().class, class);
    }
    let once = asked(&marking(1, vec![Reset]), &[Topic::Versions]);
    assert_eq!(once.versions[1].accepted, Some(true));
}

#[test]
fn a_close_after_a_silence_is_no_answer() {
    let pause = Duration::from_millis(400);
    let hang_up: Fault = std::sync::Arc::new(move |_socket| std::thread::sleep(pause));
    let honest = Peer::honest(&only_tls12());
    asked(&honest, &[Topic::Versions]);
    let peer = Peer::start(&only_tls12(), honest.accepted(), hang_up);
    let record = asked(&peer, &[Topic::Suites]);
    let words = &record.unanswered[0].refusal.words;
    assert!(words.starts_with("gave no answer in 200 ms, then "), "{words}");
}

#[test]
fn a_list_that_ends_by_a_silence_says_so() {
    let record = silent_after(2, &only_tls12(), Topic::Suites);
    let [suites] = &record.suites[..] else { panic!("{record:?}") };
    assert_eq!((suites.version, suites.accepted.len()), (Protocol::Tls12, 2));
    assert_eq!(suites.refusal.as_ref().unwrap().words, WORDS);
    assert_eq!(unanswered(&record), ["suites of TLS 1.2"]);
    let record = silent_after(0, &only_tls12(), Topic::Certificates);
    assert_eq!((record.certificates, record.unanswered.len()), (Vec::<Chain>::new(), 5));
    // Two second tries were in vain: no other is made.
    let words: Vec<&str> = record.unanswered.iter().map(|q| q.refusal.words.as_str()).collect();
    assert_eq!(words[..3], [WORDS, WORDS, "gave no answer in 200 ms"]);
}

#[test]
fn what_a_silence_leaves_open_is_null() {
    // The session is created, and the server does not answer the client that resumes it.
    let resumption = silent_after(1, &only_tls12(), Topic::Resumption);
    assert_eq!(resumption.resumption.as_ref().unwrap().session_id, None);
    // That handshake is not repeated.
    let first = &resumption.unanswered[0];
    assert_eq!(first.question, "resumption by session ID in TLS 1.2");
    assert_eq!(first.refusal.words, "gave no answer in 200 ms");
    let compression = silent_after(0, &settings(), Topic::Compression).compression.unwrap();
    assert_eq!((compression.records, compression.certificates), (None, None));
    let protections = silent_after(0, &settings(), Topic::Protections).protections.unwrap();
    assert_eq!((protections.fallback_scsv, protections.hello_retry_request), (None, None));
}

#[test]
fn whether_a_client_may_renegotiate_is_not_known_without_an_answer() {
    let identity = &only_tls12().identities[0];
    let ignores = serve(
        identity,
        |context| context.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap(),
        |stream| {
            std::thread::sleep(Duration::from_secs(1));
            drop(stream);
        },
    );
    let record = asked(&ignores, &[Topic::Renegotiation]);
    let found = record.renegotiation.as_ref().unwrap();
    assert_eq!((found.secure, found.client_initiated), (Some(true), None));
    assert_eq!(unanswered(&record), ["renegotiation in TLS 1.2"]);
    // A server that refuses has answered.
    let record = silent_after(1, &only_tls12(), Topic::Renegotiation);
    assert_eq!(record.renegotiation.unwrap().client_initiated, Some(false));
    assert_eq!(record.unanswered, []);
}

#[test]
fn tickets_of_a_server_that_does_not_answer_a_request_are_not_known() {
    let settings = Settings { version: Some(Version::Tls13), ..settings() };
    let fault = tlslab_testkit::peers::first_flight(&settings, vec![Wait]);
    let record = asked(&Peer::start(&settings, 0, fault), &[Topic::Resumption]);
    let found = record.resumption.as_ref().unwrap();
    assert_eq!((found.tickets, found.psk, found.max_early_data_bytes), (None, None, None));
    assert_eq!(unanswered(&record), ["tickets of TLS 1.3"]);
}

fn offers(fault: Fault, versions: &[TlsVersion]) -> Vec<OfferFound> {
    let peer = Peer::start(&settings(), 0, fault);
    let offer = ProbeOffer { versions: versions.to_vec(), ..ProbeOffer::default() };
    let spec = ProbeSpec { limits: limits(), offers: vec![offer], ..spec(peer.address(), &[]) };
    try_probe(spec).unwrap().offers
}

#[test]
fn an_offer_without_an_answer_is_not_known() {
    let tls12 = [TlsVersion::Tls12];
    let of = |clients, acts| except(&settings(), of_tls12, clients, acts);
    let silent = offers(of(u64::MAX, vec![Wait]), &tls12);
    assert_eq!((silent[0].accepted, &*silent[0].refusal.as_ref().unwrap().words), (None, WORDS));
    assert_eq!(offers(of(1, vec![Wait]), &tls12)[0].accepted, Some(true));
    let refused =
        offers(except(&settings(), of_tls12, 9, vec![Send(vec![21, 3, 3, 0, 2, 2, 40])]), &tls12);
    assert_eq!(refused[0].accepted, Some(false));
    assert_eq!(offers(of(u64::MAX, vec![Wait]), &[TlsVersion::Tls13])[0].accepted, Some(true));
}

#[test]
fn the_limit_of_all_connections_is_no_silence_of_the_server() {
    let limits = ProbeLimits { connection_ms: 2_000, all_ms: 300, ..ProbeLimits::default() };
    let peer = Peer::start(&settings(), 0, bare(vec![Wait]));
    let record = try_probe(ProbeSpec { limits, ..spec(peer.address(), &[]) }).unwrap();
    assert_eq!(record.incomplete.as_deref(), Some("the limit of 300ms was reached"));
    assert_eq!((record.versions.len(), record.unanswered.len()), (0, 0));
    // A second try that does not fit is not made.
    let limits = ProbeLimits { connection_ms: 200, all_ms: 500, ..ProbeLimits::default() };
    let spec = ProbeSpec { limits, ..spec(peer.address(), &[]) };
    let words = try_probe(spec).unwrap_err().to_string();
    assert!(words.ends_with("it gave no answer in 200 ms at every offer"), "{words}");
}

//! Handshakes and records in memory: every form, with both libraries, and every check.

use std::sync::atomic::AtomicBool;

use tlslab_contract::record::VerdictCode;
use tlslab_contract::spec::{BackendChoice, Stop};
use tlslab_microbench::in_memory::{
    BulkSpec, Direction, HandshakeForm, HandshakeResult, InMemoryRecord, InMemorySpec, measure,
};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{Group, TlsVersion};

const BACKENDS: [BackendChoice; 2] = [BackendChoice::Rustls, BackendChoice::Openssl];

fn spec(backend: BackendChoice, tls: TlsVersion, key: KeyKind, count: u64) -> InMemorySpec {
    InMemorySpec { backend, stop: Stop::Count(count), ..InMemorySpec::new(tls, key) }
}

fn run(spec: InMemorySpec) -> InMemoryRecord {
    let what = format!("{spec:?}");
    measure(spec, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}: {what}"))
}

/// Asserts that every handshake was the requested one, on both sides, and that the accounting is
/// balanced.
fn completed(record: &InMemoryRecord, count: u64) -> &HandshakeResult {
    let found = record.handshakes.as_ref().expect("handshakes");
    assert_eq!(record.verdicts[0].code, VerdictCode::Valid, "{:?}", record.verdicts);
    assert!(found.outcomes.balanced());
    assert_eq!((found.outcomes.attempts, found.outcomes.completed), (count, count));
    assert_eq!(found.summaries["service"].n, count);
    assert!(found.client.cpu_us > 0.0 && found.server.cpu_us > 0.0);
    found
}

#[test]
fn every_form_of_both_versions_is_what_was_asked_for() {
    for backend in BACKENDS {
        for tls in TlsVersion::CURRENT {
            for form in [HandshakeForm::Full, HandshakeForm::Resumed, HandshakeForm::Mutual] {
                let asked =
                    InMemorySpec { handshake: form, ..spec(backend, tls, KeyKind::EcdsaP256, 20) };
                let record = run(asked);
                let found = completed(&record, 20);
                let (kind, signed, client) = match form {
                    HandshakeForm::Full => ("full", "ecdsa_secp256r1_sha256", "none"),
                    HandshakeForm::Resumed => ("resumed", "none", "none"),
                    HandshakeForm::Mutual => {
                        ("full", "ecdsa_secp256r1_sha256", "ecdsa_secp256r1_sha256")
                    }
                };
                let facts = &found.facts;
                assert_eq!(facts.kind, kind);
                assert_eq!(facts.signature_scheme, signed);
                assert_eq!(facts.client_signature_scheme, client);
            }
        }
    }
}

#[test]
fn every_key_authenticates_either_side() {
    for backend in BACKENDS {
        for key in KeyKind::ALL {
            let asked = InMemorySpec {
                handshake: HandshakeForm::Mutual,
                ..spec(backend, TlsVersion::Tls13, key, 2)
            };
            completed(&run(asked), 2);
        }
    }
    // Two kinds of RSA signature, of which the server could use either.
    for backend in BACKENDS {
        let mut asked = spec(backend, TlsVersion::Tls12, KeyKind::Rsa2048, 2);
        asked.handshake = HandshakeForm::Mutual;
        asked.signature_scheme = "rsa_pkcs1_sha256".parse().unwrap();
        let record = run(asked);
        assert_eq!(completed(&record, 2).facts.client_signature_scheme, "rsa_pkcs1_sha256");
    }
}

#[test]
fn every_group_is_the_one_that_is_used() {
    for group in Group::all() {
        let backends: &[_] = match group {
            Group::Ffdhe2048 | Group::Ffdhe3072 | Group::Ffdhe4096 => &BACKENDS[1..],
            Group::SecP384r1MlKem1024 => &BACKENDS[1..],
            _ => &BACKENDS,
        };
        for &backend in backends {
            let asked =
                InMemorySpec { group, ..spec(backend, TlsVersion::Tls13, KeyKind::EcdsaP256, 2) };
            assert_eq!(completed(&run(asked), 2).facts.group, group.name());
        }
    }
}

#[test]
fn flights_have_sizes_and_a_resumption_needs_fewer_bytes() {
    for backend in BACKENDS {
        let bytes = |form| {
            let mut asked = spec(backend, TlsVersion::Tls13, KeyKind::EcdsaP256, 10);
            asked.handshake = form;
            let record = run(asked);
            let found = completed(&record, 10);
            let from: Vec<_> = found.flights.iter().map(|flight| flight.from.as_str()).collect();
            assert_eq!(from[..3], ["client", "server", "client"]);
            (from.len(), found.flights.iter().map(|flight| flight.bytes).sum::<f64>())
        };
        let (full, resumed) = (bytes(HandshakeForm::Full), bytes(HandshakeForm::Resumed));
        assert_eq!((full.0, resumed.0), (3, 4), "a ticket comes with a resumption only");
        // Certificate and signature are absent; a ticket of some 200 bytes goes both ways.
        assert!(resumed.1 < full.1 + 200.0, "{full:?} {resumed:?}");
    }
}

#[test]
fn threads_share_the_count_and_time_ends_a_run() {
    let mut asked = spec(BackendChoice::Rustls, TlsVersion::Tls13, KeyKind::EcdsaP256, 31);
    asked.threads = 3;
    completed(&run(asked.clone()), 31);
    asked.stop = Stop::DurationMs(50);
    let record = run(asked);
    let found = record.handshakes.as_ref().unwrap();
    completed(&record, found.outcomes.attempts);
    assert!(found.outcomes.attempts >= 3 && found.seconds >= 0.05);
}

#[test]
fn records_of_every_size_arrive_in_both_directions() {
    let suites = [
        (TlsVersion::Tls13, KeyKind::EcdsaP256, "TLS_CHACHA20_POLY1305_SHA256"),
        (TlsVersion::Tls12, KeyKind::Rsa2048, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ];
    for backend in BACKENDS {
        for (tls, key, suite) in suites {
            let mut asked = spec(backend, tls, key, 1000);
            asked.suites = vec![suite.parse().unwrap()];
            asked.bulk = Some(BulkSpec {
                record_sizes: vec![1, 256, 16 * 1024],
                direction: Direction::Both,
            });
            let record = run(asked);
            assert_eq!(record.verdicts[0].code, VerdictCode::Valid);
            assert_eq!(record.bulk.len(), 6);
            for line in &record.bulk {
                assert_eq!((line.records, line.suite.as_str()), (1000, suite));
                assert_eq!(line.bytes, 1000 * u64::from(line.record_size));
                // Header and tag; in TLS 1.3 the content type; in 1.2 AES-GCM has a nonce.
                let overhead = line.wire_bytes - line.bytes;
                assert_eq!(overhead, 1000 * if tls == TlsVersion::Tls13 { 22 } else { 29 });
                assert!(line.seal.cpu_s > 0.0 && line.open.cpu_s > 0.0);
            }
        }
    }
}

#[test]
fn openssl_has_the_suites_that_rustls_lacks() {
    for (key, suite) in [
        (KeyKind::EcdsaP256, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
        (KeyKind::Rsa2048, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
        (KeyKind::Rsa2048, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    ] {
        let mut asked = spec(BackendChoice::Auto, TlsVersion::Tls12, key, 2);
        asked.suites = vec![suite.parse().unwrap()];
        let record = run(asked.clone());
        assert_eq!(
            (record.backend.as_str(), completed(&record, 2).facts.suite.as_str()),
            ("openssl", suite)
        );
        asked.bulk = Some(BulkSpec { record_sizes: vec![300], direction: Direction::Receive });
        assert_eq!(run(asked.clone()).bulk[0].bytes, 600);
        asked.backend = BackendChoice::Rustls;
        let error = measure(asked, &AtomicBool::new(false)).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("rustls has no suite"), "{error}");
    }
}

#[test]
fn an_interrupted_run_says_so() {
    let asked = spec(BackendChoice::Rustls, TlsVersion::Tls13, KeyKind::EcdsaP256, 1000);
    let record = measure(asked, &AtomicBool::new(true)).unwrap();
    let codes: Vec<_> = record.verdicts.iter().map(|verdict| verdict.code).collect();
    assert_eq!(codes, [VerdictCode::NothingCompleted, VerdictCode::Interrupted]);
}

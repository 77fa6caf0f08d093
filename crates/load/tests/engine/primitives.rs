//! The primitives: all requested ones are measured, with both libraries, and no others.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use tlslab_microbench::primitives::{PrimitivesRecord, PrimitivesSpec, TCP, measure};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group};

fn spec() -> PrimitivesSpec {
    PrimitivesSpec {
        backends: Vec::new(),
        groups: Vec::new(),
        certificates: Vec::new(),
        suites: Vec::new(),
        time_ms: 1,
        cpu: None,
        tcp: false,
        plain: None,
        response_bytes: 500,
    }
}

fn run(spec: PrimitivesSpec) -> PrimitivesRecord {
    let record = measure(spec, &AtomicBool::new(false)).unwrap();
    for primitive in &record.primitives {
        assert!(primitive.calls > 0 && primitive.rounds >= 3, "{primitive:?}");
        assert!(primitive.low_us <= primitive.median_us, "{primitive:?}");
        assert!(primitive.median_us <= primitive.high_us, "{primitive:?}");
    }
    record
}

/// The algorithms that a library has an operation for.
fn algorithms(record: &PrimitivesRecord, backend: &str, operation: &str) -> BTreeSet<String> {
    let is = |p: &&_| -> bool {
        let p: &tlslab_microbench::primitives::Primitive = p;
        p.backend == backend && p.operation == operation
    };
    record.primitives.iter().filter(is).map(|p| p.algorithm.clone()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_group_has_all_its_parts() {
    let record = run(PrimitivesSpec { groups: Group::all().collect(), ..spec() });
    let all: BTreeSet<String> = Group::all().map(|group| group.to_string()).collect();
    for part in ["generate", "client", "server"] {
        assert_eq!(algorithms(&record, "openssl", part), all);
        let lacking: BTreeSet<_> =
            all.difference(&algorithms(&record, "rustls", part)).cloned().collect();
        let expected = ["SecP384r1MLKEM1024", "ffdhe2048", "ffdhe3072", "ffdhe4096"];
        assert_eq!(lacking, set(&expected));
    }
    assert!(record.primitives.iter().all(|p| p.operation != "both"));
}

#[test]
fn every_key_signs_and_verifies() {
    let certificates = vec![
        KeyKind::EcdsaP256,
        KeyKind::EcdsaP384,
        KeyKind::EcdsaP521,
        KeyKind::Ed25519,
        KeyKind::Rsa2048,
    ];
    let record = run(PrimitivesSpec { certificates, ..spec() });
    let expected = set(&[
        "ecdsa_secp256r1_sha256",
        "ecdsa_secp384r1_sha384",
        "ecdsa_secp521r1_sha512",
        "ed25519",
        "rsa_pkcs1_sha256 rsa-2048",
        "rsa_pss_rsae_sha256 rsa-2048",
    ]);
    for backend in ["rustls", "openssl"] {
        assert_eq!(algorithms(&record, backend, "sign"), expected);
        assert_eq!(algorithms(&record, backend, "verify"), expected);
    }
}

#[test]
fn every_suite_has_its_hash_its_key_schedule_and_its_records() {
    let record = run(PrimitivesSpec { suites: CipherSuite::all().collect(), ..spec() });
    let aead = ["AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305"];
    let cbc = [
        "AES-128-CBC-SHA",
        "AES-128-CBC-SHA256",
        "AES-256-CBC-SHA",
        "AES-256-CBC-SHA256",
        "AES-256-CBC-SHA384",
    ];
    for operation in ["key", "seal", "open"] {
        assert_eq!(algorithms(&record, "rustls", operation), set(&aead));
        assert_eq!(algorithms(&record, "openssl", operation), set(&[&aead[..], &cbc[..]].concat()));
    }
    assert_eq!(algorithms(&record, "rustls", "digest"), set(&["SHA-256", "SHA-384"]));
    let schedules = ["TLS 1.2 SHA-256", "TLS 1.2 SHA-384", "TLS 1.3 SHA-256", "TLS 1.3 SHA-384"];
    assert_eq!(algorithms(&record, "rustls", "full"), set(&schedules));
    let sizes: BTreeSet<_> =
        record.primitives.iter().filter(|p| p.operation == "seal").map(|p| p.bytes).collect();
    assert_eq!(sizes, BTreeSet::from([Some(64), Some(16_384)]));
}

#[test]
fn the_bare_connection_is_measured_at_both_ends() {
    let record = run(PrimitivesSpec { tcp: true, ..spec() });
    let found: Vec<_> = record
        .primitives
        .iter()
        .map(|p| (p.algorithm.as_str(), p.operation.as_str(), p.bytes))
        .collect();
    let expected = [(TCP, "connect", None), (TCP, "request", Some(500)), (TCP, "serve", Some(500))];
    assert_eq!(found, expected);
}

#[test]
fn only_this_machine_is_connected_to() {
    let plain = Some("192.0.2.1:80".parse().unwrap());
    let error = measure(PrimitivesSpec { tcp: true, plain, ..spec() }, &AtomicBool::new(false));
    let error = error.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("not a loopback address"), "{error}");
}

#[test]
fn one_library_can_be_asked_for() {
    let backends = vec!["openssl".to_owned()];
    let record = run(PrimitivesSpec { backends, groups: vec![Group::X25519], ..spec() });
    assert_eq!(algorithms(&record, "rustls", "client"), set(&[]));
    assert_eq!(algorithms(&record, "openssl", "client"), set(&["X25519"]));
}

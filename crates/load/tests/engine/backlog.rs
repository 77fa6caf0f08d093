//! Servers with hardly any room for connections that wait: their SYNs are lost, and sent again
//! after a second. What is measured then is true, and is said to be.

use crate::harness::{BACKENDS, measured, spec, trust, with_minimal_client};
use tlslab_contract::record::{RunRecord, VerdictCode};
use tlslab_contract::spec::{BackendChoice, RunSpec, Stop};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::tls_server::{Settings, TlsServer};
use tlslab_tls::TrustAnchors;

/// A run of 200 connections at once against a server that takes one after the other.
fn crowded(backend: BackendChoice, backlog: i32) -> RunRecord {
    let authority = Authority::new("tlslab");
    let identities = vec![authority.issue(Key::P256)];
    let settings = Settings { identities, backlog: Some(backlog), ..Settings::default() };
    let server = TlsServer::start(&settings);
    let stop = Stop::DurationMs(2_500);
    let spec = with_minimal_client(spec(server.address(), backend));
    let spec = RunSpec { stop, warmup_ms: 300, connections: 200, ..spec };
    let trust: TrustAnchors = trust(&authority);
    measured(spec, trust)
}

#[test]
fn connections_that_wait_beyond_the_measurement_keep_littles_law_and_are_reported() {
    for (backend, backlog) in BACKENDS.into_iter().zip([1, 5]) {
        let record = crowded(backend, backlog);
        let codes: Vec<_> = record.verdicts.iter().map(|verdict| verdict.code).collect();
        assert!(!codes.contains(&VerdictCode::LittlesLaw), "{:?}", record.verdicts);
        let waited = record.slow_connects;
        assert!(waited.count > 50 && waited.listen_overflows.unwrap() > 50, "{waited:?}");
        let note = format!("{} connections waited 1 s or more to connect: ", waited.count);
        assert!(record.notes.iter().any(|said| said.starts_with(&note)), "{:?}", record.notes);
        let unfinished = record.flight.unwrap().unfinished_s;
        assert!(unfinished > 0.1 * record.flight.unwrap().within_s, "{:?}", record.flight);
        // What a closed loop was checked by before would have called this run wrong.
        let service = record.summaries["service"];
        let implied = record.outcomes.completed as f64 / record.seconds * service.mean_ms / 1e3;
        assert!(implied < 0.8 * 200.0, "{implied}");
    }
}

#[test]
fn with_room_enough_nothing_is_said() {
    let record = crowded(BackendChoice::Rustls, 1_000);
    assert_eq!(record.slow_connects.count, 0);
    assert!(!record.notes.iter().any(|note| note.contains("to connect")), "{:?}", record.notes);
}

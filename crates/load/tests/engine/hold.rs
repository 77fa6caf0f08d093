//! Connections that are held open: all are counted, also those that the server drops, and the
//! memory of each is below its bound.

use std::sync::atomic::AtomicBool;

use crate::alone::by_itself;
use crate::harness::{BACKENDS, spec, trust};
use openssl::x509::X509;
use tlslab_contract::spec::{BackendChoice, RunSpec};
use tlslab_load::check::check;
use tlslab_load::error::RunError;
use tlslab_load::hold::{HoldRecord, Plan, hold};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_system::clock::MILLISECOND;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::{Farewell, Settings};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

fn held(spec: RunSpec, trust: TrustAnchors, levels: &[u32]) -> Result<HoldRecord, RunError> {
    let connections = levels.last().copied().unwrap();
    let spec = RunSpec { connections, ..spec }.checked().unwrap();
    let checked = check(&spec, trust)?;
    let plan = Plan { levels: levels.to_vec(), dwell: 40 * MILLISECOND };
    let mut reported = Vec::new();
    let mut report = |level: &_| reported.push(*level);
    let record = hold(&spec, &checked, &plan, &mut report, &AtomicBool::new(false))?;
    assert_eq!(reported, record.levels);
    let failed: u64 = record.failed.values().sum();
    assert_eq!(record.attempts, record.alive + record.lost + failed, "{record:?}");
    Ok(record)
}

fn reference() -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let spec = ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity]);
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

fn connections(record: &HoldRecord) -> Vec<u64> {
    record.levels.iter().map(|level| level.connections).collect()
}

#[test]
fn every_connection_of_every_level_rests_and_answers_again() {
    let (server, trust) = reference();
    for backend in BACKENDS {
        let record = held(spec(server.address(), backend), trust.clone(), &[10, 50]).unwrap();
        assert_eq!((record.attempts, record.alive), (50, 50), "{backend:?}");
        assert_eq!(connections(&record), [10, 50]);
    }
    // A preflight, then two requests on each connection.
    let stats = server.stop().unwrap();
    assert_eq!((stats.handshakes.full, stats.requests), (102, 202));
}

/// The bound in the reference documentation. The server is in the same process, so that the reading
/// contains client and server.
#[test]
fn an_idle_connection_costs_kibibytes_and_not_its_buffers() {
    if !by_itself("hold::an_idle_connection_costs_kibibytes_and_not_its_buffers") {
        return;
    }
    const RUSTLS_CLIENT: u64 = 16 * 1024;
    const OPENSSL_SERVER: u64 = 48 * 1024;
    let (server, trust) = reference();
    let spec = spec(server.address(), BackendChoice::Rustls);
    let record = held(spec, trust, &[200, 800]).unwrap();
    assert_eq!(record.alive, 800);
    let [first, last] = [0, 1].map(|index| record.levels[index]);
    let more = last.memory.anonymous.saturating_sub(first.memory.anonymous);
    let each = more / (last.connections - first.connections);
    assert!(each <= RUSTLS_CLIENT + OPENSSL_SERVER, "{each} bytes for both sides");
}

#[test]
fn connections_come_from_addresses_of_this_machine_only() {
    let (server, trust) = reference();
    let sources = vec!["127.0.0.21".parse().unwrap(), "127.0.0.22".parse().unwrap()];
    let good = RunSpec { sources, ..spec(server.address(), BackendChoice::Rustls) };
    let record = held(good.clone(), trust.clone(), &[20]).unwrap();
    assert_eq!(record.alive, 20);

    let foreign = RunSpec { sources: vec!["192.0.2.9".parse().unwrap()], ..good.clone() };
    let error = held(foreign, trust.clone(), &[1]).unwrap_err();
    assert_eq!(error.class(), "source", "{error}");
    let other = RunSpec { sources: vec!["::1".parse().unwrap()], ..good };
    let error = held(other, trust, &[1]).unwrap_err().to_string();
    assert!(error.contains("from ::1: Address family not supported"), "{error}");
}

#[test]
fn a_server_that_ends_its_connections_after_a_response_loses_them_all() {
    let authority = Authority::new("tlslab test");
    for farewell in [Farewell::CloseNotify, Farewell::Abrupt] {
        let peer = Peer::honest(&Settings {
            identities: vec![authority.issue(Key::P256)],
            body_length: 10,
            last: Some((1, farewell)),
            ..Settings::default()
        });
        for backend in BACKENDS {
            let record = held(spec(peer.address(), backend), trust(&authority), &[8]).unwrap();
            assert_eq!((record.alive, record.lost), (0, 8), "{backend:?}, {farewell:?}");
        }
    }
}

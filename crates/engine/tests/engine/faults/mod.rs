//! Servers that fail in every way that is known, under load, by both back ends: each failure has
//! its class, the books balance, nothing panics, nothing hangs and nothing grows.

mod endings;
mod http;
mod tls;

use crate::alone::measured_alone;
use crate::harness::{BACKENDS, impatient};
use tlslab_engine::outcome::Outcomes;
use tlslab_engine::spec::BackendChoice;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Fault, Peer};
use tlslab_testkit::tls_server::{Settings, Version};

/// The connections of each run.
const CONNECTIONS: u64 = 4;

/// What the peer behind `authority` is: one certificate, TLS 1.3.
fn settings(authority: &Authority) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        ..Settings::default()
    }
}

/// The same with TLS 1.2.
fn settings_of_old(authority: &Authority) -> Settings {
    Settings { version: Some(Version::Tls12), ..settings(authority) }
}

/// The books of a run whose preflight went well and whose connections all met the fault.
fn books(authority: &Authority, fault: Fault, backend: BackendChoice) -> Outcomes {
    // Without a version of its own, so that a fault may be of any.
    let welcome = Settings { version: None, ..settings(authority) };
    let peer = Peer::start(&welcome, 1, fault);
    let record = measured_alone(impatient(peer.address(), backend), authority);
    assert_eq!(record.outcomes.attempts, CONNECTIONS);
    record.outcomes
}

/// Every connection fails, and as what.
fn fails(authority: &Authority, name: &str, class: &str, fault: &Fault) {
    for backend in BACKENDS {
        let outcomes = books(authority, fault.clone(), backend);
        let failed = [(class.to_owned(), CONNECTIONS)].into();
        assert_eq!(outcomes.failed, failed, "{name}, {backend:?}");
    }
}

/// Every connection completes, whatever is odd about it.
fn completes(authority: &Authority, name: &str, fault: &Fault) {
    for backend in BACKENDS {
        let outcomes = books(authority, fault.clone(), backend);
        assert_eq!(outcomes.completed, CONNECTIONS, "{name}, {backend:?}: {outcomes:?}");
    }
}

/// A response's head with this field.
fn head(field: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").into_bytes()
}

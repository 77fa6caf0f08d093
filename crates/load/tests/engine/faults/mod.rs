//! Servers that fail in every known way, under load by both back ends, the engine's minimal client
//! and `--lean`. Each failure has its class, the accounting balances, and nothing panics, hangs or
//! grows.

mod endings;
mod http;
mod tls;

use std::net::SocketAddr;

use crate::alone::measured_alone;
use crate::harness::{BACKENDS, impatient, lean, with_minimal_client};
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::spec::{BackendChoice, RunSpec};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Fault, Peer};
use tlslab_testkit::tls_server::{Settings, Version};

/// The connections of each run.
const CONNECTIONS: u64 = 4;

/// The settings of a peer with one certificate of this authority and TLS 1.3.
fn settings(authority: &Authority) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        body_length: 100,
        ..Settings::default()
    }
}

/// As [`settings`], with TLS 1.2.
fn settings_of_old(authority: &Authority) -> Settings {
    Settings { version: Some(Version::Tls12), ..settings(authority) }
}

/// The client that meets a fault.
#[derive(Debug, Clone, Copy)]
enum Client {
    Library(BackendChoice),
    /// The engine's minimal client, after a first connection by rustls. TLS 1.3 only.
    Minimal,
    /// The minimal client with the settings of `--lean`: it does not look at certificates.
    Lean,
}

const LIBRARIES: [Client; 2] = [Client::Library(BACKENDS[0]), Client::Library(BACKENDS[1])];
const VERIFYING: [Client; 3] = [LIBRARIES[0], LIBRARIES[1], Client::Minimal];
const ALL: [Client; 4] = [LIBRARIES[0], LIBRARIES[1], Client::Minimal, Client::Lean];

/// The accounting of a run whose preflight succeeded and whose connections all met the fault.
fn accounting(authority: &Authority, fault: Fault, client: Client) -> Outcomes {
    accounting_of(authority, fault, client, |spec| spec)
}

/// As [`accounting`], for a run with a changed specification.
fn accounting_of(
    authority: &Authority,
    fault: Fault,
    client: Client,
    change: fn(RunSpec) -> RunSpec,
) -> Outcomes {
    // No version is set, so that a fault may be of any version.
    let welcome = Settings { version: None, ..settings(authority) };
    let peer = Peer::start(&welcome, client.preflights(), fault);
    let record = measured_alone(change(client.spec(peer.address())), authority);
    assert_eq!(record.outcomes.attempts, CONNECTIONS);
    record.outcomes
}

impl Client {
    /// The number of connections before the load: one by each client of the run.
    fn preflights(self) -> u64 {
        match self {
            Self::Library(_) => 1,
            Self::Minimal | Self::Lean => 2,
        }
    }

    /// The specification of a run by this client, with short deadlines.
    fn spec(self, address: SocketAddr) -> RunSpec {
        match self {
            Self::Library(backend) => impatient(address, backend),
            Self::Minimal => with_minimal_client(impatient(address, BackendChoice::Rustls)),
            Self::Lean => lean(impatient(address, BackendChoice::Rustls)),
        }
    }
}

#[test]
fn the_clients_are_who_they_are_called() {
    let authority = Authority::new("tlslab test");
    let peer = Peer::honest(&settings(&authority));
    for client in ALL {
        let record = measured_alone(client.spec(peer.address()), &authority);
        let by_minimal = match client {
            Client::Library(_) => 0,
            Client::Minimal | Client::Lean => CONNECTIONS - 1,
        };
        assert_eq!((record.outcomes.completed, record.minimal_client), (CONNECTIONS, by_minimal));
    }
}

/// Asserts that every connection of every client fails with this class.
fn fails(authority: &Authority, name: &str, class: &str, fault: &Fault) {
    fail(&ALL, authority, name, class, fault);
}

fn fail(clients: &[Client], authority: &Authority, name: &str, class: &str, fault: &Fault) {
    for client in clients {
        let outcomes = accounting(authority, fault.clone(), *client);
        let failed = [(class.to_owned(), CONNECTIONS)].into();
        assert_eq!(outcomes.failed, failed, "{name}, {client:?}");
    }
}

/// Asserts that every connection of these clients completes in spite of the fault.
fn completes(clients: &[Client], authority: &Authority, name: &str, fault: &Fault) {
    for client in clients {
        let outcomes = accounting(authority, fault.clone(), *client);
        assert_eq!(outcomes.completed, CONNECTIONS, "{name}, {client:?}: {outcomes:?}");
    }
}

/// The head of a response with this field.
fn head(field: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").into_bytes()
}

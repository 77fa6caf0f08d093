//! Connections without TLS: the baseline of what TLS costs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use crate::harness::{measured, try_run};
use tlslab_contract::spec::{BodyCheck, RequestsPerConnection, RunSpec, Stop};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::tls::Facts;

fn without_tls(server: &Server, page: &str, requests: RequestsPerConnection) -> RunSpec {
    let url = format!("http://{}{page}", server.address());
    let json = format!(r#"{{"url":"{url}","stop":{{"count":40}},"connections":4}}"#);
    let mut spec: RunSpec = serde_json::from_str(&json).unwrap();
    spec.requests_per_connection = requests;
    spec.http.check_body = BodyCheck::Hash;
    if requests == RequestsPerConnection::Unlimited {
        spec.stop = Stop::DurationMs(200);
    }
    spec
}

#[test]
fn connections_without_tls_are_counted_by_both_sides_and_have_no_handshake() {
    let server = Server::start(&ServeSpec::loopback(ServerBackend::None, vec![])).unwrap();
    let spec = without_tls(&server, "/bytes/4788", RequestsPerConnection::Count(2));
    let record = measured(spec, TrustAnchors::Anyone);
    assert_eq!((record.outcomes.completed, record.requests), (40, 80));
    assert_eq!(record.backend, "none");
    assert_eq!(record.preflight.facts, Facts::without_tls());
    let [facts] = &*record.facts else { panic!("{:?}", record.facts) };
    assert_eq!((&facts.facts, facts.count), (&Facts::without_tls(), 40));
    assert_eq!((record.kinds.full, record.kinds.resumed), (0, 0));
    assert_eq!(record.round_trips.full.get("2"), Some(&40));
    let stats = server.stop().unwrap();
    assert_eq!((stats.handshakes.full, stats.handshakes.failed), (0, 0));
    // The preflight is a connection with one request.
    assert_eq!((stats.connections, stats.requests), (41, 81));
}

#[test]
fn large_bodies_and_kept_connections_come_whole() {
    let server = Server::start(&ServeSpec::loopback(ServerBackend::None, vec![])).unwrap();
    let spec = without_tls(&server, "/bytes/3000000", RequestsPerConnection::Unlimited);
    let record = measured(spec, TrustAnchors::Anyone);
    assert!(record.requests > 0 && record.outcomes.failed.is_empty(), "{:?}", record.outcomes);
    server.stop().unwrap();
}

/// Answers the first request of each connection, and ends the later ones of those that follow the
/// preflight at the second, which it has read.
fn ends_at_the_second_request() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, mut head) = (socket.unwrap(), [0; 1024]);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            // The preflight ends by itself, which is an error or the end here.
            if socket.read(&mut head).is_ok_and(|length| length > 0) {
                socket.write_all(answer).unwrap();
                let _ = socket.read(&mut head);
            }
        }
    });
    address
}

#[test]
fn a_connection_that_ends_without_a_response_has_failed_as_with_tls() {
    let url = format!("http://{}/", ends_at_the_second_request());
    let json = format!(r#"{{"url":"{url}","stop":{{"count":3}}}}"#);
    let mut spec: RunSpec = serde_json::from_str(&json).unwrap();
    spec.requests_per_connection = RequestsPerConnection::Count(2);
    let record = try_run(spec, TrustAnchors::Anyone).unwrap();
    assert_eq!(record.outcomes.completed, 0, "{:?}", record.outcomes);
    assert_eq!(record.outcomes.failed.get("closed_first_byte"), Some(&3), "{:?}", record.outcomes);
}

#[test]
fn a_server_that_speaks_tls_is_not_measured_without_it() {
    let identities = vec![self_signed(KeyKind::EcdsaP256).unwrap().identity];
    let server = Server::start(&ServeSpec::loopback(ServerBackend::Rustls, identities)).unwrap();
    let spec = without_tls(&server, "/", RequestsPerConnection::Count(1));
    try_run(spec, TrustAnchors::Anyone).unwrap_err();
    server.stop().unwrap();
}

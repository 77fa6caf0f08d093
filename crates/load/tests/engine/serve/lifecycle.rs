//! Starting and stopping.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use tlslab_serve::ServerBackend::{Openssl, Rustls};
use tlslab_serve::{Identity, ServeError, ServeSpec, Server};
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::TlsVersion;

use super::client::{Client, context, serve, serve_with};

fn identity() -> Identity {
    self_signed(KeyKind::EcdsaP256).unwrap().identity
}

#[test]
fn several_workers_serve_on_one_port() {
    for backend in [Openssl, Rustls] {
        let (server, trusted) = serve_with(backend, &[KeyKind::EcdsaP256], |spec| spec.threads = 3);
        for _ in 0..24 {
            assert_eq!(Client::connect(&server, context(&trusted)).get("/bytes/1").status, 200);
        }
        let stats = server.stop().unwrap();
        assert_eq!((stats.connections, stats.handshakes.full, stats.requests), (24, 24, 24));
    }
}

#[test]
fn stopping_ends_idle_connections_orderly_and_frees_the_port() {
    for backend in [Openssl, Rustls] {
        let (server, trusted) = serve(backend, &[KeyKind::EcdsaP256]);
        let address = server.address();
        let mut idle = Client::connect(&server, context(&trusted));
        assert_eq!(idle.get("/bytes/1").status, 200);
        let silent = TcpStream::connect(address).unwrap();
        server.stop().unwrap();
        assert!(idle.is_ended());
        assert!(TcpStream::connect(address).is_err());
        let mut spec = ServeSpec::loopback(backend, vec![identity()]);
        spec.listen = address;
        drop(silent);
        assert_eq!(Server::start(&spec).unwrap().address(), address);
    }
}

#[test]
fn a_response_under_way_is_sent_in_full_before_the_stop() {
    for backend in [Openssl, Rustls] {
        let (server, trusted) = serve(backend, &[KeyKind::EcdsaP256]);
        let mut client = Client::connect(&server, context(&trusted));
        client.send("GET /bytes/8000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        // The first bytes of the response have come, and most of it cannot have been sent.
        client.0.get_ref().peek(&mut [0; 1]).unwrap();
        let stopping = thread::spawn(|| server.stop().unwrap());
        thread::sleep(Duration::from_millis(20));
        assert!(client.response().is_intact());
        assert!(client.is_ended());
        drop(client);
        assert_eq!(stopping.join().unwrap().requests, 1);
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (running, _) = serve(Openssl, &[KeyKind::EcdsaP256]);
    let mut spec = ServeSpec::loopback(Openssl, vec![identity()]);
    spec.listen = running.address();
    let error = Server::start(&spec).unwrap_err();
    let expected = format!("cannot listen on {}: Address already in use", running.address());
    assert!(!error.is_usage() && error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = |change: fn(&mut ServeSpec)| {
        let mut spec = ServeSpec::loopback(Openssl, vec![identity()]);
        change(&mut spec);
        let error = Server::start(&spec).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    assert_eq!(refused(|s| s.threads = 0), "threads must be at least 1");
    assert!(refused(|s| s.identities.clear()).starts_with("a server needs a certificate"));
    let outside = refused(|s| {
        s.versions = vec![TlsVersion::Tls13];
        s.suites = vec!["AES128-SHA".parse().unwrap()];
    });
    assert!(outside.contains("belongs to TLS 1.2, which is not among"), "{outside}");
    let without = refused(|s| {
        s.versions = TlsVersion::CURRENT.to_vec();
        s.suites = vec!["AES128-SHA".parse().unwrap()];
    });
    assert!(without.starts_with("no suite given for TLS 1.3"), "{without}");
}

#[test]
fn a_processor_that_is_not_there_is_named() {
    let mut spec = ServeSpec::loopback(Openssl, vec![identity()]);
    spec.cpus = vec![1023];
    let error = Server::start(&spec).unwrap_err();
    assert!(matches!(error, ServeError::Pin { processor: 1023, .. }), "{error}");
}

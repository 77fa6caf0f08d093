//! The OpenSSL back end and peers that fail: each failure has its class, and a message for people.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::support::{connect, connect_with, settings, settings_of};
use tlslab_contract::spec::Authenticate;
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::tamper::falsify_signature;
use tlslab_testkit::tls_server::{Settings, TlsServer, Version};
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::{BackendError, ClientSettings};
use tlslab_wire::names::{Group, TlsVersion};
use tlslab_wire::outcome::{Failure, Step};

fn serving(identity: Identity) -> TlsServer {
    TlsServer::start(&Settings { identities: vec![identity], ..Settings::default() })
}

/// The failure of a connection, with the library's message.
fn failure(settings: &ClientSettings, address: SocketAddr) -> (Failure, String) {
    connect(settings, address).err().expect("the connection was to fail")
}

fn certificate_failure(words: &str) -> (Failure, String) {
    (Failure::Certificate, words.to_owned())
}

#[test]
fn a_wrong_authority_is_a_certificate_failure() {
    let server = serving(Authority::new("another").issue(Key::P256));
    for version in TlsVersion::CURRENT {
        let settings = settings_of(version, &Authority::new("tlslab test"));
        let words = "unable to get local issuer certificate";
        assert_eq!(failure(&settings, server.address()), certificate_failure(words));
    }
}

#[test]
fn an_expired_certificate_is_a_certificate_failure() {
    let authority = Authority::new("tlslab test");
    let server = serving(authority.issue_expired(Key::P256));
    let words = "certificate has expired";
    assert_eq!(failure(&settings(&authority), server.address()), certificate_failure(words));
}

#[test]
fn a_wrong_name_is_a_certificate_failure_and_a_right_address_is_none() {
    let authority = Authority::new("tlslab test");
    let server = serving(authority.issue(Key::P256));
    let to =
        |name: &str| ClientSettings { server_names: vec![name.to_owned()], ..settings(&authority) };
    let other = failure(&to("example.com"), server.address());
    assert_eq!(other, certificate_failure("hostname mismatch"));
    let other = failure(&to("127.0.0.2"), server.address());
    assert_eq!(other, certificate_failure("IP address mismatch"));
    for name in ["127.0.0.1", "::1"] {
        assert!(connect(&to(name), server.address()).is_ok());
    }
}

#[test]
fn sampling_finds_an_impostor_on_the_first_connection() {
    let server = serving(Authority::new("another").issue(Key::P256));
    let authority = Authority::new("tlslab test");
    let settings = ClientSettings { authenticate: Authenticate::Sampled, ..settings(&authority) };
    let mut backend = OpensslBackend::new(&settings).unwrap();
    let first = connect_with(&mut backend, server.address()).err().unwrap();
    assert_eq!(first.0, Failure::Certificate);
    let second = connect_with(&mut backend, server.address()).ok().unwrap();
    assert!(!second.facts.authenticated);
}

#[test]
fn a_falsified_signature_is_found_however_the_server_is_authenticated() {
    let authority = Authority::new("tlslab test");
    for (key, authenticate) in [
        (Key::P256, Authenticate::Every),
        (Key::Rsa(2048), Authenticate::Every),
        (Key::P256, Authenticate::Sampled),
    ] {
        let server = serving(authority.issue(key));
        let settings =
            ClientSettings { authenticate, ..settings_of(TlsVersion::Tls12, &authority) };
        let mut backend = OpensslBackend::new(&settings).unwrap();
        if authenticate == Authenticate::Sampled {
            connect_with(&mut backend, server.address()).ok().unwrap();
        }
        let (address, proxy) = falsify_signature(server.address());
        let (failure, words) = connect_with(&mut backend, address).err().unwrap();
        assert_eq!((failure, words.as_str()), (Failure::Signature, "bad signature"));
        proxy.join().unwrap();
    }
}

#[test]
fn a_peers_alert_is_named() {
    let authority = Authority::new("tlslab test");
    let server = TlsServer::start(&Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls12),
        groups: "P-384".to_owned(),
        ..Settings::default()
    });
    let (class, words) = failure(&settings_of(TlsVersion::Tls13, &authority), server.address());
    assert_eq!(class.to_string(), "alert_protocol_version");
    assert_eq!(words, "tlsv1 alert protocol version");
    let groups = vec![Group::X25519];
    let settings = ClientSettings { groups, ..settings_of(TlsVersion::Tls12, &authority) };
    let (class, _) = failure(&settings, server.address());
    assert_eq!(class, Failure::Alert(40));
}

#[test]
fn a_peer_that_speaks_no_tls_breaks_the_protocol() {
    let address = peer(|mut client| {
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = client.read_to_end(&mut Vec::new());
    });
    let (class, words) = failure(&settings(&Authority::new("tlslab test")), address);
    assert_eq!((class, words.as_str()), (Failure::TlsProtocol, "wrong version number"));
}

#[test]
fn a_peer_that_leaves_has_closed() {
    let address = peer(|mut client| {
        let _ = client.read(&mut [0; 4096]);
    });
    let (class, _) = failure(&settings(&Authority::new("tlslab test")), address);
    assert_eq!(class, Failure::Closed(Step::Handshake));
}

#[test]
fn a_peer_that_leaves_without_reading_has_reset() {
    let address = peer(|client| {
        // Closing with unread bytes in the receive buffer sends a reset.
        client.peek(&mut [0; 1]).unwrap();
    });
    let (class, _) = failure(&settings(&Authority::new("tlslab test")), address);
    assert_eq!(class, Failure::Reset);
}

#[test]
fn certificates_beyond_the_limit_are_not_taken() {
    let authority = Authority::new("tlslab test");
    let names: Vec<String> = (0..4_000).map(|n| format!("name-{n:05}.example.com")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let server = serving(authority.issue_for(Key::P256, &names));
    let (class, words) = failure(&settings(&authority), server.address());
    assert_eq!((class, words.as_str()), (Failure::TlsProtocol, "excessive message size"));
}

#[test]
fn a_name_that_no_server_can_have_is_refused() {
    let authority = Authority::new("tlslab test");
    for server_name in [String::new(), "a\0b".to_owned(), "x".repeat(256)] {
        let server_names = vec![server_name];
        let error = OpensslBackend::new(&ClientSettings { server_names, ..settings(&authority) })
            .unwrap_err();
        assert!(matches!(error, BackendError::Refused { .. }), "{error}");
    }
    let nameless = ClientSettings { server_names: Vec::new(), ..settings(&authority) };
    let error = OpensslBackend::new(&nameless).unwrap_err().to_string();
    assert_eq!(error, "openssl: an offer has at least one server name");
}

/// Calls this function with one client.
fn peer(does: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || does(listener.accept().unwrap().0));
    address
}

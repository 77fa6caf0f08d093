//! The OpenSSL back end against an OpenSSL server: the settings that it can negotiate, and the
//! facts that it reports.

use crate::support::{Connected, connect, connect_with, settings, settings_of};
use tlslab_contract::spec::{Authenticate, KeyShare};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::tls_server::{DhSize, Farewell, Settings, TlsServer, Version};
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::{
    Alpn, BackendError, ClientSettings, HandshakeKind, KeyExchangeGroup, Progress, SAMPLING_PERIOD,
    Session, TrustAnchors,
};
use tlslab_wire::names::{CipherSuite, Group, KeyExchange, SignatureScheme, TlsVersion};

const DOCUMENT: usize = 4_788;

/// A server that has a certificate of either kind.
fn server(authority: &Authority) -> TlsServer {
    TlsServer::start(&Settings {
        identities: vec![authority.issue(Key::Rsa(2048)), authority.issue(Key::P256)],
        groups: Group::all().map(Group::openssl_name).collect::<Vec<_>>().join(":"),
        dh: Some(DhSize::Bits2048),
        body_length: DOCUMENT,
        ..Settings::default()
    })
}

/// Connects, checks the facts that are always the same, and fetches the document.
fn fetch(settings: &ClientSettings, server: &TlsServer) -> Connected {
    let mut connected = connect(settings, server.address()).unwrap();
    let facts = connected.facts;
    assert_eq!(facts.kind, HandshakeKind::Full);
    assert_eq!(facts.alpn, Some(Alpn::Http11));
    assert!(facts.authenticated && !facts.hello_retry_request);
    assert_eq!(connected.exchange(), Ok(DOCUMENT));
    connected
}

fn named(group: Group) -> Option<KeyExchangeGroup> {
    Some(KeyExchangeGroup::Named(group.code_point()))
}

#[test]
fn every_suite_can_be_forced() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    for suite in CipherSuite::all() {
        let settings = ClientSettings { suites: vec![suite], ..settings(&authority) };
        let facts = fetch(&settings, &server).facts;
        assert_eq!((facts.suite, facts.version), (suite, suite.version()));
        match suite.key_exchange() {
            KeyExchange::Any => assert_eq!(facts.group, named(Group::X25519MlKem768)),
            KeyExchange::Ecdhe => assert_eq!(facts.group, named(Group::X25519)),
            KeyExchange::Dhe => assert_eq!(facts.group, Some(KeyExchangeGroup::FiniteField(2048))),
            KeyExchange::Rsa => assert_eq!(facts.group, None),
        }
        let signed = facts.signature_scheme.is_some();
        assert_eq!(signed, suite.key_exchange() != KeyExchange::Rsa, "{suite}");
    }
}

#[test]
fn every_group_can_be_forced_in_tls13() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    for group in Group::all() {
        let settings =
            ClientSettings { groups: vec![group], ..settings_of(TlsVersion::Tls13, &authority) };
        assert_eq!(fetch(&settings, &server).facts.group, named(group));
    }
}

#[test]
fn every_curve_can_be_forced_in_tls12_with_either_key() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    for group in Group::all().filter(|group| !group.needs_tls13()) {
        for suite in ["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"] {
            let settings = ClientSettings {
                suites: vec![suite.parse().unwrap()],
                groups: vec![group, Group::P256],
                ..settings_of(TlsVersion::Tls12, &authority)
            };
            assert_eq!(fetch(&settings, &server).facts.group, named(group));
        }
    }
}

#[test]
fn every_signature_scheme_of_a_key_can_be_forced() {
    let both = [TlsVersion::Tls12, TlsVersion::Tls13].as_slice();
    let cases = [
        (Key::P256, "ecdsa_secp256r1_sha256", both),
        (Key::P384, "ecdsa_secp384r1_sha384", both),
        (Key::P521, "ecdsa_secp521r1_sha512", both),
        (Key::Ed25519, "ed25519", both),
        (Key::Rsa(2048), "rsa_pss_rsae_sha256", both),
        (Key::Rsa(2048), "rsa_pss_rsae_sha512", both),
        (Key::Rsa(2048), "rsa_pkcs1_sha256", &[TlsVersion::Tls12]),
        (Key::Rsa(2048), "rsa_pkcs1_sha1", &[TlsVersion::Tls12]),
    ];
    let authority = Authority::new("tlslab test");
    for (key, name, versions) in cases {
        let server = TlsServer::start(&Settings {
            identities: vec![authority.issue(key)],
            body_length: DOCUMENT,
            ..Settings::default()
        });
        let scheme: SignatureScheme = name.parse().unwrap();
        for &version in versions {
            // The certificate is signed with ECDSA on P-256; in TLS 1.2 that curve must be offered,
            // too.
            let chain = "ecdsa_secp256r1_sha256".parse().unwrap();
            let signature_schemes = vec![scheme, chain];
            let settings = ClientSettings { signature_schemes, ..settings_of(version, &authority) };
            assert_eq!(fetch(&settings, &server).facts.signature_scheme, Some(scheme), "{version}");
        }
    }
}

#[test]
fn the_size_of_a_servers_own_dh_parameters_is_seen() {
    let authority = Authority::new("tlslab test");
    let server = TlsServer::start(&Settings {
        identities: vec![authority.issue(Key::Rsa(2048))],
        dh: Some(DhSize::Bits3072),
        body_length: DOCUMENT,
        ..Settings::default()
    });
    let suites = vec!["DHE-RSA-AES128-GCM-SHA256".parse().unwrap()];
    let facts = fetch(&ClientSettings { suites, ..settings(&authority) }, &server).facts;
    assert_eq!(facts.group, Some(KeyExchangeGroup::FiniteField(3072)));
}

#[test]
fn a_hello_retry_request_is_seen() {
    let authority = Authority::new("tlslab test");
    let server = TlsServer::start(&Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        groups: "P-384".to_owned(),
        ..Settings::default()
    });
    let groups = vec![Group::X25519, Group::P384];
    let settings = ClientSettings { groups, ..settings_of(TlsVersion::Tls13, &authority) };
    let mut connected = connect(&settings, server.address()).unwrap();
    assert!(connected.facts.hello_retry_request);
    assert_eq!(connected.facts.group, named(Group::P384));
    assert_eq!(connected.exchange(), Ok(0));
}

#[test]
fn a_group_that_tls12_lacks_falls_back_to_static_rsa_and_that_is_reported() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    let groups = vec![Group::X25519MlKem768];
    let suites = ["ECDHE-RSA-AES128-GCM-SHA256", "AES128-GCM-SHA256"];
    let suites = suites.map(|name| name.parse().unwrap()).to_vec();
    let settings = ClientSettings { groups, suites, ..settings_of(TlsVersion::Tls12, &authority) };
    let facts = fetch(&settings, &server).facts;
    assert_eq!((facts.group, facts.signature_scheme), (None, None));
    assert_eq!(facts.suite.key_exchange(), KeyExchange::Rsa);
}

#[test]
fn finished_waits_for_the_request_and_bytes_are_counted() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    let settings = settings_of(TlsVersion::Tls13, &authority);
    let mut connected = connect(&settings, server.address()).unwrap();
    let (hello, waiting) = (connected.socket.sent, connected.session.unsent());
    assert!(waiting > 0);
    let request = b"GET / HTTP/1.1\r\n\r\n";
    let written = connected.session.write(&mut connected.socket, request).unwrap();
    assert_eq!(written, Progress::Done(request.len()));
    assert_eq!(connected.socket.sent, hello);
    // A record's header, the inner content type and the tag (RFC 8446, section 5.2).
    assert_eq!(connected.session.unsent(), waiting + request.len() + 5 + 1 + 16);
    connected.session.flush(&mut connected.socket).unwrap();
    assert_eq!(connected.socket.sent, hello + (waiting + request.len() + 22) as u64);
}

#[test]
fn a_connection_carries_many_requests_and_ends_when_the_server_ends_it() {
    let authority = Authority::new("tlslab test");
    for (version, farewell) in [
        (Version::Tls12, Farewell::CloseNotify),
        (Version::Tls12, Farewell::Abrupt),
        (Version::Tls13, Farewell::CloseNotify),
        (Version::Tls13, Farewell::Abrupt),
    ] {
        let server = TlsServer::start(&Settings {
            identities: vec![authority.issue(Key::P256)],
            version: Some(version),
            body_length: 1_000_000,
            last: Some((3, farewell)),
            ..Settings::default()
        });
        let mut connected = connect(&settings(&authority), server.address()).unwrap();
        for _ in 0..3 {
            assert_eq!(connected.exchange(), Ok(1_000_000));
        }
        assert!(connected.socket.received > 3_000_000);
        let end = match farewell {
            Farewell::CloseNotify => Progress::Closed,
            Farewell::Abrupt => Progress::Cut,
        };
        assert_eq!(connected.read(&mut [0; 16]), Ok(end));
    }
}

#[test]
fn no_connection_resumes_another() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    for version in TlsVersion::CURRENT {
        let mut backend = OpensslBackend::new(&settings_of(version, &authority)).unwrap();
        for _ in 0..3 {
            let mut connected = connect_with(&mut backend, server.address()).unwrap();
            assert_eq!(connected.facts.kind, HandshakeKind::Full);
            assert_eq!(connected.exchange(), Ok(DOCUMENT));
        }
    }
}

#[test]
fn sampling_authenticates_the_first_connection_and_one_in_a_period() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    let authenticate = Authenticate::Sampled;
    let settings = ClientSettings { authenticate, ..settings_of(TlsVersion::Tls13, &authority) };
    let mut backend = OpensslBackend::new(&settings).unwrap();
    for index in 0..=SAMPLING_PERIOD {
        let connected = connect_with(&mut backend, server.address()).unwrap();
        assert_eq!(connected.facts.authenticated, index % SAMPLING_PERIOD == 0, "{index}");
    }
}

#[test]
fn anyone_is_trusted_on_request() {
    let authority = Authority::new("tlslab test");
    let server = server(&authority);
    let settings = ClientSettings { trust: TrustAnchors::Anyone, ..settings(&authority) };
    let mut connected = connect(&settings, server.address()).unwrap();
    assert!(!connected.facts.authenticated);
    assert_eq!(connected.exchange(), Ok(DOCUMENT));
}

#[test]
fn the_servers_certificates_are_handed_out() {
    let authority = Authority::new("tlslab test");
    let identity = authority.issue(Key::P256);
    let certificate = identity.certificate.to_der().unwrap();
    let identities = vec![identity];
    let server = TlsServer::start(&Settings { identities, ..Settings::default() });
    let connected = connect(&settings(&authority), server.address()).unwrap();
    assert_eq!(connected.session.peer_certificates(), [certificate]);
}

#[test]
fn a_reused_key_share_is_refused() {
    let settings =
        ClientSettings { key_share: KeyShare::Reused, ..settings(&Authority::new("tlslab test")) };
    let error = OpensslBackend::new(&settings).unwrap_err();
    assert!(matches!(error, BackendError::Unsupported { .. }));
    assert!(error.to_string().starts_with("openssl has no re-used key share"), "{error}");
}

#[test]
fn an_offer_of_which_no_hello_can_be_made_is_refused() {
    let authority = Authority::new("tlslab test");
    let suites = vec!["ECDHE-ECDSA-AES128-GCM-SHA256".parse().unwrap()];
    let signature_schemes = vec!["rsa_pss_rsae_sha256".parse().unwrap()];
    let settings =
        ClientSettings { suites, signature_schemes, ..settings_of(TlsVersion::Tls12, &authority) };
    let error = OpensslBackend::new(&settings).unwrap_err().to_string();
    assert_eq!(error, "openssl: no ciphers available");
}

//! The settings that can be negotiated, with both back ends.

use openssl::pkey::Id;
use openssl::ssl::SslSessionCacheMode;
use openssl::x509::X509;
use tlslab_serve::ServerBackend::{Openssl, Rustls};
use tlslab_serve::{Identity, ServeSpec, Server, ServerBackend};
use tlslab_tls::openssl::ffi;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, ServerAuthentication, TlsVersion};

use super::client::{Client, context, only_suite, only_version, serve, serve_with};

const BOTH_KEYS: [KeyKind; 2] = [KeyKind::EcdsaP256, KeyKind::Rsa2048];

/// The groups that the rustls back end has.
const RUSTLS_GROUPS: [Group; 6] = [
    Group::X25519,
    Group::P256,
    Group::P384,
    Group::X25519MlKem768,
    Group::SecP256r1MlKem768,
    Group::MlKem768,
];

/// Connects with one version and one group and checks that these were used.
fn use_group(server: &Server, trusted: &[X509], version: TlsVersion, group: Group) {
    let mut offer = context(trusted);
    only_version(&mut offer, version);
    offer.set_groups_list(group.openssl_name()).unwrap();
    // In TLS 1.2 the curve of an ECDSA certificate must be offered, too; RSA has no such rule.
    offer.set_sigalgs_list("rsa_pss_rsae_sha256").unwrap();
    let mut client = Client::connect(server, offer);
    let used: Group = client.group().unwrap().parse().unwrap();
    assert_eq!(used, group);
    assert_eq!(client.get("/bytes/1").status, 200);
}

#[test]
fn openssl_serves_every_group() {
    let (server, trusted) = serve(Openssl, &BOTH_KEYS);
    for group in Group::all() {
        use_group(&server, &trusted, TlsVersion::Tls13, group);
        if !group.needs_tls13() {
            use_group(&server, &trusted, TlsVersion::Tls12, group);
        }
    }
}

#[test]
fn rustls_serves_every_group_of_its_provider() {
    let (server, trusted) = serve(Rustls, &BOTH_KEYS);
    for group in RUSTLS_GROUPS {
        use_group(&server, &trusted, TlsVersion::Tls13, group);
        if !group.needs_tls13() {
            use_group(&server, &trusted, TlsVersion::Tls12, group);
        }
    }
}

#[test]
fn only_the_groups_asked_for_are_served() {
    for backend in [Openssl, Rustls] {
        let only = |spec: &mut ServeSpec| spec.groups = vec![Group::P384];
        let (server, trusted) = serve_with(backend, &BOTH_KEYS, only);
        let mut other = context(&trusted);
        other.set_groups_list("X25519").unwrap();
        assert!(Client::try_connect(&server, &other.build()).is_err());
        let client = Client::connect(&server, context(&trusted));
        assert_eq!(client.group().unwrap().parse(), Ok(Group::P384));
        let handshakes = server.stop().unwrap().handshakes;
        assert_eq!((handshakes.full, handshakes.failed), (1, 1), "{backend:?}");
    }
}

/// Connects with each suite alone and checks that it was used, with a matching certificate.
fn use_suites(backend: ServerBackend, suites: impl Iterator<Item = CipherSuite>) -> usize {
    let (server, trusted) = serve(backend, &BOTH_KEYS);
    let mut used = 0;
    for suite in suites {
        let mut offer = context(&trusted);
        only_suite(&mut offer, suite);
        let mut client = Client::connect(&server, offer);
        assert_eq!(client.suite(), suite);
        match suite.authentication() {
            ServerAuthentication::Any => {}
            ServerAuthentication::Ecdsa => assert_eq!(client.key(), Id::EC, "{suite}"),
            ServerAuthentication::Rsa => assert_eq!(client.key(), Id::RSA, "{suite}"),
        }
        assert!(client.get("/bytes/20000").is_intact());
        used += 1;
    }
    assert_eq!(server.stats().handshakes.full, used as u64);
    used
}

#[test]
fn openssl_serves_every_suite() {
    assert_eq!(use_suites(Openssl, CipherSuite::all()), CipherSuite::all().count());
}

#[test]
fn rustls_serves_every_suite_of_its_provider() {
    let modern = |suite: &CipherSuite| {
        let name = suite.to_string();
        let forward_secret = name.starts_with("TLS_ECDHE_") || !name.contains("_WITH_");
        forward_secret && (name.contains("_GCM_") || name.contains("_CHACHA20_"))
    };
    assert_eq!(use_suites(Rustls, CipherSuite::all().filter(modern)), 9);
}

#[test]
fn only_the_suites_and_versions_asked_for_are_served() {
    for backend in [Openssl, Rustls] {
        let suite: CipherSuite = "ECDHE-RSA-AES256-GCM-SHA384".parse().unwrap();
        let (server, trusted) = serve_with(backend, &BOTH_KEYS, |spec| spec.suites = vec![suite]);
        assert_eq!(Client::connect(&server, context(&trusted)).suite(), suite);

        let tls13 = |spec: &mut ServeSpec| spec.versions = vec![TlsVersion::Tls13];
        let (server, trusted) = serve_with(backend, &BOTH_KEYS, tls13);
        let mut older = context(&trusted);
        only_version(&mut older, TlsVersion::Tls12);
        assert!(Client::try_connect(&server, &older.build()).is_err());
    }
}

#[test]
fn the_client_chooses_the_certificate_by_its_signature_schemes() {
    for backend in [Openssl, Rustls] {
        let keys = [KeyKind::EcdsaP384, KeyKind::Rsa2048, KeyKind::Ed25519];
        let (server, trusted) = serve(backend, &keys);
        for version in TlsVersion::CURRENT {
            for (scheme, key) in [
                ("ecdsa_secp384r1_sha384", Id::EC),
                ("rsa_pss_rsae_sha256:rsa_pkcs1_sha256", Id::RSA),
                ("ed25519", Id::ED25519),
            ] {
                let mut offer = context(&trusted);
                only_version(&mut offer, version);
                offer.set_sigalgs_list(scheme).unwrap();
                let client = Client::connect(&server, offer);
                assert_eq!(client.key(), key, "{backend:?} {version} {scheme}");
            }
        }
    }
}

#[test]
fn every_kind_of_certificate_key_serves() {
    for backend in [Openssl, Rustls] {
        for key in KeyKind::ALL {
            let (server, trusted) = serve(backend, &[key]);
            for version in TlsVersion::CURRENT {
                let mut offer = context(&trusted);
                only_version(&mut offer, version);
                assert_eq!(Client::connect(&server, offer).get("/bytes/9").status, 200, "{key}");
            }
        }
    }
}

#[test]
fn certificates_between_which_no_client_could_choose_are_refused() {
    let start = |backend, keys: [KeyKind; 2]| {
        let identities =
            keys.map(|key| tlslab_tls::self_signed::self_signed(key).unwrap().identity);
        let spec = ServeSpec::loopback(backend, identities.into());
        Server::start(&spec).map(drop).map_err(|e| (e.is_usage(), e.to_string()))
    };
    for backend in [Openssl, Rustls] {
        let (usage, message) = start(backend, [KeyKind::Rsa2048, KeyKind::Rsa3072]).unwrap_err();
        assert!(usage && message.contains("two certificates with RSA keys"), "{message}");
    }
    assert_eq!(start(Rustls, [KeyKind::EcdsaP256, KeyKind::EcdsaP384]), Ok(()));
    assert!(start(Openssl, [KeyKind::EcdsaP256, KeyKind::EcdsaP384]).is_err());
}

#[test]
fn nothing_is_ever_resumed() {
    for backend in [Openssl, Rustls] {
        let (server, trusted) = serve(backend, &BOTH_KEYS);
        for version in TlsVersion::CURRENT {
            let mut offer = context(&trusted);
            only_version(&mut offer, version);
            let cache = SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL;
            offer.set_session_cache_mode(cache);
            let offer = offer.build();
            let mut first = Client::try_connect(&server, &offer).unwrap();
            assert_eq!(first.get("/bytes/1").status, 200);
            let session = first.0.ssl().session().unwrap().to_owned();
            let mut ssl = openssl::ssl::Ssl::new(&offer).unwrap();
            ffi::session::resume(&mut ssl, &session).unwrap();
            let second = ssl.connect(super::client::tcp(server.address())).unwrap();
            assert!(!second.ssl().session_reused(), "{backend:?} {version}");
        }
        assert_eq!(server.stats().handshakes.resumed, 0);
    }
}

#[test]
fn a_protocol_that_is_spoken_is_agreed_on_or_the_handshake_fails() {
    for backend in [Openssl, Rustls] {
        let (server, trusted) = serve(backend, &BOTH_KEYS);
        let connect = |protocols: &[u8]| {
            let mut offer = context(&trusted);
            offer.set_alpn_protos(protocols).unwrap();
            Client::try_connect(&server, &offer.build())
        };
        let offers: [(&[u8], &[u8]); 3] =
            [(b"\x08http/1.1\x02h2", b"h2"), (b"\x02h2", b"h2"), (b"\x08http/1.1", b"http/1.1")];
        for (offered, agreed) in offers {
            let client = connect(offered).unwrap();
            assert_eq!(client.0.ssl().selected_alpn_protocol(), Some(agreed));
        }
        let error = connect(b"\x02h3").err().unwrap();
        assert!(error.contains("no application protocol"), "{error}");
        let client = Client::connect(&server, context(&trusted));
        assert_eq!(client.0.ssl().selected_alpn_protocol(), None);
    }
}

#[test]
fn what_a_back_end_lacks_is_named_with_what_it_has() {
    let made = tlslab_tls::self_signed::self_signed(KeyKind::EcdsaP256).unwrap();
    let mut spec = ServeSpec::loopback(Rustls, vec![made.identity]);
    spec.groups = vec![Group::X448];
    let error = Server::start(&spec).unwrap_err();
    let expected = "rustls has no group X448; it has: X25519, P-256, P-384, X25519MLKEM768";
    assert!(error.is_usage() && error.to_string().starts_with(expected), "{error}");

    spec.groups.clear();
    spec.suites = vec!["DHE-RSA-AES128-SHA".parse().unwrap()];
    let error = Server::start(&spec).unwrap_err();
    let expected = "rustls has no cipher suite TLS_DHE_RSA_WITH_AES_128_CBC_SHA; it has: ";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn intermediate_certificates_go_with_their_own_certificate_only() {
    let (root, chain, key) = super::client::chain();
    let rsa = tlslab_tls::self_signed::self_signed(KeyKind::Rsa2048).unwrap();
    let rsa_root = X509::from_pem(rsa.authority.as_bytes()).unwrap();
    for backend in [Openssl, Rustls] {
        let identities = vec![Identity::from_pem(&chain, &key).unwrap(), rsa.identity.clone()];
        let server = Server::start(&ServeSpec::loopback(backend, identities)).unwrap();
        for (schemes, length) in [("ecdsa_secp256r1_sha256", 2), ("rsa_pss_rsae_sha256", 1)] {
            let mut offer = context(&[root.clone(), rsa_root.clone()]);
            offer.set_sigalgs_list(&format!("{schemes}:rsa_pkcs1_sha256")).unwrap();
            let client = Client::connect(&server, offer);
            let sent = client.0.ssl().peer_cert_chain().unwrap().len();
            assert_eq!(sent, length, "{backend:?} {schemes}");
        }
    }
}

//! Known settings must give exactly these results.

use openssl::ssl::SslContextBuilder;
use openssl::x509::X509;
use tlslab_probe::{Order, ProbeRecord, ProbeSpec, Protocol, Topic, probe};
use tlslab_serve::ServerBackend::{Openssl, Rustls};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Peer, refusing};
use tlslab_testkit::tls_server::{DhSize, Settings, Version};
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use super::{names, of_version, probed, serve, spec, suites, trust, try_probe, versions};

fn reference(backend: ServerBackend, change: impl FnOnce(&mut ServeSpec)) -> Server {
    let identities =
        [KeyKind::EcdsaP256, KeyKind::Rsa2048].map(|key| self_signed(key).unwrap().identity);
    let mut spec = ServeSpec::loopback(backend, identities.into());
    change(&mut spec);
    Server::start(&spec).unwrap()
}

#[test]
fn the_reference_server_has_every_suite_group_and_scheme_that_the_engine_has() {
    let server = reference(Openssl, |_| {});
    let topics = [Topic::Suites, Topic::Groups, Topic::SignatureSchemes];
    let record = probed(server.address(), &topics);
    assert_eq!(versions(&record), [Protocol::Tls13, Protocol::Tls12]);
    for (version, of_engine) in
        [(Protocol::Tls13, TlsVersion::Tls13), (Protocol::Tls12, TlsVersion::Tls12)]
    {
        let found = of_version(&record.suites, version);
        let all = CipherSuite::all().filter(|suite| suite.version() == of_engine);
        let mut all: Vec<String> = all.map(|suite| suite.to_string()).collect();
        let mut accepted = suites(found);
        all.sort();
        accepted.sort_unstable();
        assert_eq!(accepted, all);
        assert_eq!(found.order, Some(Order::Client));
    }
    let groups: Vec<&str> = Group::all().map(Group::name).collect();
    assert_eq!(names(of_version(&record.groups, Protocol::Tls13)), groups);
    let curves = ["X25519", "P-256", "P-384", "P-521", "X448"];
    assert_eq!(names(of_version(&record.groups, Protocol::Tls12)), curves);
    let mut schemes = names(of_version(&record.signature_schemes, Protocol::Tls13));
    schemes.sort_unstable();
    let of_keys = [
        "ecdsa_secp256r1_sha256",
        "rsa_pss_rsae_sha256",
        "rsa_pss_rsae_sha384",
        "rsa_pss_rsae_sha512",
    ];
    assert_eq!(schemes, of_keys);
    let schemes = names(of_version(&record.signature_schemes, Protocol::Tls12));
    for scheme in SignatureScheme::all().map(|scheme| scheme.to_string()) {
        let legacy =
            scheme.ends_with("sha1") || scheme.starts_with("ed") || scheme.contains("dsa4");
        let of_other_keys = scheme.starts_with("mldsa") || scheme.starts_with("rsa_pss_pss");
        let wanted = !legacy && !of_other_keys;
        assert_eq!(schemes.contains(&scheme.as_str()), wanted, "{scheme}");
    }
}

#[test]
fn rustls_as_a_server_is_found_to_be_rustls() {
    let server = reference(Rustls, |spec| spec.groups = vec![Group::P384, Group::X25519]);
    let record = probed(server.address(), &[Topic::Suites, Topic::Groups, Topic::Protections]);
    assert_eq!(suites(of_version(&record.suites, Protocol::Tls13)).len(), 3);
    assert_eq!(suites(of_version(&record.suites, Protocol::Tls12)).len(), 6);
    for version in [Protocol::Tls13, Protocol::Tls12] {
        let mut groups = names(of_version(&record.groups, version));
        groups.sort_unstable();
        assert_eq!(groups, ["P-384", "X25519"]);
    }
    let protections = record.protections.unwrap();
    assert_eq!(protections.hello_retry_request, Some(true));
    assert_eq!(protections.extended_master_secret, Some(true));
    assert_eq!(protections.encrypt_then_mac, None, "it has no suite in CBC mode");
}

#[test]
fn the_order_of_the_server_is_reported_and_kept() {
    let authority = Authority::new("tlslab test");
    for (prefers_its_own, order) in [(true, Order::Server), (false, Order::Client)] {
        let server = Peer::honest(&Settings {
            identities: vec![authority.issue(Key::Rsa(2048))],
            version: Some(Version::Tls12),
            groups: "P-384:X25519".to_owned(),
            prefers_its_own,
            ..Settings::default()
        });
        let record = probed(server.address(), &[Topic::Suites, Topic::Groups]);
        assert_eq!(of_version(&record.suites, Protocol::Tls12).order, Some(order));
        let groups = of_version(&record.groups, Protocol::Tls12);
        let listed = if prefers_its_own { ["P-384", "X25519"] } else { ["X25519", "P-384"] };
        assert_eq!((names(groups), groups.order), (listed.to_vec(), Some(order)));
        assert_eq!(groups.refusal.as_ref().unwrap().class, "alert_handshake_failure");
    }
}

/// OpenSSL chooses an ECDSA certificate of TLS 1.2 only if its curve is listed.
#[test]
fn groups_beside_the_curve_of_the_certificate_are_found() {
    let identity = self_signed(KeyKind::EcdsaP256).unwrap().identity;
    let mut serve = ServeSpec::loopback(Openssl, vec![identity]);
    serve.groups = vec![Group::P256, Group::X25519, Group::X448];
    serve.versions = vec![TlsVersion::Tls12];
    let server = Server::start(&serve).unwrap();
    let record = probed(server.address(), &[Topic::Groups]);
    let mut groups = names(of_version(&record.groups, Protocol::Tls12));
    groups.sort_unstable();
    assert_eq!(groups, ["P-256", "X25519", "X448"]);
}

/// The suites of a server of TLS 1.2 with its own Diffie-Hellman parameters.
fn suites_with(dh: DhSize) -> ProbeRecord {
    let server = Peer::honest(&Settings {
        identities: vec![Authority::new("tlslab test").issue(Key::Rsa(2048))],
        version: Some(Version::Tls12),
        dh: Some(dh),
        ..Settings::default()
    });
    probed(server.address(), &[Topic::Suites])
}

#[test]
fn a_composite_prime_is_noticed_and_a_safe_one_is_not() {
    let weakness = suites_with(DhSize::Composite).dh_prime.unwrap();
    assert!(weakness.starts_with("is composite: "), "{weakness}");
    assert_eq!(suites_with(DhSize::Bits2048).dh_prime, None);
}

#[test]
fn parameters_of_the_servers_own_have_their_size() {
    let record = suites_with(DhSize::Bits3072);
    let suites = of_version(&record.suites, Protocol::Tls12);
    let group = |name: &str| {
        let suite = suites.accepted.iter().find(|suite| suite.name == name).unwrap();
        (suite.group.clone(), suite.bits)
    };
    let dhe = group("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256");
    assert_eq!(dhe, (Some("DH-3072".to_owned()), Some(128)));
    assert_eq!(group("TLS_RSA_WITH_AES_256_GCM_SHA384"), (None, Some(256)));
}

#[test]
fn every_certificate_chain_is_found_and_judged() {
    let authority = Authority::new("tlslab test");
    let keys = [Key::P256, Key::Rsa(2048), Key::Ed25519];
    let server = Peer::honest(&Settings {
        identities: keys.map(|key| authority.issue(key)).to_vec(),
        ..Settings::default()
    });
    let spec = spec(server.address(), &[Topic::Certificates]);
    let record = probe(&spec.clone().checked().unwrap(), trust(&authority)).unwrap();
    let mut keys: Vec<_> =
        record.certificates.iter().map(|chain| chain.certificate.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["ECDSA P-256", "Ed25519", "RSA-2048"]);
    for chain in &record.certificates {
        assert_eq!(chain.versions, [Protocol::Tls13, Protocol::Tls12], "{chain:?}");
        assert_eq!((chain.trusted, &chain.problem), (Some(true), &None));
        assert_eq!((chain.names_count, chain.name_matches), (3, true));
        assert_eq!(chain.names, ["localhost", "127.0.0.1", "::1"]);
        assert_eq!(chain.signature_algorithm, "ecdsa-with-SHA256");
        assert_eq!((chain.bytes, chain.in_order), (chain.certificate.chain_bytes, true));
    }
    let stranger = trust(&Authority::new("another"));
    let record = probe(&spec.clone().checked().unwrap(), stranger).unwrap();
    assert!(record.certificates.iter().all(|chain| chain.trusted == Some(false)));
    let record = try_probe(spec).unwrap();
    assert!(record.certificates.iter().all(|chain| chain.trusted.is_none()));
}

#[test]
fn what_is_wrong_with_a_chain_is_said() {
    let authority = Authority::new("tlslab test");
    let cases = [
        (authority.issue_expired(Key::P256), Some("certificate has expired"), true),
        (authority.issue_for(Key::P256, &["example.org"]), None, false),
    ];
    for (identity, problem, name_matches) in cases {
        let settings = Settings { identities: vec![identity], ..Settings::default() };
        let server = Peer::honest(&settings);
        let spec = spec(server.address(), &[Topic::Certificates]);
        let record = probe(&spec.checked().unwrap(), trust(&authority)).unwrap();
        let [chain] = &record.certificates[..] else { panic!("{record:?}") };
        assert_eq!((chain.problem.as_deref(), chain.name_matches), (problem, name_matches));
    }
}

#[test]
fn a_missing_issuer_is_named() {
    let authority = Authority::new("tlslab test");
    let subordinate = authority.subordinate("an intermediate");
    let identities = vec![subordinate.issue(Key::P256)];
    let intermediate = X509::from_der(subordinate.certificate()).unwrap();
    let found = |chain: Vec<X509>, anchor: &Authority| {
        let settings = Settings { identities: identities.clone(), chain, ..Settings::default() };
        let server = Peer::honest(&settings);
        let spec = spec(server.address(), &[Topic::Certificates]);
        let record = probe(&spec.checked().unwrap(), trust(anchor)).unwrap();
        record.certificates[0].problem.clone()
    };
    assert_eq!(found(vec![intermediate.clone()], &authority), None);
    let words = found(vec![], &authority).unwrap();
    assert!(words.contains("an intermediate' is not among the certificates that"), "{words}");
    let words = found(vec![intermediate], &Authority::new("another")).unwrap();
    assert!(words.contains("tlslab test' is not among"), "{words}");
}

#[test]
fn what_a_certificate_and_a_server_ask_for_is_found() {
    let authority = Authority::new("tlslab test");
    for version in [Version::Tls13, Version::Tls12] {
        for is_asked in [false, true] {
            let identity = if is_asked {
                authority.issue_must_staple(Key::P256)
            } else {
                authority.issue(Key::P256)
            };
            let settings = Settings {
                identities: vec![identity],
                version: Some(version),
                demands_certificate: is_asked,
                ..Settings::default()
            };
            let record = probed(Peer::honest(&settings).address(), &[Topic::Certificates]);
            assert_eq!(record.client_certificate, Some(is_asked), "{version:?}");
            assert_eq!(record.certificates[0].must_staple, is_asked, "{version:?}");
        }
    }
}

#[test]
fn a_chain_with_its_anchor_is_in_order_and_one_with_a_stranger_is_not() {
    let [own, other] = ["tlslab test", "another"].map(Authority::new);
    for (authority, in_order) in [(&own, true), (&other, false)] {
        let extra = X509::from_der(authority.certificate()).unwrap();
        let add = |context: &mut SslContextBuilder| context.add_extra_chain_cert(extra).unwrap();
        let server = serve(&own.issue(Key::P256), add, drop);
        let spec = spec(server.address(), &[Topic::Certificates]);
        let record = probe(&spec.checked().unwrap(), trust(&own)).unwrap();
        let [chain] = &record.certificates[..] else { panic!("{record:?}") };
        assert_eq!((chain.in_order, chain.trusted), (in_order, Some(true)));
        assert_eq!(chain.certificate.chain_length, 2);
    }
}

#[test]
fn a_fallback_that_is_refused_otherwise_than_by_its_alert_is_reported() {
    // The suite value of RFC 7507 at the end of the suites, and one compression method: null.
    const FALLBACK: [u8; 4] = [0x56, 0x00, 1, 0];
    let identities = vec![Authority::new("tlslab").issue(Key::P256)];
    let settings = Settings { identities, ..Settings::default() };
    let found = |alert| {
        let peer = Peer::start(&settings, 0, refusing(&settings, FALLBACK.to_vec(), alert));
        probed(peer.address(), &[Topic::Protections]).protections.unwrap()
    };
    let closing = found(None);
    assert_eq!(closing.fallback_scsv, Some(false));
    assert_eq!(closing.fallback_refusal.unwrap().class, "closed_handshake");
    let refusing = found(Some(86));
    assert_eq!((refusing.fallback_scsv, refusing.fallback_refusal), (Some(true), None));
    // A lower version alone is no fallback, and rejecting it is no protection.
    let one = Settings { version: Some(Version::Tls12), ..settings.clone() };
    let peer = Peer::honest(&one);
    let protections = probed(peer.address(), &[Topic::Protections]).protections.unwrap();
    assert_eq!((protections.fallback_scsv, protections.fallback_refusal), (None, None));
}

#[test]
fn a_server_of_names_that_is_asked_by_its_address_is_reported_with_a_hint() {
    let identity = Authority::new("tlslab").issue(Key::P256);
    let by_name = vec![("localhost".to_owned(), identity.clone())];
    let settings = Settings { identities: vec![identity], by_name, ..Settings::default() };
    let peer = Peer::honest(&settings);
    let nameless =
        ProbeSpec { only: vec![Topic::Versions], ..ProbeSpec::of(peer.address().to_string()) };
    let record = try_probe(nameless).unwrap();
    assert_eq!(versions(&record), []);
    assert!(record.hints.len() == 1 && record.hints[0].contains("--sni"), "{:?}", record.hints);
    let named = probed(peer.address(), &[Topic::Versions]);
    assert_eq!((versions(&named).is_empty(), named.hints.len()), (false, 0));
}

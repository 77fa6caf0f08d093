//! Obsolete settings: SSL 3.0 to TLS 1.1, RC4, 3DES, RSA-1024, DH-1024 between our client and our
//! server; none of them unless both sides allow them.

use crate::harness::{measured, spec, try_run};
use openssl::x509::X509;
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::{BackendChoice, RunSpec, SpecError};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, KeyExchange, ServerAuthentication, TlsVersion};

const OLD: [TlsVersion; 3] = [TlsVersion::Ssl3, TlsVersion::Tls10, TlsVersion::Tls11];

/// A server's specification with an RSA and an ECDSA certificate, and the authority to trust.
fn server_spec(rsa: KeyKind) -> (ServeSpec, TrustAnchors) {
    let made = [rsa, KeyKind::EcdsaP256].map(|kind| self_signed(kind).unwrap());
    let authorities = made
        .each_ref()
        .map(|made| X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap());
    let identities = made.map(|made| made.identity);
    let spec = ServeSpec::loopback(ServerBackend::Openssl, identities.into());
    (spec, TrustAnchors::Certificates(authorities.into()))
}

/// A server that has all obsolete settings.
fn old_server() -> (Server, TrustAnchors) {
    let (mut spec, trust) = server_spec(KeyKind::Rsa1024);
    spec.allow_obsolete = true;
    spec.versions = TlsVersion::ALL.to_vec();
    (Server::start(&spec).unwrap(), trust)
}

fn old_client(server: &Server, version: TlsVersion, suite: CipherSuite) -> RunSpec {
    let mut spec = spec(server.address(), BackendChoice::Auto);
    spec.tls.allow_obsolete = true;
    spec.tls.versions = vec![version];
    spec.tls.suites = vec![suite];
    spec
}

/// Version, suite, group, signature scheme.
fn facts(record: &RunRecord) -> [&str; 4] {
    let [counted] = &*record.facts else { panic!("{:?}", record.facts) };
    assert_eq!((counted.count, record.authenticated), (4, 4));
    let facts = &counted.facts;
    [&facts.tls, &facts.suite, &facts.group, &facts.signature_scheme].map(String::as_str)
}

#[test]
fn the_protocols_of_old_are_spoken_and_verified() {
    let (server, trust) = old_server();
    for (version, suite, expected) in [
        (TlsVersion::Ssl3, "RC4-MD5", ["ssl3", "TLS_RSA_WITH_RC4_128_MD5", "none", "none"]),
        (
            TlsVersion::Tls10,
            "DES-CBC3-SHA",
            ["1.0", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "none", "none"],
        ),
        (TlsVersion::Tls11, "AES128-SHA", ["1.1", "TLS_RSA_WITH_AES_128_CBC_SHA", "none", "none"]),
        (
            TlsVersion::Tls10,
            "DHE-RSA-AES128-SHA",
            ["1.0", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "DH-1024", "rsa_pkcs1_md5_sha1"],
        ),
    ] {
        let record = measured(old_client(&server, version, suite.parse().unwrap()), trust.clone());
        assert_eq!(facts(&record), expected);
        assert_eq!(record.backend, "openssl");
        assert_eq!(record.preflight.certificate.unwrap().key, "RSA-1024");
        let used: Vec<&str> = record.notes[0].split("used: ").collect();
        assert!(used[1].contains(&format!("TLS version {version}")), "{:?}", record.notes);
    }
}

#[test]
fn every_suite_of_every_old_version_is_there() {
    let (server, trust) = old_server();
    let mut runs = 0;
    for version in OLD {
        let known = CipherSuite::all().chain(CipherSuite::obsolete());
        for suite in known.filter(|suite| suite.fits(version)) {
            let mut spec = old_client(&server, version, suite);
            spec.handshake_only = true;
            let record = measured(spec, trust.clone());
            let [tls, name, group, scheme] = facts(&record);
            assert_eq!((tls, name), (&*version.to_string(), &*suite.to_string()));
            assert_eq!(group == "none", suite.key_exchange() == KeyExchange::Rsa, "{suite}");
            let signed = match (suite.key_exchange(), suite.authentication()) {
                (KeyExchange::Rsa, _) => "none",
                (_, ServerAuthentication::Ecdsa) => "ecdsa_sha1",
                _ => "rsa_pkcs1_md5_sha1",
            };
            assert_eq!(scheme, signed, "{suite}");
            runs += 1;
        }
    }
    assert_eq!(runs, 8 + 16 + 16);
    let stats = server.stop().unwrap();
    assert_eq!((stats.handshakes.full, stats.handshakes.failed), (runs * 5, 0));
}

#[test]
fn nothing_obsolete_is_used_by_those_who_name_nothing_of_it() {
    let (server, trust) = old_server();
    for allow_obsolete in [false, true] {
        let mut spec = spec(server.address(), BackendChoice::Openssl);
        spec.tls.allow_obsolete = allow_obsolete;
        let record = measured(spec, trust.clone());
        assert_eq!(facts(&record)[0], "1.3");
        let notes = if allow_obsolete { 1 } else { 0 };
        assert_eq!(record.notes.len(), notes);
        assert!(record.notes.iter().all(|note| note.ends_with("used: none")));
    }
}

#[test]
fn a_client_without_leave_does_not_meet_an_old_server() {
    let (mut spec, trust) = server_spec(KeyKind::Rsa2048);
    spec.allow_obsolete = true;
    spec.versions = OLD.to_vec();
    let server = Server::start(&spec).unwrap();
    for backend in crate::harness::BACKENDS {
        let class =
            try_run(crate::harness::spec(server.address(), backend), trust.clone()).unwrap_err();
        assert_eq!(class.class(), "alert_protocol_version");
    }
    assert_eq!(server.stop().unwrap().handshakes.full, 0);
}

#[test]
fn a_client_without_leave_refuses_short_keys_and_short_primes() {
    let (server, trust) = old_server();
    // rustls has no error for it: to rustls the signature of a short key is invalid.
    for (backend, class) in
        [(BackendChoice::Openssl, "certificate"), (BackendChoice::Rustls, "signature")]
    {
        let suite = "ECDHE-RSA-AES128-GCM-SHA256".parse().unwrap();
        let mut spec = old_client(&server, TlsVersion::Tls12, suite);
        (spec.tls.allow_obsolete, spec.tls.backend) = (false, backend);
        assert_eq!(try_run(spec, trust.clone()).unwrap_err().class(), class);
    }
    let (mut spec, trust) = server_spec(KeyKind::Rsa2048);
    (spec.allow_obsolete, spec.dh_bits) = (true, Some(1024));
    let server = Server::start(&spec).unwrap();
    let suite = "DHE-RSA-AES128-GCM-SHA256".parse().unwrap();
    let mut spec = old_client(&server, TlsVersion::Tls12, suite);
    spec.tls.allow_obsolete = false;
    assert_eq!(try_run(spec, trust).unwrap_err().class(), "tls_protocol");
}

#[test]
fn both_sides_refuse_without_leave() {
    let (server, _) = old_server();
    for version in OLD {
        let mut spec = old_client(&server, version, "AES128-SHA".parse().unwrap());
        spec.tls.allow_obsolete = false;
        let error = spec.checked().unwrap_err();
        assert_eq!(error, SpecError::Obsolete(format!("TLS version {version}")));
        let (mut spec, _) = server_spec(KeyKind::Rsa2048);
        spec.versions = vec![version];
        assert_refused(&spec, &format!("TLS version {version} is obsolete"));
    }
    let (mut spec, _) = server_spec(KeyKind::Rsa2048);
    spec.suites = vec!["RC4-MD5".parse().unwrap()];
    assert_refused(&spec, "suite TLS_RSA_WITH_RC4_128_MD5 is obsolete");
    let (mut spec, _) = server_spec(KeyKind::Rsa2048);
    spec.dh_bits = Some(1024);
    assert_refused(&spec, "Diffie-Hellman with 1024 bits is obsolete");
    let (spec, _) = server_spec(KeyKind::Rsa1024);
    assert_refused(&spec, "a certificate with an RSA-1024 key is obsolete");
}

fn assert_refused(spec: &ServeSpec, words: &str) {
    let error = Server::start(spec).unwrap_err();
    assert!(error.is_usage() && error.to_string().starts_with(words), "{error}");
}

#[test]
fn rustls_has_nothing_of_it_and_says_so() {
    let (server, trust) = old_server();
    let mut spec = old_client(&server, TlsVersion::Tls10, "AES128-SHA".parse().unwrap());
    spec.tls.backend = BackendChoice::Rustls;
    spec.tls.suites.clear();
    let error = try_run(spec, trust).unwrap_err().to_string();
    assert_eq!(error, "rustls has no TLS version 1.0; it has: 1.2, 1.3");
    let (mut spec, _) = server_spec(KeyKind::Rsa2048);
    spec.backend = ServerBackend::Rustls;
    spec.dh_bits = Some(2048);
    assert_refused(&spec, "rustls has no Diffie-Hellman parameters of 2048 bits");
    (spec.dh_bits, spec.versions) = (None, vec![TlsVersion::Tls11]);
    spec.allow_obsolete = true;
    assert_refused(&spec, "rustls has no TLS version 1.1; it has: 1.2, 1.3");
}

#[test]
fn the_size_of_the_servers_prime_is_a_fact_that_can_be_insisted_on() {
    for bits in [1024, 2048, 3072, 4096] {
        let (mut spec, trust) = server_spec(KeyKind::Rsa2048);
        (spec.dh_bits, spec.allow_obsolete) = (Some(bits), bits < 2048);
        let server = Server::start(&spec).unwrap();
        let suite = "DHE-RSA-AES128-GCM-SHA256".parse().unwrap();
        let mut spec = old_client(&server, TlsVersion::Tls12, suite);
        spec.tls.allow_obsolete = bits < 2048;
        spec.tls.dh_bits = Some(bits);
        let record = measured(spec.clone(), trust.clone());
        assert_eq!(facts(&record)[2], format!("DH-{bits}"));
        spec.tls.dh_bits = Some(bits + 1024);
        assert_eq!(try_run(spec, trust).unwrap_err().class(), "unexpected_group");
    }
    let (mut spec, _) = server_spec(KeyKind::Rsa2048);
    spec.dh_bits = Some(2560);
    assert_refused(&spec, "there is no Diffie-Hellman prime of 2560 bits here");
}

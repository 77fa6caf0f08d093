//! OCSP responses that servers staple (RFC 6066, section 8): the clients' observations, and their
//! comparison with the specification.

use std::net::SocketAddr;

use openssl::ssl::StatusType;
use openssl::x509::X509;
use tlslab_contract::spec::{BackendChoice, Resume, RunSpec, Stop};
use tlslab_load::error::RunError;
use tlslab_serve::ServerBackend::{Openssl, Rustls};
use tlslab_serve::{Resumption, ServeSpec, Server, ServerBackend};
use tlslab_testkit::{ocsp_response, ocsp_response_until};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::{SelfSigned, self_signed};
use tlslab_wire::names::{Group, KeyKind, TlsVersion};

use crate::harness::{BACKENDS, lean, measured, spec, try_run, with_minimal_client};
use crate::serve::client::{Client, context, only_version};

/// The length of a response as authorities make them; it needs more than one byte.
const CONTENT: usize = 300;

/// A server with an ECDSA certificate; with a response to staple or without.
fn reference(backend: ServerBackend, stapled: bool) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let response = ocsp_response(made.identity.certificate(), CONTENT);
    stapling(backend, made, stapled.then_some(response))
}

/// The server that staples this response.
fn stapling(
    backend: ServerBackend,
    made: SelfSigned,
    response: Option<Vec<u8>>,
) -> (Server, TrustAnchors) {
    let identity = match response {
        Some(response) => made.identity.with_ocsp_response(response).unwrap(),
        None => made.identity,
    };
    let resumption = Resumption { psk: true, ..Resumption::default() };
    let spec = ServeSpec { resumption, ..ServeSpec::loopback(backend, vec![identity]) };
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

/// Both libraries with both versions, and the minimal client with and without authentication.
fn clients(address: SocketAddr) -> Vec<RunSpec> {
    let libraries = BACKENDS.into_iter().flat_map(|backend| {
        TlsVersion::CURRENT.into_iter().map(move |version| {
            let mut spec = spec(address, backend);
            spec.tls.versions = vec![version];
            spec
        })
    });
    let minimal = spec(address, BackendChoice::Rustls);
    libraries.chain([with_minimal_client(minimal.clone()), lean(minimal)]).collect()
}

#[test]
fn every_client_notes_the_length_of_what_is_stapled() {
    let mut minimal = 0;
    for (server_backend, stapled) in [(Openssl, true), (Rustls, true), (Openssl, false)] {
        let made = self_signed(KeyKind::EcdsaP256).unwrap();
        let response = ocsp_response(made.identity.certificate(), CONTENT);
        let length = response.len() as u32;
        let (server, trust) = stapling(server_backend, made, stapled.then_some(response));
        for mut spec in clients(server.address()) {
            spec.tls.ocsp_stapling = Some(stapled);
            let record = measured(spec, trust.clone());
            let [counted] = &record.facts[..] else { panic!("{:?}", record.facts) };
            assert_eq!(counted.facts.ocsp_response_bytes, if stapled { length } else { 0 });
            assert_eq!(record.preflight.facts, counted.facts);
            assert_eq!((counted.count, record.outcomes.completed), (4, 4));
            minimal += record.minimal_client;
        }
    }
    assert!(minimal >= 3 * 2, "{minimal}");
}

#[test]
fn a_server_that_does_otherwise_is_not_loaded() {
    for stapled in [true, false] {
        let (server, trust) = reference(Openssl, stapled);
        for mut spec in clients(server.address()) {
            spec.tls.ocsp_stapling = Some(!stapled);
            let error = try_run(spec, trust.clone()).unwrap_err();
            assert!(matches!(error, RunError::Preflight { .. }), "{error}");
            assert_eq!(error.class(), "unexpected_ocsp_stapling");
            let words = error.to_string();
            let said = if stapled {
                " staples an OCSP response, and must not ("
            } else {
                " staples no OCSP response ("
            };
            assert!(words.contains(said), "{words}");
            assert_eq!(words.contains("OCSP response of "), stapled, "{words}");
        }
        let loaded = server.stop().unwrap().handshakes.full;
        assert!(loaded <= 2 * 6, "{loaded}");
    }
}

#[test]
fn a_response_that_does_not_say_that_the_certificate_is_good_is_refused() {
    let other = self_signed(KeyKind::EcdsaP256).unwrap();
    for server_backend in [Openssl, Rustls] {
        for (case, words) in [
            "is malformed",
            // OpenSSL's server staples no such response.
            "is for another certificate",
            "has expired",
            "says that the certificate is revoked",
            "does not know the certificate",
        ]
        .into_iter()
        .enumerate()
        .filter(|(case, _)| *case != 1 || server_backend == Rustls)
        {
            let made = self_signed(KeyKind::EcdsaP256).unwrap();
            let own = made.identity.certificate().to_vec();
            let response = match case {
                // An OCSP response in name: a successful one without content.
                0 => vec![0x30, 3, 0x0a, 1, 0],
                1 => ocsp_response(other.identity.certificate(), CONTENT),
                2 => ocsp_response_until("20210101000000Z", &[0x80], &own, CONTENT),
                3 => ocsp_response_until("20991231235959Z", &[0xa1], &own, CONTENT),
                _ => ocsp_response_until("20991231235959Z", &[0x82], &own, CONTENT),
            };
            let (server, trust) = stapling(server_backend, made, Some(response));
            for mut spec in clients(server.address()) {
                spec.tls.ocsp_stapling = Some(true);
                let error = try_run(spec.clone(), trust.clone()).unwrap_err();
                let said = error.to_string();
                // OpenSSL itself refuses what has no content.
                let is_known = said.contains(words) || case == 0 && error.class() == "tls_protocol";
                assert!(is_known, "{:?}: {said}", spec.tls);
                assert!(["certificate", "tls_protocol"].contains(&&*error.class()), "{said}");
            }
        }
    }
}

#[test]
fn a_resumed_handshake_carries_none_and_is_as_asked_for() {
    for server_backend in [Openssl, Rustls] {
        let (server, trust) = reference(server_backend, true);
        for backend in BACKENDS {
            let mut spec = spec(server.address(), backend);
            spec.stop = Stop::Count(40);
            spec.tls.ocsp_stapling = Some(true);
            spec.tls.resume = Resume::Psk;
            spec.tls.resume_ratio = Some(0.5);
            let record = measured(spec, trust.clone());
            assert_eq!(record.outcomes.completed, 40, "{:?}", record.outcomes);
            for counted in &record.facts {
                let is_full = counted.facts.kind == "full";
                assert_eq!(counted.facts.ocsp_response_bytes > 0, is_full, "{:?}", counted.facts);
            }
            assert!(record.facts.iter().any(|counted| counted.facts.kind == "resumed"));
        }
    }
}

#[test]
fn each_certificate_has_its_own_response_and_only_who_asks_gets_it() {
    for backend in [Openssl, Rustls] {
        let (mut identities, mut trusted, mut responses) = (Vec::new(), Vec::new(), Vec::new());
        for (kind, length) in [(KeyKind::EcdsaP256, 10), (KeyKind::Rsa2048, 20)] {
            let made = self_signed(kind).unwrap();
            let response = ocsp_response(made.identity.certificate(), length);
            responses.push(response.clone());
            identities.push(made.identity.with_ocsp_response(response).unwrap());
            trusted.push(X509::from_pem(made.authority.as_bytes()).unwrap());
        }
        let server = Server::start(&ServeSpec::loopback(backend, identities)).unwrap();
        for version in TlsVersion::CURRENT {
            for (schemes, response) in
                ["ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256:rsa_pkcs1_sha256"]
                    .into_iter()
                    .zip(&responses)
            {
                for asks in [true, false] {
                    let mut offer = context(&trusted);
                    only_version(&mut offer, version);
                    offer.set_sigalgs_list(schemes).unwrap();
                    offer.set_groups_list(Group::P256.openssl_name()).unwrap();
                    let client = Client::connect_with(&server, offer, |ssl| {
                        if asks {
                            ssl.set_status_type(StatusType::OCSP).unwrap();
                        }
                    });
                    let expected = asks.then_some(&response[..]);
                    assert_eq!(client.0.ssl().ocsp_status(), expected, "{schemes}");
                }
            }
        }
    }
}

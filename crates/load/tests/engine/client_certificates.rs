//! Mutual authentication: the record must agree with the server's counts.

use crate::harness::{BACKENDS, measured, spec, try_run};
use openssl::x509::X509;
use tlslab_contract::spec::{BackendChoice, ClientIdentity, Resume, RunSpec, Secret, Stop};
use tlslab_load::check::check;
use tlslab_serve::{ClientAuth, Resumption, ServeSpec, Server, ServerBackend, Stats};
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::TlsVersion;

const SERVERS: [ServerBackend; 2] = [ServerBackend::Openssl, ServerBackend::Rustls];

/// The reference server, which requests certificates of this authority, if one is given.
fn reference(
    backend: ServerBackend,
    clients: Option<&Authority>,
    required: bool,
) -> (Server, TrustAnchors) {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let mut spec = ServeSpec::loopback(backend, vec![made.identity]);
    spec.client_auth =
        clients.map(|authority| ClientAuth::from_pem(&authority.pem(), required).unwrap());
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    (Server::start(&spec).unwrap(), TrustAnchors::Certificates(vec![authority]))
}

fn run_spec(
    server: &Server,
    backend: BackendChoice,
    version: TlsVersion,
    own: Option<&Identity>,
) -> RunSpec {
    let mut spec = RunSpec { stop: Stop::Count(5), ..spec(server.address(), backend) };
    spec.tls.versions = vec![version];
    spec.tls.client_identity = own.map(|own| {
        let (certificate, key) = own.pem();
        ClientIdentity { certificate, key: Secret::new(key) }
    });
    spec
}

/// Full and mutual handshakes, and failed ones, by the server's count.
fn counted(stats: &Stats) -> (u64, u64, u64) {
    (stats.handshakes.full, stats.handshakes.mutual, stats.handshakes.failed)
}

#[test]
fn every_kind_of_key_is_shown_on_every_connection() {
    let authority = Authority::new("clients");
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Some(&authority), true);
        let mut handshakes = 0;
        for key in [Key::Rsa(2048), Key::P256, Key::P384, Key::Ed25519] {
            let own = authority.issue_client(key);
            for backend in BACKENDS {
                for (version, handshake_only) in
                    TlsVersion::CURRENT.into_iter().flat_map(|v| [(v, false), (v, true)])
                {
                    let spec = run_spec(&server, backend, version, Some(&own));
                    let record = measured(RunSpec { handshake_only, ..spec }, trust.clone());
                    let facts = &record.facts[0];
                    assert!(facts.facts.client_authenticated, "{key:?} {backend:?} {version}");
                    assert_eq!((facts.count, record.outcomes.completed), (5, 5));
                    handshakes += 5 + 1;
                }
            }
        }
        assert_eq!(counted(&server.stop().unwrap()), (handshakes, handshakes, 0));
    }
}

#[test]
fn a_server_that_does_not_ask_is_not_what_was_asked_for() {
    let own = Authority::new("clients").issue_client(Key::P256);
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, None, true);
        for backend in BACKENDS {
            for version in TlsVersion::CURRENT {
                let spec = run_spec(&server, backend, version, Some(&own));
                let error = try_run(spec, trust.clone()).unwrap_err();
                assert_eq!(error.class(), "unexpected_client_certificate");
            }
        }
        assert_eq!(server.stop().unwrap().handshakes.mutual, 0);
    }
}

/// The failure classes, with a request for a certificate and without.
fn refusals(
    server: &Server,
    trust: &TrustAnchors,
    backend: BackendChoice,
    version: TlsVersion,
    own: Option<&Identity>,
) -> [String; 2] {
    [false, true].map(|handshake_only| {
        let spec = run_spec(server, backend, version, own);
        let tried = try_run(RunSpec { handshake_only, ..spec }, trust.clone());
        tried.map(|_| ()).unwrap_err().class()
    })
}

#[test]
fn the_alert_of_a_server_that_refuses_the_certificate_is_named_even_after_the_handshake() {
    let authority = Authority::new("clients");
    let strange = Authority::new("strangers").issue_client(Key::P256);
    let expired = authority.issue_expired_client(Key::P256);
    for server_backend in SERVERS {
        for required in [true, false] {
            let (server, trust) = reference(server_backend, Some(&authority), required);
            for backend in BACKENDS {
                for version in TlsVersion::CURRENT {
                    let refusals = |own| refusals(&server, &trust, backend, version, Some(own));
                    assert_eq!(
                        refusals(&strange),
                        ["alert_unknown_ca"; 2],
                        "{backend:?} {version}"
                    );
                    assert_eq!(refusals(&expired), ["alert_certificate_expired"; 2]);
                }
            }
            let stats = server.stop().unwrap();
            assert_eq!((stats.handshakes.full, stats.handshakes.mutual), (0, 0));
        }
    }
}

#[test]
fn a_client_without_a_certificate_is_turned_away_where_one_is_required() {
    let authority = Authority::new("clients");
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Some(&authority), true);
        for backend in BACKENDS {
            let refusals = refusals(&server, &trust, backend, TlsVersion::Tls13, None);
            assert_eq!(refusals, ["alert_certificate_required"; 2]);
        }
        let (server, trust) = reference(server_backend, Some(&authority), false);
        for backend in BACKENDS {
            let spec = run_spec(&server, backend, TlsVersion::Tls13, None);
            let record = measured(spec, trust.clone());
            assert!(!record.facts[0].facts.client_authenticated);
        }
        assert_eq!(counted(&server.stop().unwrap()), (12, 0, 0));
    }
}

#[test]
fn the_key_is_in_no_record_and_the_certificates_digest_is() {
    let authority = Authority::new("clients");
    let own = authority.issue_client(Key::P256);
    let (server, trust) = reference(ServerBackend::Openssl, Some(&authority), true);
    let spec = run_spec(&server, BackendChoice::Auto, TlsVersion::Tls13, Some(&own));
    let record = measured(spec, trust);
    let json = serde_json::to_string(&record).unwrap();
    let (_, key) = own.pem();
    for line in key.lines().filter(|line| !line.starts_with("-----")) {
        assert!(!json.contains(line));
    }
    assert!(json.contains(r#""key":"withheld""#));
    let digest = openssl::sha::sha256(&own.certificate.to_der().unwrap());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = record.client_certificate.unwrap();
    assert_eq!((shown.key.as_str(), shown.sha256), ("ECDSA P-256", hex));
}

#[test]
fn a_key_of_another_certificate_is_wrong_usage() {
    let authority = Authority::new("clients");
    let (own, other) = (authority.issue_client(Key::P256), authority.issue_client(Key::P256));
    let (server, _) = reference(ServerBackend::Rustls, Some(&authority), true);
    let mut spec = run_spec(&server, BackendChoice::Auto, TlsVersion::Tls13, Some(&own));
    spec.tls.client_identity.as_mut().unwrap().key = Secret::new(other.pem().1);
    let error = check(&spec.checked().unwrap(), TrustAnchors::Anyone).unwrap_err();
    assert_eq!(error.class(), "usage");
    assert_eq!(
        error.to_string(),
        "client certificate: the private key does not belong to the certificate"
    );
}

/// A resumed session authenticates the client as well: the client sends its certificate in full
/// handshakes only, and the server knows the client in all.
#[test]
fn a_client_shows_its_certificate_in_full_handshakes_and_is_known_when_it_resumes() {
    let authority = Authority::new("clients");
    let own = authority.issue_client(Key::P256);
    let resumption = Resumption { id: true, ticket: true, psk: true, tickets: 2, early_data: 0 };
    for server_backend in SERVERS {
        let made = self_signed(KeyKind::EcdsaP256).unwrap();
        let client_auth = ClientAuth::from_pem(&authority.pem(), true);
        let server = ServeSpec::loopback(server_backend, vec![made.identity]);
        let server = Server::start(&ServeSpec { client_auth, resumption, ..server }).unwrap();
        let trust = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
        let (mut full, mut resumed) = (0, 0);
        for backend in BACKENDS {
            for resume in [Resume::Id, Resume::Ticket, Resume::Psk] {
                let version = resume.version().unwrap();
                let mut spec = run_spec(&server, backend, version, Some(&own));
                (spec.tls.resume, spec.tls.resume_ratio) = (resume, Some(0.5));
                spec.stop = Stop::Count(10);
                let record = measured(spec, TrustAnchors::Certificates(vec![trust.clone()]));
                assert_eq!(record.outcomes.completed, 10, "{:?}", record.outcomes);
                for counted in &record.facts {
                    let facts = &counted.facts;
                    let is_full = facts.kind == "full";
                    assert_eq!((counted.count, facts.client_authenticated), (5, is_full));
                }
                full += 5 + 1 + record.kinds.primed_connections;
                resumed += 5 + 1;
            }
        }
        let stats = server.stop().unwrap();
        assert_eq!(counted(&stats), (full, full + resumed, 0));
        assert_eq!(stats.handshakes.resumed, resumed);
    }
}

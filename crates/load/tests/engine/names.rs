//! Server names taken in turn, and application protocols by name.

use crate::harness::{BACKENDS, measured, spec, trust, try_run};
use tlslab_contract::record::CountedName;
use tlslab_contract::spec::load::{LoadSpec, Rate};
use tlslab_contract::spec::{Resume, RunSpec, Stop};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::tls_server::{Settings, TlsServer, Version};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

const NAMES: [&str; 3] = ["a.test", "b.test", "c.test"];

/// A server that has a certificate for each name, and rejects all other names.
fn by_name(authority: &Authority, version: Version) -> TlsServer {
    let by_name = NAMES.map(|name| (name.to_owned(), authority.issue_for(Key::P256, &[name])));
    TlsServer::start(&Settings {
        identities: vec![authority.issue_for(Key::P256, &["default.test"])],
        by_name: by_name.into(),
        version: Some(version),
        body_length: 10,
        ..Settings::default()
    })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn connections_take_the_names_in_turn_and_each_is_checked_and_counted() {
    let authority = Authority::new("names");
    for version in [Version::Tls12, Version::Tls13] {
        let server = by_name(&authority, version);
        for backend in BACKENDS {
            let mut spec = RunSpec { stop: Stop::Count(10), ..spec(server.address(), backend) };
            spec.tls.server_names = names(&NAMES);
            let record = measured(spec, trust(&authority));
            let counted = NAMES.iter().zip([4, 3, 3]).map(|(name, completed)| CountedName {
                name: (*name).to_owned(),
                completed,
                failed: 0,
                unexpected: 0,
                abandoned: 0,
            });
            assert_eq!(record.server_names, counted.collect::<Vec<_>>(), "{backend:?}");
            assert_eq!(record.authenticated, 10);
        }
    }
}

#[test]
fn arrivals_of_an_open_loop_take_the_names_in_turn() {
    let authority = Authority::new("names");
    let server = by_name(&authority, Version::Tls13);
    for backend in BACKENDS {
        let load = LoadSpec { rate: Some(Rate::Constant(150.0)), ..LoadSpec::default() };
        let stop = Stop::Count(12);
        let mut spec = RunSpec { load, stop, connections: 4, ..spec(server.address(), backend) };
        spec.tls.server_names = names(&NAMES);
        let record = measured(spec, trust(&authority));
        assert!(record.server_names.iter().all(|name| name.completed == 4), "{backend:?}");
        assert!(record.open_loop.is_some());
    }
}

#[test]
fn sessions_to_resume_are_those_of_one_name() {
    let mut spec = spec("127.0.0.1:1".parse().unwrap(), BACKENDS[0]);
    spec.tls.server_names = names(&NAMES);
    spec.tls.resume = Resume::Psk;
    let words = "server_names need full handshakes: a session is resumed under one name";
    assert_eq!(spec.checked().unwrap_err().to_string(), words);
}

#[test]
fn a_name_that_the_server_lacks_is_reported_before_the_load() {
    let authority = Authority::new("names");
    let server = by_name(&authority, Version::Tls13);
    for backend in BACKENDS {
        let mut spec = spec(server.address(), backend);
        spec.tls.server_names = names(&["a.test", "z.test"]);
        let error = try_run(spec, trust(&authority)).unwrap_err();
        assert_eq!(error.class(), "alert_unrecognized_name");
        assert!(error.to_string().contains("as z.test"), "{error}");
    }
}

#[test]
fn a_name_is_sent_in_lower_case_and_without_its_trailing_dot() {
    let authority = Authority::new("names");
    for version in [Version::Tls12, Version::Tls13] {
        let server = by_name(&authority, version);
        for backend in BACKENDS {
            let mut spec = spec(server.address(), backend);
            spec.tls.server_names = names(&["a.test.", "B.Test"]);
            let record = measured(spec, trust(&authority));
            assert_eq!(record.outcomes.completed, 4, "{backend:?}");
            let address = server.address();
            let url = format!("https://A.test.:{}/", address.port());
            let spec = RunSpec {
                url,
                connect_to: Some(address.to_string()),
                ..crate::harness::spec(address, backend)
            };
            assert_eq!(measured(spec, trust(&authority)).outcomes.completed, 4, "{backend:?}");
        }
    }
}

#[test]
fn a_chain_that_has_passed_for_one_name_does_not_pass_for_another() {
    let authority = Authority::new("names");
    let server = TlsServer::start(&Settings {
        identities: vec![authority.issue_for(Key::P256, &["a.test"])],
        body_length: 10,
        ..Settings::default()
    });
    for backend in BACKENDS {
        let mut spec = spec(server.address(), backend);
        spec.tls.server_names = names(&["a.test", "b.test"]);
        let error = try_run(spec, trust(&authority)).unwrap_err();
        assert_eq!(error.class(), "certificate", "{error}");
    }
}

#[test]
fn the_protocol_that_the_server_selects_is_recorded_by_its_name() {
    let authority = Authority::new("protocols");
    for (selected, version) in [("h2", Version::Tls12), ("acme-tls/1", Version::Tls13)] {
        let server = TlsServer::start(&Settings {
            identities: vec![authority.issue(Key::P256)],
            alpn: selected.to_owned(),
            version: Some(version),
            ..Settings::default()
        });
        for backend in BACKENDS {
            let mut spec = RunSpec { handshake_only: true, ..spec(server.address(), backend) };
            spec.tls.alpn = Some(names(&["acme-tls/1", "http/1.1", "h2"]));
            let record = measured(spec.clone(), trust(&authority));
            assert_eq!(record.facts[0].facts.alpn, selected);

            spec.tls.alpn = Some(names(&["spdy/3"]));
            let error = try_run(spec.clone(), trust(&authority)).unwrap_err();
            assert_eq!(error.class(), "unexpected_alpn");

            spec.tls.alpn = Some(Vec::new());
            let record = measured(spec, trust(&authority));
            assert_eq!(record.facts[0].facts.alpn, "none");
        }
    }
}

#[test]
fn a_protocol_that_the_server_does_not_speak_ends_with_its_alert() {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    for server_backend in [ServerBackend::Openssl, ServerBackend::Rustls] {
        let spec = ServeSpec::loopback(server_backend, vec![made.identity.clone()]);
        let server = Server::start(&spec).unwrap();
        for backend in BACKENDS {
            let mut spec =
                RunSpec { handshake_only: true, ..crate::harness::spec(server.address(), backend) };
            spec.tls.alpn = Some(names(&["imap"]));
            let error = try_run(spec, TrustAnchors::Anyone).unwrap_err();
            assert_eq!(error.class(), "alert_no_application_protocol");
        }
    }
}

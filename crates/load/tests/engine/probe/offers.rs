//! Single offers: the result is that of a load.

use tlslab_probe::{OfferFound, ProbeOffer, ProbeSpec};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{Group, TlsVersion};

use super::{spec, try_probe};

const TLS12: TlsVersion = TlsVersion::Tls12;
const TLS13: TlsVersion = TlsVersion::Tls13;

/// A server with an ECDSA certificate, and X25519 and P-384 only.
fn server(backend: ServerBackend) -> Server {
    let identity = self_signed(KeyKind::EcdsaP256).unwrap().identity;
    let mut serve = ServeSpec::loopback(backend, vec![identity]);
    serve.groups = vec![Group::X25519, Group::P384];
    Server::start(&serve).unwrap()
}

fn found(server: &Server, offers: Vec<ProbeOffer>) -> Vec<OfferFound> {
    let spec = ProbeSpec { offers, ..spec(server.address(), &[]) };
    try_probe(spec).unwrap().offers
}

fn groups(version: TlsVersion, groups: &[Group]) -> ProbeOffer {
    ProbeOffer { versions: vec![version], groups: groups.to_vec(), ..ProbeOffer::default() }
}

#[test]
fn an_offer_is_accepted_or_refused_with_a_reason() {
    for backend in [ServerBackend::Openssl, ServerBackend::Rustls] {
        let server = server(backend);
        let suites = vec!["AES128-SHA".parse().unwrap()];
        let schemes = vec!["rsa_pss_rsae_sha256".parse().unwrap()];
        let offers = vec![
            ProbeOffer::default(),
            groups(TLS13, &[Group::P384]),
            groups(TLS12, &[Group::P384]),
            groups(TLS13, &[Group::X448]),
            groups(TLS12, &[Group::X448]),
            ProbeOffer { suites, versions: vec![TLS12], ..ProbeOffer::default() },
            ProbeOffer { signature_schemes: schemes, ..groups(TLS13, &[Group::X25519]) },
        ];
        let found = found(&server, offers);
        let accepted: Vec<Option<bool>> = found.iter().map(|offer| offer.accepted).collect();
        let wanted = [true, true, true, false, false, false, false].map(Some);
        assert_eq!(accepted, wanted, "{found:?}");
        assert_eq!(found[2].key.as_deref(), Some("ECDSA P-256"));
        for offer in &found[3..] {
            let refusal = offer.refusal.as_ref().unwrap();
            assert!(refusal.class.starts_with("alert_"), "{backend:?} {found:?}");
        }
        let refusal = found[3].refusal.as_ref().unwrap();
        assert_eq!(refusal.class, "alert_handshake_failure");
        assert_eq!(refusal.words, "answered handshake_failure (40)");
    }
}

#[test]
fn every_group_is_offered_with_a_key_that_servers_take() {
    let identity = self_signed(KeyKind::EcdsaP256).unwrap().identity;
    let spec = ServeSpec::loopback(ServerBackend::Openssl, vec![identity]);
    let server = Server::start(&spec).unwrap();
    let found = found(&server, Group::all().map(|group| groups(TLS13, &[group])).collect());
    for (group, offer) in Group::all().zip(found) {
        assert_eq!(offer.accepted, Some(true), "{group}: {offer:?}");
    }
}

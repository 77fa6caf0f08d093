//! The verdict on trust, by its code and the start of its words.

use openssl::x509::X509;
use tlslab_probe::{Topic, TrustCode, probe};
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::Settings;
use tlslab_tls::TrustAnchors;

use super::{spec, trust, try_probe};

/// The verdict on a server with these certificates.
fn verdict(
    identities: Vec<Identity>,
    chain: Vec<X509>,
    anchors: TrustAnchors,
) -> (TrustCode, String) {
    let server = Peer::honest(&Settings { identities, chain, ..Settings::default() });
    let spec = spec(server.address(), &[Topic::Certificates]).checked().unwrap();
    let verdict = probe(&spec, anchors).unwrap().trust.unwrap();
    (verdict.code, verdict.message)
}

#[test]
fn each_fault_of_a_certificate_has_its_code() {
    let authority = Authority::new("tlslab test");
    let cases = [
        (authority.issue(Key::P256), TrustCode::Trusted, "the chain leads to a trusted"),
        (authority.issue_expired(Key::P256), TrustCode::Expired, "the certificate has expired"),
        (
            authority.issue_not_yet_valid(Key::P256),
            TrustCode::NotYetValid,
            "the certificate is not valid yet",
        ),
        (
            authority.issue_for(Key::P256, &["example.org"]),
            TrustCode::WrongName,
            "the certificate is not for localhost",
        ),
        (
            authority.issue_client(Key::P256),
            TrustCode::WrongPurpose,
            "the certificate is not for servers",
        ),
    ];
    for (identity, code, words) in cases {
        let (found, message) = verdict(vec![identity], vec![], trust(&authority));
        assert_eq!(found, code);
        assert!(message.starts_with(words), "{message}");
    }
}

#[test]
fn a_missing_intermediate_is_no_unknown_authority() {
    let authority = Authority::new("tlslab test");
    let subordinate = authority.subordinate("an intermediate");
    let intermediate = X509::from_der(subordinate.certificate()).unwrap();
    let root = X509::from_der(authority.certificate()).unwrap();
    let own = || vec![subordinate.issue_with_issuers_place(Key::P256)];
    let of = |chain, anchor: &Authority| verdict(own(), chain, trust(anchor));
    assert_eq!(of(vec![intermediate.clone()], &authority).0, TrustCode::Trusted);
    assert_eq!(of(vec![], &subordinate).0, TrustCode::Trusted, "as curl, by a partial chain");
    let (code, message) = of(vec![], &authority);
    assert_eq!(code, TrustCode::MissingIntermediate);
    let words = "the server does not send the intermediate certificate of ";
    assert!(message.starts_with(words) && message.ends_with("an intermediate'"), "{message}");
    let another = Authority::new("another");
    for chain in [vec![intermediate.clone()], vec![intermediate, root]] {
        let (code, message) = of(chain, &another);
        assert_eq!(code, TrustCode::UnknownAuthority);
        assert!(message.ends_with("tlslab test' is no trusted authority"), "{message}");
    }
    // Without a place of the issuer, it may be any authority.
    let (code, message) = verdict(vec![authority.issue(Key::P256)], vec![], trust(&another));
    assert_eq!(code, TrustCode::UnknownAuthority);
    let words = "the authority is unknown, or an intermediate certificate is missing";
    assert!(message.ends_with(words), "{message}");
    let nobody = TrustAnchors::Certificates(Vec::new());
    let (code, message) = verdict(own(), vec![], nobody);
    assert_eq!(code, TrustCode::UnknownAuthority);
    assert_eq!(message, "no authority is trusted: this machine has none");
}

#[test]
fn a_certificate_that_has_signed_itself_is_trusted_only_if_it_is_an_anchor() {
    let identity = Identity::self_signed(Key::P256);
    let own = TrustAnchors::Certificates(vec![identity.certificate.to_der().unwrap()]);
    let identities = vec![identity];
    let stranger = verdict(identities.clone(), vec![], trust(&Authority::new("another")));
    assert_eq!(stranger, (TrustCode::SelfSigned, "self-signed certificate".to_owned()));
    assert_eq!(verdict(identities, vec![], own).0, TrustCode::Trusted);
}

#[test]
fn the_worst_chain_of_several_is_the_servers() {
    let authority = Authority::new("tlslab test");
    let identities = vec![authority.issue(Key::P256), authority.issue_expired(Key::Rsa(2048))];
    let (code, message) = verdict(identities, vec![], trust(&authority));
    assert_eq!(code, TrustCode::Expired);
    assert_eq!(message, "the certificate has expired (that with RSA-2048)");
}

#[test]
fn what_is_not_checked_has_no_verdict() {
    let identities = vec![Authority::new("tlslab test").issue(Key::P256)];
    let server = Peer::honest(&Settings { identities, ..Settings::default() });
    for topic in [Topic::Alpn, Topic::Certificates] {
        let record = try_probe(spec(server.address(), &[topic])).unwrap();
        assert_eq!(record.trust, None, "{topic:?}");
    }
}

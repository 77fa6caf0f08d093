//! An authenticating client against genuine servers and impostors.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};

use rustls::SignatureScheme;

use super::edits::{edited, edits};
use super::*;
use crate::TrustAnchors;
use crate::rustls::certificate_error::BAD_SIGNATURE;
use crate::rustls::signed_with;
use tlslab_testkit::ocsp_response;
use tlslab_wire::tls::messages::{CERTIFICATE, CERTIFICATE_VERIFY};

/// A certificate for `localhost`, and its key.
pub struct Owner {
    certificate: Vec<u8>,
    pkcs8: Vec<u8>,
    key: EcdsaKeyPair,
}

impl Owner {
    pub fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pkcs8 = made.signing_key.serialize_der();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8).unwrap();
        Self { certificate: made.cert.der().to_vec(), pkcs8, key }
    }

    /// The body of a Certificate message.
    fn chain(&self) -> Vec<u8> {
        self.chain_with(&[0, 0])
    }

    /// The same body with these extensions, which their length precedes.
    pub fn chain_with(&self, extensions: &[u8]) -> Vec<u8> {
        let length = self.certificate.len() as u32;
        let [_, entry @ ..] = length.to_be_bytes();
        let [_, list @ ..] = (length + 3 + extensions.len() as u32).to_be_bytes();
        [&[0], &list[..], &entry, &self.certificate, extensions].concat()
    }

    /// The body of a CertificateVerify over a transcript with this hash.
    pub fn proof(&self, transcript: &[u8]) -> Vec<u8> {
        let signed =
            [&[b' '; 64], &b"TLS 1.3, server CertificateVerify\0"[..], transcript].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        let length = signature.as_ref().len() as u8;
        [&[4, 3, 0, length], signature.as_ref()].concat()
    }
}

/// A client that trusts this certificate, and asks for this name.
fn authenticating(trusted: &Owner, name: &str) -> Arc<ClientHelloTemplate> {
    let config = config(Group::X25519, &[0x1301]);
    let algorithms = config.crypto_provider().signature_verification_algorithms;
    authenticating_by(trusted, name, algorithms.supported_schemes())
}

/// The same client with these signature schemes.
fn authenticating_by(
    trusted: &Owner,
    name: &str,
    schemes: Vec<SignatureScheme>,
) -> Arc<ClientHelloTemplate> {
    let config = config(Group::X25519, &[0x1301]);
    let algorithms = config.crypto_provider().signature_verification_algorithms;
    let trust = TrustAnchors::Certificates(vec![trusted.certificate.clone()]);
    let verifier = Verifier::full(&trust, algorithms, schemes).unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let authenticator = ServerAuthenticator::new(Arc::new(verifier), name.clone());
    let group = key_exchange::own(Group::X25519, KeyShare::Fresh).unwrap();
    Arc::new(ClientHelloTemplate::new(&config, &name, group, Some(authenticator)).unwrap())
}

/// A server that has sent a Certificate with this body.
fn shown(template: &Arc<ClientHelloTemplate>, chain: &[u8]) -> Peer {
    let mut peer = Peer::of(template);
    peer.say_first(1);
    peer.say(CERTIFICATE, chain).unwrap();
    peer
}

/// The client's result for a server that sends this chain and signs with this key.
fn said(template: &Arc<ClientHelloTemplate>, chain: &[u8], signer: &Owner) -> Result<(), Failure> {
    let mut peer = shown(template, chain);
    let proof = signer.proof(&peer.transcript());
    peer.say(CERTIFICATE_VERIFY, &proof)?;
    peer.finish()?;
    assert!(peer.client.is_ready() && peer.client.facts().authenticated);
    Ok(())
}

#[test]
fn a_server_that_is_who_it_should_be_passes_and_no_other() {
    let (owner, other) = (Owner::new(), Owner::new());
    let localhost = authenticating(&owner, "localhost");
    // Twice, because chain and key are cached.
    for _ in 0..2 {
        assert_eq!(said(&localhost, &owner.chain(), &owner), Ok(()));
        assert_eq!(said(&localhost, &owner.chain(), &other), Err(Failure::Signature));
        assert_eq!(said(&localhost, &other.chain(), &other), Err(Failure::Certificate));
        let elsewhere = authenticating(&owner, "example.com");
        assert_eq!(said(&elsewhere, &owner.chain(), &owner), Err(Failure::Certificate));
    }
    // Sessions of rustls find no scheme of a signature that was not theirs.
    assert_eq!(signed_with::take(), None);
}

#[test]
fn a_signature_of_a_scheme_that_is_not_offered_is_refused() {
    let owner = Owner::new();
    let right = SignatureScheme::ECDSA_NISTP256_SHA256;
    let template = authenticating_by(&owner, "localhost", vec![right]);
    assert_eq!(said(&template, &owner.chain(), &owner), Ok(()));
    // The library could verify this scheme.
    let template =
        authenticating_by(&owner, "localhost", vec![SignatureScheme::ECDSA_NISTP384_SHA384]);
    assert_eq!(said(&template, &owner.chain(), &owner), Err(Failure::TlsProtocol));
}

#[test]
fn no_bit_of_the_transcript_or_of_the_signature_may_be_another() {
    let owner = Owner::new();
    let template = authenticating(&owner, "localhost");
    for byte in 0..32 {
        let mut peer = shown(&template, &owner.chain());
        let mut transcript = peer.transcript();
        transcript[byte] ^= 1;
        let proof = owner.proof(&transcript);
        assert_eq!(peer.say(CERTIFICATE_VERIFY, &proof), Err(Failure::Signature));
        let reason = peer.client.reason().unwrap();
        assert!(reason.name.contains(BAD_SIGNATURE), "{reason:?}");
    }
    let length = owner.proof(&[0; 32]).len();
    for place in 0..length {
        let mut peer = shown(&template, &owner.chain());
        let mut proof = owner.proof(&peer.transcript());
        let place = place.min(proof.len() - 1);
        proof[place] ^= 1;
        assert!(peer.say(CERTIFICATE_VERIFY, &proof).is_err(), "byte {place}");
    }
}

#[test]
fn no_bytes_pass_for_a_server() {
    let owner = Owner::new();
    let template = authenticating(&owner, "localhost");
    let authenticator = template.authenticator.as_ref().unwrap();
    let hash = rustls::crypto::hash::Output::new(&[7; 32]);
    let (chain, proof) = (owner.chain(), owner.proof(&[7; 32]));
    assert_eq!(authenticator.authenticate(&chain, &proof, &hash), Ok(()));
    let seen = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) };
    proptest!(cases, |(of_chain in edits(), of_proof in edits())| {
        let (false_chain, false_proof) = (edited(&chain, &of_chain), edited(&proof, &of_proof));
        let is_right = false_chain == chain && false_proof == proof;
        let authenticated = authenticator.authenticate(&false_chain, &false_proof, &hash);
        prop_assert_eq!(authenticated.is_ok(), is_right);
        let failure = authenticated.err().map(|error| error.failure);
        *seen.borrow_mut().entry(format!("{failure:?}")).or_insert(0) += 1;
    });
    // A valid share gets past the length checks, to the chain and to the signature.
    let seen = seen.into_inner();
    for failure in [Failure::TlsProtocol, Failure::Certificate, Failure::Signature] {
        let times = seen.get(&format!("{:?}", Some(failure))).copied().unwrap_or(0);
        assert!(times >= 100, "{failure:?} is reached {times} times: {seen:?}");
    }
}

#[test]
fn a_false_certificate_and_a_false_signature_have_alerts_of_their_own() {
    let (owner, other) = (Owner::new(), Owner::new());
    let hash = rustls::crypto::hash::Output::new(&[7; 32]);
    let alert = |name: &str, signer: &Owner| {
        let template = authenticating(&owner, name);
        let authenticator = template.authenticator.as_ref().unwrap();
        authenticator
            .authenticate(&owner.chain(), &signer.proof(&[7; 32]), &hash)
            .unwrap_err()
            .alert
    };
    // bad_certificate and decrypt_error.
    assert_eq!(alert("example.com", &owner), 42);
    assert_eq!(alert("localhost", &other), 51);
}

#[test]
fn a_chain_without_a_certificate_is_a_decode_error() {
    let owner = Owner::new();
    let template = authenticating(&owner, "localhost");
    let authenticator = template.authenticator.as_ref().unwrap();
    let hash = rustls::crypto::hash::Output::new(&[7; 32]);
    // No context, and a list of no bytes (RFC 8446, sections 4.4.2 and 4.4.2.4).
    let refused = authenticator.authenticate(&[0; 4], &owner.proof(&[7; 32]), &hash).unwrap_err();
    assert_eq!((refused.failure, refused.alert), (Failure::Certificate, 50));
}

#[test]
fn messages_whose_lengths_are_wrong_are_none() {
    let owner = Owner::new();
    let template = authenticating(&owner, "localhost");
    let whole = owner.chain();
    for chain in [&whole[..whole.len() - 1], &[&whole[..], &[0]].concat()] {
        let mut peer = Peer::of(&template);
        peer.say_first(1);
        assert_eq!(peer.say(CERTIFICATE, chain), Err(Failure::TlsProtocol));
    }
    for change in [-1, 1] {
        let mut peer = shown(&template, &whole);
        let mut proof = owner.proof(&peer.transcript());
        proof.resize(proof.len().saturating_add_signed(change), 0);
        assert_eq!(peer.say(CERTIFICATE_VERIFY, &proof), Err(Failure::TlsProtocol));
    }
}

#[test]
fn a_server_of_rustls_is_authenticated() {
    let owner = Owner::new();
    let config = || server_config_of(owner.certificate.clone(), owner.pkcs8.clone(), false);
    let (mut client, mut server) = connected(&authenticating(&owner, "localhost"), config());
    assert!(client.facts().authenticated);
    converse(&mut client, &mut server);
    let (mut client, mut hello) = begun(&authenticating(&Owner::new(), "localhost"));
    let mut server = self::server(config());
    server.read_tls(&mut &hello[..]).unwrap();
    server.process_new_packets().unwrap();
    let mut flight = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut flight).unwrap();
    }
    hello.clear();
    assert_eq!(feed(&mut client, &mut flight, &mut hello), Err(Failure::Certificate));
    // A middlebox record and an encrypted alert: its header, two bytes, the content type and the
    // tag.
    assert!(hello.len() == HEADER + 1 + HEADER + 2 + 1 + 16 && !client.is_ready());
}

/// The client's result for a server with these extensions at its certificate, and the recorded
/// length of the OCSP response.
fn stapled(owner: &Owner, extensions: &[u8]) -> Result<u32, Failure> {
    let template = authenticating(owner, "localhost");
    let chain = owner.chain_with(&[&[0, extensions.len() as u8], extensions].concat());
    let mut peer = Peer::of(&template);
    peer.say_first(1);
    peer.say(CERTIFICATE, &chain)?;
    let proof = owner.proof(&peer.transcript());
    peer.say(CERTIFICATE_VERIFY, &proof)?;
    peer.finish()?;
    Ok(peer.client.facts().ocsp_response_bytes)
}

#[test]
fn a_response_that_is_stapled_is_noted_and_nothing_else_is_let_in() {
    let owner = Owner::new();
    assert_eq!(stapled(&owner, &[]), Ok(0));
    let status = |response: &[u8]| {
        let length = response.len() as u8;
        [&[0, 5, 0, length + 4, 1, 0, 0, length], response].concat()
    };
    let response = ocsp_response(&owner.certificate, 4);
    assert_eq!(stapled(&owner, &status(&response)), Ok(response.len() as u32));
    for other in [&[7; 3][..], &ocsp_response(&Owner::new().certificate, 4)] {
        assert_eq!(stapled(&owner, &status(other)), Err(Failure::Certificate));
    }
    for wrong in [
        // An extension that was not requested, alone and beside one that was (RFC 8446, 4.2).
        &[0, 18, 0, 0][..],
        &[0, 5, 0, 5, 1, 0, 0, 1, 7, 0, 18, 0, 0],
        // A duplicate; another type; empty; shorter and longer than its length (RFC 6066, section
        // 8).
        &[0, 5, 0, 5, 1, 0, 0, 1, 7, 0, 5, 0, 5, 1, 0, 0, 1, 7],
        &[0, 5, 0, 5, 2, 0, 0, 1, 7],
        &[0, 5, 0, 4, 1, 0, 0, 0],
        &[0, 5, 0, 0],
        &[0, 5, 0, 5, 1, 0, 0, 2, 7],
        &[0, 5, 0, 6, 1, 0, 0, 1, 7, 7],
    ] {
        assert_eq!(stapled(&owner, wrong), Err(Failure::TlsProtocol), "{wrong:?}");
    }
}

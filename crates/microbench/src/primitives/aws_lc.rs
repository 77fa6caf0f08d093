//! The primitives of the rustls back end: aws-lc, called as rustls calls it.

use std::hint::black_box;
use std::sync::Arc;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{digest, hmac};
use rcgen::ExtendedKeyUsagePurpose;
use rustls::crypto::{SupportedKxGroup, aws_lc_rs as provider};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_parser::prelude::FromDer as _;

use super::key_schedule::{tls12, tls13};
use super::operation::{BOTH, GENERATE, Operation, SERVER};
use super::record::PrimitivesSpec;
use super::{SIGNED, SIZES, operation, protections, schemes};
use tlslab_contract::spec::KeyShare;
use tlslab_tls::rustls::{NAME, key_exchange};
use tlslab_tls::self_signed::issue;
use tlslab_wire::names::Group;
use tlslab_wire::names::KeyKind;

/// All specified primitives that the library supports.
pub fn operations(spec: &PrimitivesSpec, found: &mut Vec<Operation>) -> Result<(), String> {
    for &group in &spec.groups {
        if let Some(implementation) = key_exchange::implementation(group, KeyShare::Fresh) {
            exchange(group, implementation, found);
        }
    }
    for &certificate in &spec.certificates {
        signatures(certificate, found)?;
    }
    let (hashes, ciphers) = protections(&spec.suites);
    for hash in hashes {
        hashing(&hash, found);
    }
    for cipher in ciphers {
        record_protection(&cipher, found);
    }
    Ok(())
}

fn exchange(
    group: Group,
    implementation: &'static dyn SupportedKxGroup,
    found: &mut Vec<Operation>,
) {
    let start = move || implementation.start().expect("keys can be drawn");
    found.push(operation(NAME, group, GENERATE, None, move || drop(black_box(start()))));
    let offered = start().pub_key().to_vec();
    found.push(operation(NAME, group, SERVER, None, move || {
        let answered = implementation.start_and_complete(&offered);
        black_box(answered.expect("a good share is answered"));
    }));
    // A KEM's answer fits one key only, and the answer consumes the key. So a call measures both
    // sides, and the server's time is subtracted afterwards.
    found.push(operation(NAME, group, BOTH, None, move || {
        let ours = start();
        let answered = implementation.start_and_complete(ours.pub_key());
        let answered = answered.expect("a good share is answered");
        black_box(ours.complete(&answered.pub_key).expect("a good share is agreed on"));
    }));
}

fn signatures(certificate: KeyKind, found: &mut Vec<Operation>) -> Result<(), String> {
    let issued = issue(certificate, ExtendedKeyUsagePurpose::ServerAuth);
    let issued = issued.map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(issued.key));
    let provider = provider::default_provider();
    let key = provider.key_provider.load_private_key(key).map_err(|e| e.to_string())?;
    let (_, parsed) = x509_parser::certificate::X509Certificate::from_der(&issued.certificate)
        .map_err(|e| e.to_string())?;
    let public: Arc<[u8]> = parsed.public_key().subject_public_key.data.to_vec().into();
    for (scheme, name) in schemes(certificate) {
        let number = rustls::SignatureScheme::from(scheme.code_point());
        let Some(signer) = key.choose_scheme(&[number]) else { continue };
        let signed = signer.sign(&SIGNED).map_err(|e| e.to_string())?;
        found.push(operation(NAME, &name, "sign", None, move || {
            black_box(signer.sign(&SIGNED).expect("a good key signs"));
        }));
        let algorithms = provider.signature_verification_algorithms;
        let candidates = algorithms.mapping.iter().find(|(of, _)| *of == number);
        // A TLS 1.2 ECDSA scheme fits every curve: use the algorithm that accepts the signature.
        let verifies = candidates.and_then(|(_, candidates)| {
            let good = |c: &&&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
                c.verify_signature(&public, &SIGNED, &signed).is_ok()
            };
            candidates.iter().find(good).copied()
        });
        let algorithm = verifies.ok_or_else(|| format!("{name} does not verify"))?;
        let public = Arc::clone(&public);
        found.push(operation(NAME, &name, "verify", None, move || {
            let good = algorithm.verify_signature(&public, &SIGNED, &signed);
            good.expect("a good signature passes");
        }));
    }
    Ok(())
}

fn hashing(hash: &str, found: &mut Vec<Operation>) {
    let (algorithm, mac) = match hash {
        "SHA-384" => (&digest::SHA384, hmac::HMAC_SHA384),
        _ => (&digest::SHA256, hmac::HMAC_SHA256),
    };
    for bytes in SIZES {
        let message = vec![9; bytes as usize];
        found.push(operation(NAME, hash, "digest", Some(bytes), move || {
            black_box(digest::digest(algorithm, &message));
        }));
    }
    found.push(operation(NAME, format!("TLS 1.3 {hash}"), "full", None, tls13(mac)));
    found.push(operation(NAME, format!("TLS 1.2 {hash}"), "full", None, tls12(mac)));
}

fn record_protection(cipher: &str, found: &mut Vec<Operation>) {
    let algorithm: &'static aead::Algorithm = match cipher {
        "AES-128-GCM" => &aead::AES_128_GCM,
        "AES-256-GCM" => &aead::AES_256_GCM,
        "CHACHA20-POLY1305" => &aead::CHACHA20_POLY1305,
        _ => return,
    };
    let key = move || {
        let key = UnboundKey::new(algorithm, &[3; 32][..algorithm.key_len()]);
        LessSafeKey::new(key.expect("a key of the right length"))
    };
    let nonce = || Nonce::assume_unique_for_key([5; 12]);
    found.push(operation(NAME, cipher, "key", None, move || drop(black_box(key()))));
    for bytes in SIZES {
        let sealing = key();
        let mut room = vec![0; bytes as usize];
        found.push(operation(NAME, cipher, "seal", Some(bytes), move || {
            let tag = sealing.seal_in_place_separate_tag(nonce(), Aad::from([1; 5]), &mut room);
            let _ = black_box(tag.expect("sealing"));
        }));
        let opening = key();
        let mut sealed = vec![0; bytes as usize];
        opening.seal_in_place_append_tag(nonce(), Aad::from([1; 5]), &mut sealed).expect("sealing");
        let mut room = sealed.clone();
        found.push(operation(NAME, cipher, "open", Some(bytes), move || {
            room.copy_from_slice(&sealed);
            black_box(
                opening.open_in_place(nonce(), Aad::from([1; 5]), &mut room).expect("opening"),
            );
        }));
    }
}

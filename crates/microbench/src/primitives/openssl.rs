//! The primitives of the built-in OpenSSL, by its EVP interface, as its TLS code calls them.

use std::hint::black_box;

use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;
use openssl::hash::{Hasher, MessageDigest};
use openssl::md::{Md, MdRef};
use openssl::pkey::{Id, PKey, Private};
use openssl::pkey_ctx::{HkdfMode, PkeyCtx};
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};
use rcgen::ExtendedKeyUsagePurpose;

use super::operation::{BOTH, GENERATE, Operation, SERVER};
use super::record::PrimitivesSpec;
use super::{SIGNED, SIZES, operation, protections, schemes};
use tlslab_tls::openssl::NAME;
use tlslab_tls::openssl::ffi::key_exchange::Named;
use tlslab_tls::self_signed::issue;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{Group, SignatureScheme};

/// All specified primitives that the library supports.
pub fn operations(spec: &PrimitivesSpec, found: &mut Vec<Operation>) -> Result<(), String> {
    for &group in &spec.groups {
        exchange(group, found).map_err(|e| format!("{group}: {e}"))?;
    }
    for &certificate in &spec.certificates {
        signatures(certificate, found)?;
    }
    let (hashes, ciphers) = protections(&spec.suites);
    for hash in hashes {
        hashing(&hash, found);
    }
    for cipher in ciphers {
        if let Some(protection) = Protection::of(&cipher) {
            record_protection(&cipher, protection, found).map_err(|e| format!("{cipher}: {e}"))?;
        }
    }
    Ok(())
}

fn exchange(group: Group, found: &mut Vec<Operation>) -> Result<(), ErrorStack> {
    let (ours, share) = Named::of(group).generate()?;
    found.push(operation(NAME, group, GENERATE, None, move || {
        black_box(Named::of(group).generate().expect("keys can be drawn"));
    }));
    found.push(operation(NAME, group, SERVER, None, move || {
        black_box(Named::of(group).answer(&ours, &share).expect("a good share is answered"));
    }));
    found.push(operation(NAME, group, BOTH, None, move || {
        let named = Named::of(group);
        let (ours, share) = named.generate().expect("keys can be drawn");
        let answer = named.answer(&ours, &share).expect("a good share is answered");
        named.complete(&ours, &answer).expect("a good share is agreed on");
    }));
    Ok(())
}

fn signatures(certificate: KeyKind, found: &mut Vec<Operation>) -> Result<(), String> {
    let issued = issue(certificate, ExtendedKeyUsagePurpose::ServerAuth);
    let issued = issued.map_err(|e| e.to_string())?;
    let key = PKey::private_key_from_pkcs8(&issued.key).map_err(|e| e.to_string())?;
    for (scheme, name) in schemes(certificate) {
        let signed = sign(&key, scheme).map_err(|e| format!("{name}: {e}"))?;
        let (signing, verifying) = (key.clone(), key.clone());
        found.push(operation(NAME, &name, "sign", None, move || {
            black_box(sign(&signing, scheme).expect("a good key signs"));
        }));
        found.push(operation(NAME, &name, "verify", None, move || {
            assert!(verify(&verifying, scheme, &signed).expect("a good signature passes"));
        }));
    }
    Ok(())
}

/// The digest of a scheme; `None` for EdDSA, which includes its own.
fn digest_of(scheme: SignatureScheme) -> Option<MessageDigest> {
    match scheme.to_string().rsplit('_').next() {
        Some("sha256") => Some(MessageDigest::sha256()),
        Some("sha384") => Some(MessageDigest::sha384()),
        Some("sha512") => Some(MessageDigest::sha512()),
        _ => None,
    }
}

fn is_pss(scheme: SignatureScheme) -> bool {
    scheme.to_string().starts_with("rsa_pss")
}

fn sign(key: &PKey<Private>, scheme: SignatureScheme) -> Result<Vec<u8>, ErrorStack> {
    let Some(digest) = digest_of(scheme) else {
        return Signer::new_without_digest(key)?.sign_oneshot_to_vec(&SIGNED);
    };
    let mut signer = Signer::new(digest, key)?;
    if is_pss(scheme) {
        signer.set_rsa_padding(Padding::PKCS1_PSS)?;
        signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
    }
    signer.update(&SIGNED)?;
    signer.sign_to_vec()
}

fn verify(key: &PKey<Private>, scheme: SignatureScheme, signed: &[u8]) -> Result<bool, ErrorStack> {
    let Some(digest) = digest_of(scheme) else {
        return Verifier::new_without_digest(key)?.verify_oneshot(signed, &SIGNED);
    };
    let mut verifier = Verifier::new(digest, key)?;
    if is_pss(scheme) {
        verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
        verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
    }
    verifier.update(&SIGNED)?;
    verifier.verify(signed)
}

fn hashing(hash: &str, found: &mut Vec<Operation>) {
    let (digest, md) = match hash {
        "SHA-384" => (MessageDigest::sha384(), Md::sha384()),
        _ => (MessageDigest::sha256(), Md::sha256()),
    };
    for bytes in SIZES {
        let message = vec![9; bytes as usize];
        let mut hasher = Hasher::new(digest).expect("OpenSSL has SHA-2");
        found.push(operation(NAME, hash, "digest", Some(bytes), move || {
            hasher.update(&message).expect("hashing");
            black_box(hasher.finish().expect("hashing"));
        }));
    }
    let length = digest.size();
    found.push(operation(NAME, format!("TLS 1.3 {hash}"), "full", None, move || {
        key_schedule(md, length).expect("OpenSSL has HKDF");
    }));
}

/// The TLS 1.3 key schedule as in `key_schedule`, by OpenSSL's own HKDF: two Extracts; the Expands
/// of four traffic secrets with key and IV, of two Finished keys, and of the secrets in between.
fn key_schedule(md: &MdRef, hash: usize) -> Result<(), ErrorStack> {
    let mut output = [0; 48];
    let context = 22 + hash;
    for (label, length, times) in [(context, hash, 5), (24, hash, 2), (19, 16, 4), (18, 12, 4)] {
        for _ in 0..times {
            let mut expand = hkdf(md, HkdfMode::EXPAND_ONLY)?;
            expand.add_hkdf_info(&[7; 128][..label])?;
            expand.derive(Some(&mut output[..length]))?;
        }
    }
    for _ in 0..2 {
        let mut extract = hkdf(md, HkdfMode::EXTRACT_ONLY)?;
        extract.set_hkdf_salt(&[2; 32])?;
        extract.derive(Some(&mut output[..hash]))?;
    }
    black_box(output);
    Ok(())
}

fn hkdf(md: &MdRef, mode: HkdfMode) -> Result<PkeyCtx<()>, ErrorStack> {
    let mut context = PkeyCtx::new_id(Id::HKDF)?;
    context.derive_init()?;
    context.set_hkdf_mode(mode)?;
    context.set_hkdf_md(md)?;
    context.set_hkdf_key(&[1; 32])?;
    Ok(context)
}

/// A cipher of TLS records, with the hash of its MAC unless it is an AEAD.
#[derive(Clone, Copy)]
struct Protection {
    cipher: &'static CipherRef,
    mac: Option<(MessageDigest, usize)>,
}

impl Protection {
    fn of(name: &str) -> Option<Self> {
        let aead = |cipher| Some(Self { cipher, mac: None });
        let cbc = |bits: &str, mac: &str| {
            let cipher = if bits == "128" { Cipher::aes_128_cbc() } else { Cipher::aes_256_cbc() };
            let digest = match mac {
                "SHA" => MessageDigest::sha1(),
                "SHA256" => MessageDigest::sha256(),
                _ => MessageDigest::sha384(),
            };
            Some(Self { cipher, mac: Some((digest, digest.size())) })
        };
        match name.split('-').collect::<Vec<_>>()[..] {
            ["AES", "128", "GCM"] => aead(Cipher::aes_128_gcm()),
            ["AES", "256", "GCM"] => aead(Cipher::aes_256_gcm()),
            ["CHACHA20", "POLY1305"] => aead(Cipher::chacha20_poly1305()),
            ["AES", bits, "CBC", mac] => cbc(bits, mac),
            _ => None,
        }
    }

    fn context(self, encrypts: bool) -> Result<CipherCtx, ErrorStack> {
        let key = [3; 32];
        let key = Some(&key[..self.cipher.key_length()]);
        let iv = [5; 16];
        let iv = Some(&iv[..self.cipher.iv_length()]);
        let mut context = CipherCtx::new()?;
        match encrypts {
            true => context.encrypt_init(Some(self.cipher), key, iv)?,
            false => context.decrypt_init(Some(self.cipher), key, iv)?,
        }
        context.set_padding(false);
        Ok(context)
    }

    /// The length of a record of N bytes before encryption: with CBC's MAC and padding.
    fn padded(self, bytes: usize) -> usize {
        match self.mac {
            None => bytes,
            Some((_, length)) => (bytes + length + 1).next_multiple_of(self.cipher.block_size()),
        }
    }

    fn seal(
        self,
        context: &mut CipherCtx,
        mac: Option<&PKey<Private>>,
        plaintext: &[u8],
        output: &mut [u8],
    ) -> Result<[u8; 16], ErrorStack> {
        let mut tag = [0; 16];
        context.encrypt_init(None, None, Some(&[5; 16][..self.cipher.iv_length()]))?;
        if let Some((digest, length)) = self.mac {
            let mut room = plaintext.to_vec();
            room.resize(self.padded(plaintext.len()), 0);
            let code = code(digest, mac, plaintext)?;
            room[plaintext.len()..plaintext.len() + length].copy_from_slice(&code[..length]);
            context.cipher_update(&room, Some(output))?;
            return Ok(tag);
        }
        context.cipher_update(&[1; 5], None)?;
        context.cipher_update(plaintext, Some(output))?;
        context.cipher_final(&mut [])?;
        context.tag(&mut tag)?;
        Ok(tag)
    }

    fn open(
        self,
        context: &mut CipherCtx,
        mac: Option<&PKey<Private>>,
        (sealed, tag): (&[u8], &[u8; 16]),
        output: &mut [u8],
        length: usize,
    ) -> Result<(), ErrorStack> {
        context.decrypt_init(None, None, Some(&[5; 16][..self.cipher.iv_length()]))?;
        if let Some((digest, _)) = self.mac {
            context.cipher_update(sealed, Some(output))?;
            black_box(code(digest, mac, &output[..length])?);
            return Ok(());
        }
        context.cipher_update(&[1; 5], None)?;
        context.cipher_update(sealed, Some(output))?;
        context.set_tag(tag)?;
        context.cipher_final(&mut []).map(|_| ())
    }
}

/// The MAC of a TLS 1.2 record over its number, header and plaintext (RFC 5246, 6.2.3.1).
fn code(
    digest: MessageDigest,
    key: Option<&PKey<Private>>,
    plaintext: &[u8],
) -> Result<[u8; 64], ErrorStack> {
    let key = key.expect("a protection with a MAC has a key for it");
    let mut signer = Signer::new(digest, key)?;
    signer.update(&[1; 13])?;
    signer.update(plaintext)?;
    let mut code = [0; 64];
    signer.sign(&mut code)?;
    Ok(code)
}

fn record_protection(
    name: &str,
    protection: Protection,
    found: &mut Vec<Operation>,
) -> Result<(), ErrorStack> {
    found.push(operation(NAME, name, "key", None, move || {
        black_box(protection.context(true).expect("a key of the right length"));
    }));
    let mac = || protection.mac.map(|_| PKey::hmac(&[4; 48])).transpose();
    for bytes in SIZES {
        let length = bytes as usize;
        let (sealing_mac, opening_mac) = (mac()?, mac()?);
        let plaintext = vec![0; length];
        // OpenSSL requires one block more than it writes.
        let mut output = vec![0; protection.padded(length) + 16];
        let mut context = protection.context(true)?;
        let tag = protection.seal(&mut context, sealing_mac.as_ref(), &plaintext, &mut output)?;
        let sealed = output[..protection.padded(length)].to_vec();
        let mut room = output.clone();
        found.push(operation(NAME, name, "seal", Some(bytes), move || {
            let mac = sealing_mac.as_ref();
            let tag = protection.seal(&mut context, mac, &plaintext, &mut output);
            black_box(tag.expect("sealing"));
        }));
        let mut context = protection.context(false)?;
        found.push(operation(NAME, name, "open", Some(bytes), move || {
            let mac = opening_mac.as_ref();
            protection
                .open(&mut context, mac, (&sealed, &tag), &mut room, length)
                .expect("opening");
        }));
    }
    Ok(())
}

//! Caches the server's public keys, so that each is read from its certificate only once.
//!
//! All connections of a run that ask for the same name get the same certificate. On the first of
//! them the library reads its key. On the others this module verifies the handshake signature with
//! that key, for exactly these certificate bytes, this version and this scheme. If the verification
//! fails, the library verifies again and names the error.

use std::cell::RefCell;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, VerificationAlgorithm,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::CertificateDer;
use rustls::{DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};

/// The highest number of cached keys. At least the number of server names that a run may have:
/// names used in turn would otherwise evict each other's keys before their next use.
const KEYS: usize = 1024;

thread_local! {
    /// Cached keys. rustls calls its verifier by `&self` from any thread: with a thread-local a
    /// worker needs no lock.
    static KNOWN: RefCell<Keys> = const { RefCell::new(Keys::new()) };
}

/// Keys that have verified a signature.
struct Keys {
    /// The last bytes of each key's certificate, which differ between certificates of one
    /// authority.
    tags: Vec<u64>,
    known: Vec<Known>,
    /// The index of the key to replace next, once there are [`KEYS`].
    oldest: usize,
}

/// A key that has verified a signature.
struct Known {
    certificate: Vec<u8>,
    version: ProtocolVersion,
    scheme: SignatureScheme,
    key: ParsedPublicKey,
}

/// Verifies a handshake signature with the cached key of the certificate, or else by `library`. If
/// the library succeeds, its key is cached. Errors come from the library.
pub fn verify(
    version: ProtocolVersion,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    library: impl FnOnce() -> Result<HandshakeSignatureValid, Error>,
) -> Result<HandshakeSignatureValid, Error> {
    let is_good = KNOWN.with_borrow(|keys| {
        keys.of(version, certificate, signed.scheme).is_some_and(|place| {
            keys.known[place].key.verify_sig(message, signed.signature()).is_ok()
        })
    });
    if is_good {
        return Ok(HandshakeSignatureValid::assertion());
    }
    let valid = library()?;
    if let Some(known) = read_key(version, certificate, signed.scheme) {
        KNOWN.with_borrow_mut(|keys| keys.keep(known));
    }
    Ok(valid)
}

impl Keys {
    const fn new() -> Self {
        Self { tags: Vec::new(), known: Vec::new(), oldest: 0 }
    }

    /// The index of the cached key for this certificate, version and scheme.
    fn of(
        &self,
        version: ProtocolVersion,
        certificate: &[u8],
        scheme: SignatureScheme,
    ) -> Option<usize> {
        let tag = tag(certificate);
        let places = self.tags.iter().enumerate().filter(|(_, known)| **known == tag);
        places.map(|(place, _)| place).find(|&place| {
            let known = &self.known[place];
            known.version == version && known.scheme == scheme && known.certificate == certificate
        })
    }

    fn keep(&mut self, known: Known) {
        let tag = tag(&known.certificate);
        let same = self.of(known.version, &known.certificate, known.scheme);
        if same.is_none() && self.known.len() < KEYS {
            self.tags.push(tag);
            self.known.push(known);
            return;
        }
        let place = same.unwrap_or(self.oldest);
        if same.is_none() {
            self.oldest = (place + 1) % KEYS;
        }
        (self.tags[place], self.known[place]) = (tag, known);
    }
}

/// The last bytes of a certificate, which are part of its signature.
fn tag(certificate: &[u8]) -> u64 {
    certificate.last_chunk().map_or(0, |last| u64::from_ne_bytes(*last))
}

/// The certificate's key; `None` if only the library supports the scheme's algorithm.
fn read_key(
    version: ProtocolVersion,
    certificate: &CertificateDer<'_>,
    scheme: SignatureScheme,
) -> Option<Known> {
    let algorithm: &'static dyn VerificationAlgorithm = match scheme {
        SignatureScheme::ECDSA_NISTP256_SHA256 => &ECDSA_P256_SHA256_ASN1,
        SignatureScheme::ECDSA_NISTP384_SHA384 => &ECDSA_P384_SHA384_ASN1,
        SignatureScheme::ED25519 => &ED25519,
        SignatureScheme::RSA_PKCS1_SHA256 => &RSA_PKCS1_2048_8192_SHA256,
        SignatureScheme::RSA_PSS_SHA256 => &RSA_PSS_2048_8192_SHA256,
        SignatureScheme::RSA_PSS_SHA384 => &RSA_PSS_2048_8192_SHA384,
        SignatureScheme::RSA_PSS_SHA512 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    };
    let parsed = webpki::EndEntityCert::try_from(certificate).ok()?;
    let key = ParsedPublicKey::new(algorithm, parsed.subject_public_key_info()).ok()?;
    Some(Known { certificate: certificate.to_vec(), version, scheme, key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    use rustls::CertificateError::BadSignature;
    use rustls::ProtocolVersion::{TLSv1_2, TLSv1_3};
    use rustls::internal::msgs::codec::Codec;

    const MESSAGE: &[u8] = b"the transcript";

    fn certificate() -> (CertificateDer<'static>, EcdsaKeyPair) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pkcs8 = made.signing_key.serialize_der();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &pkcs8).unwrap();
        (made.cert.der().clone(), key)
    }

    fn signed(key: &EcdsaKeyPair, message: &[u8]) -> DigitallySignedStruct {
        let signature = key.sign(&SystemRandom::new(), message).unwrap();
        let mut encoded = u16::from(SignatureScheme::ECDSA_NISTP256_SHA256).to_be_bytes().to_vec();
        encoded.extend_from_slice(&(signature.as_ref().len() as u16).to_be_bytes());
        encoded.extend_from_slice(signature.as_ref());
        DigitallySignedStruct::read_bytes(&encoded).unwrap()
    }

    #[test]
    fn only_a_known_key_and_a_good_signature_spare_the_library() {
        let asked = Cell::new(0);
        let good = || {
            asked.set(asked.get() + 1);
            Ok(HandshakeSignatureValid::assertion())
        };
        let bad = || Err(Error::InvalidCertificate(BadSignature));
        let (known, key) = certificate();
        let (other, other_key) = certificate();
        let signature = signed(&key, MESSAGE);
        assert!(verify(TLSv1_3, MESSAGE, &known, &signature, bad).is_err());
        verify(TLSv1_3, MESSAGE, &known, &signature, good).unwrap();
        assert_eq!(asked.get(), 1);
        verify(TLSv1_3, MESSAGE, &known, &signed(&key, MESSAGE), bad).unwrap();
        // Another transcript, a signature by another key, another version, another certificate.
        assert!(verify(TLSv1_3, b"another", &known, &signature, bad).is_err());
        assert!(verify(TLSv1_3, MESSAGE, &known, &signed(&other_key, MESSAGE), bad).is_err());
        assert!(verify(TLSv1_2, MESSAGE, &known, &signature, bad).is_err());
        assert!(verify(TLSv1_3, MESSAGE, &other, &signature, bad).is_err());
        // Neither a failure nor a success of the library has evicted a known key.
        verify(TLSv1_3, MESSAGE, &known, &signature, bad).unwrap();
        verify(TLSv1_3, MESSAGE, &other, &signed(&other_key, MESSAGE), good).unwrap();
        assert_eq!(asked.get(), 2);
        verify(TLSv1_3, MESSAGE, &other, &signed(&other_key, MESSAGE), bad).unwrap();
        verify(TLSv1_3, MESSAGE, &known, &signature, bad).unwrap();
        // The key of one certificate is not used for another certificate.
        assert!(verify(TLSv1_3, MESSAGE, &other, &signature, bad).is_err());
    }

    #[test]
    fn certificates_that_take_turns_are_all_known() {
        let asked = Cell::new(0);
        let library = || {
            asked.set(asked.get() + 1);
            Ok(HandshakeSignatureValid::assertion())
        };
        let servers: Vec<_> = (0..8).map(|_| certificate()).collect();
        for _ in 0..20 {
            for (certificate, key) in &servers {
                verify(TLSv1_3, MESSAGE, certificate, &signed(key, MESSAGE), library).unwrap();
            }
        }
        assert_eq!(asked.get(), servers.len());
    }

    #[test]
    fn keys_are_bounded_and_the_oldest_makes_room() {
        let (made, _) = certificate();
        let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
        let known = |number: usize| {
            let certificate = number.to_be_bytes().to_vec();
            Known { certificate, ..read_key(TLSv1_3, &made, scheme).unwrap() }
        };
        let mut keys = Keys::new();
        (0..=KEYS).for_each(|number| keys.keep(known(number)));
        // A key that is already cached.
        keys.keep(known(KEYS));
        let is_known = |number: usize| keys.of(TLSv1_3, &number.to_be_bytes(), scheme).is_some();
        assert_eq!((keys.known.len(), keys.tags.len()), (KEYS, KEYS));
        assert!(!is_known(0) && (1..=KEYS).all(is_known));
    }
}

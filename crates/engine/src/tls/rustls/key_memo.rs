//! Keeps the server's public key, so that it is not read from the certificate again and again.
//!
//! All connections of a run meet the same certificate. Its key is read by the library on the first of
//! them; on the others the handshake signature is verified with the key that was read then, for
//! exactly these bytes, this version and this scheme. A signature that does not verify so goes to the
//! library's own judgement, which names the error.

use std::cell::RefCell;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, VerificationAlgorithm,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::CertificateDer;
use rustls::{DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// A key with which a signature has verified.
struct Known {
    certificate: Vec<u8>,
    version: ProtocolVersion,
    scheme: SignatureScheme,
    key: ParsedPublicKey,
}

/// Verifies a handshake signature, with the kept key if it is the same server's; else by `library`,
/// whose success makes the key known. Errors are the library's.
pub fn verify(
    version: ProtocolVersion,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    library: impl FnOnce() -> Result<HandshakeSignatureValid, Error>,
) -> Result<HandshakeSignatureValid, Error> {
    let is_good = KNOWN.with_borrow(|known| {
        known.as_ref().is_some_and(|known| {
            known.version == version
                && known.scheme == signed.scheme
                && known.certificate == certificate.as_ref()
                && known.key.verify_sig(message, signed.signature()).is_ok()
        })
    });
    if is_good {
        return Ok(HandshakeSignatureValid::assertion());
    }
    let valid = library()?;
    KNOWN.set(read_key(version, certificate, signed.scheme));
    Ok(valid)
}

/// The certificate's key; `None` where this scheme's algorithm cannot be told without the library.
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
        let mut wire = u16::from(SignatureScheme::ECDSA_NISTP256_SHA256).to_be_bytes().to_vec();
        wire.extend_from_slice(&(signature.as_ref().len() as u16).to_be_bytes());
        wire.extend_from_slice(signature.as_ref());
        DigitallySignedStruct::read_bytes(&wire).unwrap()
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
        // Another transcript, another key's signature, another version, another certificate.
        assert!(verify(TLSv1_3, b"another", &known, &signature, bad).is_err());
        assert!(verify(TLSv1_3, MESSAGE, &known, &signed(&other_key, MESSAGE), bad).is_err());
        assert!(verify(TLSv1_2, MESSAGE, &known, &signature, bad).is_err());
        assert!(verify(TLSv1_3, MESSAGE, &other, &signature, bad).is_err());
        // What failed has not displaced what is known; what the library finds good does.
        verify(TLSv1_3, MESSAGE, &known, &signature, bad).unwrap();
        verify(TLSv1_3, MESSAGE, &other, &signed(&other_key, MESSAGE), good).unwrap();
        assert_eq!(asked.get(), 2);
        verify(TLSv1_3, MESSAGE, &other, &signed(&other_key, MESSAGE), bad).unwrap();
    }
}

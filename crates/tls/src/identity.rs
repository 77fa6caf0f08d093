//! A certificate with its chain and key, which are checked to belong together.

#[cfg(feature = "openssl")]
mod by_openssl;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use x509_parser::asn1_rs::{Enumerated, FromDer as _, Sequence};
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;

use crate::certificates::{self, PublicKeyKind};
use tlslab_wire::names::KeyKind;
use tlslab_wire::tls::obsolete::SHORTEST_PRIME;

/// A certificate with its chain and its private key, of a server or of a client.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The owner's certificate, followed by the intermediate certificates.
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
    kind: PublicKeyKind,
    /// The OCSP response for the owner's certificate, DER.
    ocsp_response: Option<Vec<u8>>,
}

/// Errors that make a certificate with its key unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum IdentityError {
    #[error("no certificate in PEM form found")]
    NoCertificate,
    #[error("no private key in PEM form found, or it needs a password")]
    NoKey,
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
    #[error("keys of kind {0} are not supported; supported: RSA, ECDSA, Ed25519")]
    KeyKind(String),
    #[error("an {0} key is obsolete; give --allow-obsolete to have it all the same")]
    Obsolete(String),
    #[error("not a successful OCSP response in DER")]
    OcspResponse,
    #[error("cannot make a certificate with a {kind} key: {message}")]
    NotMade { kind: KeyKind, message: String },
    #[error("{backend} refuses the certificate: {message}")]
    Refused { backend: &'static str, message: String },
}

impl Identity {
    /// Reads a certificate chain (the owner's own first) and a private key, both PEM.
    ///
    /// # Errors
    /// One of the two is absent or unreadable, or they do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, IdentityError> {
        let chain = certificates::from_pem(chain).ok_or(IdentityError::NoCertificate)?;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| IdentityError::NoKey)?;
        let kind = PublicKeyKind::of(&read(&chain[0])?);
        if let PublicKeyKind::Other(name) = kind {
            return Err(IdentityError::KeyKind(name));
        }
        check_pair(&chain[0], &key)?;
        Ok(Self { chain, key: Arc::new(key), kind, ocsp_response: None })
    }

    /// The same identity with a DER-encoded OCSP response, which a server staples for clients that
    /// request one (RFC 6066, section 8). The response is not checked against the certificate.
    ///
    /// # Errors
    /// The bytes are not an OCSP response, or it has an error status (RFC 6960, section 4.2.1).
    pub fn with_ocsp_response(self, der: Vec<u8>) -> Result<Self, IdentityError> {
        if !is_successful(&der) {
            return Err(IdentityError::OcspResponse);
        }
        Ok(Self { ocsp_response: Some(der), ..self })
    }

    /// The OCSP response to staple, DER.
    pub fn ocsp_response(&self) -> Option<&[u8]> {
        self.ocsp_response.as_deref()
    }

    /// The kind and size of the key: `RSA-2048`, `ECDSA P-256`, `Ed25519`.
    pub fn key_kind(&self) -> String {
        self.kind.to_string()
    }

    /// The kind of the key, if the key is short enough to require `allow_obsolete`.
    pub fn short_key(&self) -> Option<String> {
        let is_short =
            matches!(self.kind, PublicKeyKind::Rsa(bits) if bits < SHORTEST_PRIME as usize);
        is_short.then(|| self.key_kind())
    }

    /// The algorithm of the key, without its size. An OpenSSL context holds one certificate per
    /// algorithm.
    pub fn algorithm(&self) -> &'static str {
        match self.kind {
            PublicKeyKind::Rsa(_) => "RSA",
            PublicKeyKind::Ecdsa(_) | PublicKeyKind::OtherEcdsa(_) => "ECDSA",
            PublicKeyKind::Ed25519 | PublicKeyKind::Other(_) => "Ed25519",
        }
    }

    /// The owner's certificate, DER.
    pub fn certificate(&self) -> &[u8] {
        &self.chain[0]
    }

    /// The SHA-256 digest of the owner's certificate in hex.
    pub fn fingerprint(&self) -> String {
        Sha256::digest(self.certificate()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Adds the certificate, its chain and its key to an OpenSSL context. Certificates of other
    /// algorithms stay.
    #[cfg(feature = "openssl")]
    pub fn install(
        &self,
        context: &mut openssl::ssl::SslContextBuilder,
    ) -> Result<(), IdentityError> {
        by_openssl::install(&self.chain, &self.key, context)
            .map_err(|e| IdentityError::Refused { backend: "openssl", message: e.to_string() })
    }

    /// The certificate, its chain and its key as a rustls type.
    pub fn certified(&self, with: &CryptoProvider) -> Result<CertifiedKey, IdentityError> {
        let refused = |message: String| IdentityError::Refused { backend: "rustls", message };
        let certified = CertifiedKey::from_der(self.chain.clone(), self.key.clone_key(), with);
        let mut certified = certified.map_err(|e| refused(e.to_string()))?;
        certified.ocsp.clone_from(&self.ocsp_response);
        Ok(certified)
    }
}

fn read<'c>(certificate: &'c CertificateDer<'_>) -> Result<X509Certificate<'c>, IdentityError> {
    let read = parse_x509_certificate(certificate);
    read.map(|(_, certificate)| certificate).map_err(|_| IdentityError::NoCertificate)
}

/// Checks that a certificate and a key belong together. Keys that aws-lc does not take, such as
/// short ones, are OpenSSL's.
fn check_pair(
    certificate: &CertificateDer<'_>,
    key: &PrivateKeyDer<'_>,
) -> Result<(), IdentityError> {
    let signing = any_supported_type(key);
    let own = signing.as_ref().ok().and_then(|signing| signing.public_key());
    let certified = read(certificate)?;
    if own.is_some_and(|own| own.as_ref() == certified.public_key().raw) {
        return Ok(());
    }
    #[cfg(feature = "openssl")]
    return by_openssl::check_pair(certificate, key);
    #[cfg(not(feature = "openssl"))]
    Err(if signing.is_ok() { IdentityError::KeyMismatch } else { IdentityError::NoKey })
}

/// True if an OCSP response has the status `successful` (RFC 6960, section 4.2.1).
fn is_successful(response: &[u8]) -> bool {
    let Ok((_, response)) = Sequence::from_der(response) else { return false };
    matches!(Enumerated::from_der(&response.content), Ok((_, Enumerated(0))))
}

/// The key belongs to the certificate.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.certificate() == other.certificate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::generate_simple_self_signed;

    fn pair() -> (String, String) {
        let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_that_belongs_together_is_taken() {
        let (certificate, key) = pair();
        let identity = Identity::from_pem(&certificate, &key).unwrap();
        assert_eq!((identity.key_kind().as_str(), identity.algorithm()), ("ECDSA P-256", "ECDSA"));
        let fingerprint = Sha256::digest(identity.certificate());
        let hex: String = fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(identity.fingerprint(), hex);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        let error = |chain: &str, key: &str| Identity::from_pem(chain, key).unwrap_err();
        assert_eq!(error("", &key), IdentityError::NoCertificate);
        assert_eq!(error("-----BEGIN CERTIFICATE-----\nx\n", &key), IdentityError::NoCertificate);
        assert_eq!(error(&certificate, &certificate), IdentityError::NoKey);
        assert_eq!(error(&certificate, &other_key), IdentityError::KeyMismatch);
    }

    #[test]
    fn what_is_no_response_is_not_stapled() {
        let (certificate, key) = pair();
        let identity = Identity::from_pem(&certificate, &key).unwrap();
        // The second one is an OCSP response with the status tryLater.
        for wrong in [&b"nonsense"[..], &[0x30, 3, 0x0a, 1, 3]] {
            let refused = identity.clone().with_ocsp_response(wrong.to_vec());
            assert_eq!(refused, Err(IdentityError::OcspResponse));
        }
    }
}

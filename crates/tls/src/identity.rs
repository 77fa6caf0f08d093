//! A certificate with its chain and key, which are checked to belong together.

use openssl::hash::MessageDigest;
use openssl::ocsp::{OcspResponse, OcspResponseStatus};
use openssl::pkey::{Id, PKey, Private};
use openssl::ssl::SslContextBuilder;
use openssl::x509::X509;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::openssl::ffi::add_to_chain;
use tlslab_wire::names::KeyKind;
use tlslab_wire::tls::obsolete::SHORTEST_PRIME;

/// A certificate with its chain and its private key, of a server or of a client.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The owner's certificate, followed by the intermediate certificates.
    chain: Vec<X509>,
    key: PKey<Private>,
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
    #[error(
        "an {0} key is obsolete; give --allow-obsolete (allow_obsolete) to have it all the same"
    )]
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
        let chain = X509::stack_from_pem(chain.as_bytes())
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or(IdentityError::NoCertificate)?;
        // Without a callback OpenSSL would ask for the password on the terminal.
        let key = PKey::private_key_from_pem_callback(key.as_bytes(), |_| Ok(0))
            .map_err(|_| IdentityError::NoKey)?;
        let identity = Self { chain, key, ocsp_response: None };
        if !matches!(identity.key.id(), Id::RSA | Id::EC | Id::ED25519) {
            return Err(IdentityError::KeyKind(identity.key_kind()));
        }
        match identity.chain[0].public_key() {
            Ok(public) if public.public_eq(&identity.key) => Ok(identity),
            _ => Err(IdentityError::KeyMismatch),
        }
    }

    /// The same identity with a DER-encoded OCSP response, which a server staples for clients that
    /// request one (RFC 6066, section 8). The response is not checked against the certificate.
    ///
    /// # Errors
    /// The bytes are not an OCSP response, or it has an error status (RFC 6960, section 4.2.1).
    pub fn with_ocsp_response(self, der: Vec<u8>) -> Result<Self, IdentityError> {
        match OcspResponse::from_der(&der).map(|response| response.status()) {
            Ok(OcspResponseStatus::SUCCESSFUL) => Ok(Self { ocsp_response: Some(der), ..self }),
            _ => Err(IdentityError::OcspResponse),
        }
    }

    /// The OCSP response to staple, DER.
    pub fn ocsp_response(&self) -> Option<&[u8]> {
        self.ocsp_response.as_deref()
    }

    /// The kind and size of the key: `RSA-2048`, `ECDSA P-256`, `Ed25519`.
    pub fn key_kind(&self) -> String {
        match (self.key.id(), self.key.bits()) {
            (Id::RSA, bits) => format!("RSA-{bits}"),
            (Id::EC, bits) => format!("ECDSA P-{bits}"),
            (Id::ED25519, _) => "Ed25519".to_owned(),
            (other, _) => format!("number {}", other.as_raw()),
        }
    }

    /// The kind of the key, if the key is short enough to require `allow_obsolete`.
    pub fn short_key(&self) -> Option<String> {
        (self.key.id() == Id::RSA && self.key.bits() < SHORTEST_PRIME).then(|| self.key_kind())
    }

    /// The algorithm of the key, without its size. An OpenSSL context holds one certificate per
    /// algorithm.
    pub fn algorithm(&self) -> &'static str {
        algorithm(self.key.id())
    }

    /// The owner's certificate, DER.
    pub fn certificate(&self) -> Vec<u8> {
        // A certificate that was parsed from DER can be encoded as DER: this fails only without
        // memory.
        self.chain[0].to_der().unwrap_or_default()
    }

    /// The SHA-256 digest of the owner's certificate in hex.
    pub fn fingerprint(&self) -> String {
        let digest = self.chain[0].digest(MessageDigest::sha256());
        digest.map(|d| d.iter().map(|byte| format!("{byte:02x}")).collect()).unwrap_or_default()
    }

    /// Adds the certificate, its chain and its key to an OpenSSL context. Certificates of other
    /// algorithms stay.
    pub fn install(&self, context: &mut SslContextBuilder) -> Result<(), IdentityError> {
        let mut set = || {
            let (own, others) = self.chain.split_first().expect("a chain is never empty");
            context.set_certificate(own)?;
            context.set_private_key(&self.key)?;
            others.iter().try_for_each(|certificate| add_to_chain(context, certificate))
        };
        set().map_err(|e| IdentityError::Refused { backend: "openssl", message: e.to_string() })
    }

    /// The certificate, its chain and its key as a rustls type.
    pub fn certified(&self, with: &CryptoProvider) -> Result<CertifiedKey, IdentityError> {
        let refused = |message: String| IdentityError::Refused { backend: "rustls", message };
        let chain: Result<_, _> = self.chain.iter().map(|c| c.to_der()).collect();
        let chain: Vec<Vec<u8>> = chain.map_err(|e| refused(e.to_string()))?;
        let key = self.key.private_key_to_pkcs8().map_err(|e| refused(e.to_string()))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let certified = CertifiedKey::from_der(chain, key, with);
        let mut certified = certified.map_err(|e| refused(e.to_string()))?;
        certified.ocsp.clone_from(&self.ocsp_response);
        Ok(certified)
    }
}

/// The algorithm of a key, without its size.
pub fn algorithm(id: Id) -> &'static str {
    match id {
        Id::RSA => "RSA",
        Id::EC => "ECDSA",
        _ => "Ed25519",
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.certificate() == other.certificate() && self.key.public_eq(&other.key)
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
        let fingerprint = openssl::sha::sha256(&identity.certificate());
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

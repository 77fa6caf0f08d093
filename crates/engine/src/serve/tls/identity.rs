//! A certificate with its chain and key, checked to belong together.

use openssl::pkey::{Id, PKey, Private};
use openssl::x509::X509;

use crate::serve::self_signed::KeyKind;

/// A certificate with its chain and its private key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The server's certificate, then the intermediate ones.
    chain: Vec<X509>,
    key: PKey<Private>,
}

/// Why a certificate with its key cannot be used.
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
    #[error("cannot make a certificate with a {kind} key: {message}")]
    NotMade { kind: KeyKind, message: String },
    #[error("{backend} refuses the certificate: {message}")]
    Refused { backend: &'static str, message: String },
}

impl Identity {
    /// Reads a certificate chain (the server's own first) and a private key, both PEM.
    ///
    /// # Errors
    /// One of the two is not there or not readable, or they do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, IdentityError> {
        let chain = X509::stack_from_pem(chain.as_bytes())
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or(IdentityError::NoCertificate)?;
        // With a callback that knows no password OpenSSL does not ask for one on the terminal.
        let key = PKey::private_key_from_pem_callback(key.as_bytes(), |_| Ok(0))
            .map_err(|_| IdentityError::NoKey)?;
        let identity = Self { chain, key };
        if !matches!(identity.key.id(), Id::RSA | Id::EC | Id::ED25519) {
            return Err(IdentityError::KeyKind(identity.key_kind()));
        }
        match identity.chain[0].public_key() {
            Ok(public) if public.public_eq(&identity.key) => Ok(identity),
            _ => Err(IdentityError::KeyMismatch),
        }
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

    /// The algorithm of the key, without its size: by this an OpenSSL context holds one each.
    pub(super) fn algorithm(&self) -> &'static str {
        match self.key.id() {
            Id::RSA => "RSA",
            Id::EC => "ECDSA",
            _ => "Ed25519",
        }
    }

    /// The server's certificate, then the intermediate ones.
    pub(super) fn chain(&self) -> &[X509] {
        &self.chain
    }

    /// The private key.
    pub(super) fn key(&self) -> &PKey<Private> {
        &self.key
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
}

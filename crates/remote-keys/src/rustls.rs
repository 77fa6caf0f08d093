//! A key outside the process, as a rustls signing key.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use super::RsaScheme;
use super::session::SignerSession;

/// A thread's session. rustls requires it to be shareable, though the handshakes of a thread do not
/// share it.
pub type SharedSession = Arc<Mutex<SignerSession>>;

/// A certificate with its key outside the process, for either side.
pub fn certified(certificate: &[u8], session: &SharedSession) -> Arc<SingleCertAndKey> {
    let key = Arc::new(AwayKey(Arc::clone(session)));
    Arc::new(SingleCertAndKey::from(CertifiedKey::new(
        vec![CertificateDer::from(certificate.to_vec())],
        key,
    )))
}

#[derive(Debug)]
struct AwayKey(SharedSession);

impl SigningKey for AwayKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.iter().find_map(|&named| {
            let scheme =
                RsaScheme::of(tlslab_wire::names::SignatureScheme::from_code_point(named.into()))?;
            let session = Arc::clone(&self.0);
            Some(Box::new(AwaySigner { session, scheme, named }) as Box<dyn Signer>)
        })
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

#[derive(Debug)]
struct AwaySigner {
    session: SharedSession,
    scheme: RsaScheme,
    named: SignatureScheme,
}

impl Signer for AwaySigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.sign(message, self.scheme).map_err(Error::General)
    }

    fn scheme(&self) -> SignatureScheme {
        self.named
    }
}

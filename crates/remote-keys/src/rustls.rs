//! A key away from the process, as rustls takes it.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use super::RsaScheme;
use super::desk::Desk;

/// A thread's desk: rustls wants to be able to share it, and a thread's handshakes do not.
pub type SharedDesk = Arc<Mutex<Desk>>;

/// A certificate with its key away from the process, for either side.
pub fn certified(certificate: &[u8], desk: &SharedDesk) -> Arc<SingleCertAndKey> {
    let key = Arc::new(AwayKey(Arc::clone(desk)));
    Arc::new(SingleCertAndKey::from(CertifiedKey::new(
        vec![CertificateDer::from(certificate.to_vec())],
        key,
    )))
}

#[derive(Debug)]
struct AwayKey(SharedDesk);

impl SigningKey for AwayKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered.iter().find_map(|&named| {
            let scheme =
                RsaScheme::of(tlslab_wire::names::SignatureScheme::from_code_point(named.into()))?;
            let desk = Arc::clone(&self.0);
            Some(Box::new(AwaySigner { desk, scheme, named }) as Box<dyn Signer>)
        })
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

#[derive(Debug)]
struct AwaySigner {
    desk: SharedDesk,
    scheme: RsaScheme,
    named: SignatureScheme,
}

impl Signer for AwaySigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.sign(message, self.scheme).map_err(Error::General)
    }

    fn scheme(&self) -> SignatureScheme {
        self.named
    }
}

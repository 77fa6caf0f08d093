//! The client's own certificate, and how the back end learns that it was asked for.

use std::cell::Cell;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use crate::identity::{Identity, IdentityError};

thread_local! {
    /// Whether a server on this thread has just been given the certificate. rustls lets the resolver know
    /// only; a worker handles one connection at a time, and fetches it at once.
    static SHOWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the certificate was shown on this thread; forgets it.
pub fn take_shown() -> bool {
    SHOWN.take()
}

/// Shows the one certificate to every server that asks and takes a signature of its key, whatever
/// authorities the server names: it is the server's to judge.
#[derive(Debug)]
pub struct OneIdentity(Arc<CertifiedKey>);

impl OneIdentity {
    /// The identity as rustls has it.
    pub fn new(identity: &Identity, provider: &CryptoProvider) -> Result<Self, IdentityError> {
        Ok(Self(Arc::new(identity.certified(provider)?)))
    }
}

impl ResolvesClientCert for OneIdentity {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        let signs = self.0.key.choose_scheme(schemes).is_some();
        SHOWN.set(signs);
        signs.then(|| Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

//! The client's own certificate, and how the back end learns that a server requested it.

use std::cell::Cell;
use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;

use crate::identity::{Identity, IdentityError};

thread_local! {
    /// Whether a server on this thread has just received the certificate. rustls reports that only
    /// to the resolver, without a connection. A worker handles one connection at a time and reads
    /// the value at once.
    static SHOWN: Cell<bool> = const { Cell::new(false) };
}

/// True if the certificate was sent on this thread since the last call.
pub fn take_shown() -> bool {
    SHOWN.take()
}

/// Sends the same certificate to every server that requests one and accepts a signature scheme of
/// its key, whatever authorities the server names. The server decides whether to accept it.
#[derive(Debug)]
pub struct OneIdentity(Arc<CertifiedKey>);

impl OneIdentity {
    /// Converts the identity into a rustls type.
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

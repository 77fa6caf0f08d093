//! The complete back end (under construction).
use super::rustls::RustlsSession;
use super::{Backend, BackendError, Offer};
use crate::outcome::Failure;
/// Name.
pub const NAME: &str = "openssl";
/// Stub.
pub struct OpensslBackend;
impl OpensslBackend {
    /// Stub.
    pub fn new(_: &Offer) -> Result<Self, BackendError> {
        Err(BackendError::Unsupported {
            backend: NAME,
            what: "anything".into(),
            has: String::new(),
        })
    }
}
impl Backend for OpensslBackend {
    type Session = RustlsSession;
    fn open(&mut self) -> Result<RustlsSession, Failure> {
        Err(Failure::TlsProtocol)
    }
}

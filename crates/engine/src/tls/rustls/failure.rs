//! What an error of rustls means to a connection.

use rustls::{CertificateError, Error};

use crate::outcome::Failure;

/// The class of a failure. `signed`: the server's signature was being verified, or already had been.
pub fn failure(error: &Error, signed: bool) -> Failure {
    match error {
        Error::AlertReceived(alert) => Failure::Alert(u8::from(*alert)),
        Error::InvalidCertificate(CertificateError::BadSignature) if signed => Failure::Signature,
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Failure::Certificate,
        _ => Failure::TlsProtocol,
    }
}

//! Authenticates a server by its certificates and its signature (RFC 8446, sections 4.4.2 and
//! 4.4.3), with the same verifier as rustls connections.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::hash;
use rustls::internal::msgs::codec::Codec;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{AlertDescription, DigitallySignedStruct, Error};

use crate::rustls::failure::{failure, reason};
use crate::rustls::signed_with;
use crate::rustls::verifier::Verifier;
use tlslab_wire::outcome::Failure;
use tlslab_wire::reason::Reason;
use tlslab_wire::tls::fault::{DECODE_ERROR, Fault, ILLEGAL_PARAMETER};
use tlslab_wire::tls::messages::for_each_certificate;

/// The 64 spaces before the context string of a signature; a hash follows the string (section
/// 4.4.3).
const SPACES: [u8; 64] = [b' '; 64];
const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";

/// Authenticates the servers of one name.
pub struct ServerAuthenticator {
    verifier: Arc<Verifier>,
    name: ServerName<'static>,
}

/// A rejected server: the failure class, the alert to send, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct AuthError {
    pub failure: Failure,
    pub alert: u8,
    pub reason: Reason,
}

impl ServerAuthenticator {
    pub fn new(verifier: Arc<Verifier>, name: ServerName<'static>) -> Self {
        Self { verifier, name }
    }

    /// Authenticates by the bodies of Certificate and CertificateVerify (the latter in the form
    /// that its reader needs), and by the hash of the transcript up to the Certificate.
    pub fn authenticate(
        &self,
        certificate: &[u8],
        proof: &[u8],
        transcript: &hash::Output,
    ) -> Result<(), AuthError> {
        let mut chain = Vec::new();
        let mut stapled: &[u8] = &[];
        for_each_certificate(certificate, |one, response| {
            if chain.is_empty() {
                stapled = response;
            }
            chain.push(CertificateDer::from(one));
        })
        .map_err(malformed)?;
        let [server, others @ ..] = &chain[..] else {
            return Err(refused(&Error::NoCertificatesPresented, false));
        };
        let signed = DigitallySignedStruct::read_bytes(proof)
            .map_err(|_| malformed("a CertificateVerify that cannot be read".into()))?;
        let checked =
            self.verifier.verify_server_cert(server, others, &self.name, stapled, UnixTime::now());
        // Clears the length that the verifier stores for rustls sessions.
        signed_with::take_stapled();
        checked.map_err(|error| refused(&error, false))?;
        let message = [&SPACES, CONTEXT, transcript.as_ref()].concat();
        let verified = self.verifier.verify_tls13_signature(&message, server, &signed);
        // Clears the scheme that the verifier stores for rustls sessions, which cannot learn it
        // otherwise.
        signed_with::take();
        verified.map(|_| ()).map_err(|error| refused(&error, true))
    }
}

fn malformed(fault: Fault) -> AuthError {
    let Fault { alert, .. } = fault;
    AuthError { failure: Failure::TlsProtocol, alert, reason: fault.into() }
}

fn refused(error: &Error, signed: bool) -> AuthError {
    let failure = failure(error, signed);
    let alert = match error {
        Error::NoCertificatesPresented => DECODE_ERROR,
        Error::InvalidCertificate(why) => AlertDescription::from(why.clone()).into(),
        _ => ILLEGAL_PARAMETER,
    };
    AuthError { failure, alert, reason: reason(error, Some(true)) }
}

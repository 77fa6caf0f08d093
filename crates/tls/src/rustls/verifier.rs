//! How the rustls back end authenticates a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::ProtocolVersion::{TLSv1_2, TLSv1_3};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore, SignatureScheme,
};

use super::{chain_memo, key_memo, signed_with, trusted_leaf};
use crate::{TrustAnchors, staple};

/// The checks of a server.
#[derive(Debug)]
enum Check {
    /// Chain, name, validity, and the handshake signature; with the trust anchors, DER.
    Full(Arc<WebPkiServerVerifier>, Vec<Vec<u8>>),
    /// Only the handshake signature.
    Signature,
    /// Nothing: the connection is not sampled.
    Nothing,
}

/// A server verifier that also stores the signature scheme and the length of the OCSP response.
#[derive(Debug)]
pub struct Verifier {
    /// The number of this verifier, unique in the process.
    number: u64,
    check: Check,
    algorithms: WebPkiSupportedAlgorithms,
    schemes: Vec<SignatureScheme>,
}

impl Verifier {
    /// A verifier that checks everything that the trust anchors allow to check.
    pub fn full(
        trust: &TrustAnchors,
        algorithms: WebPkiSupportedAlgorithms,
        schemes: Vec<SignatureScheme>,
    ) -> Result<Self, String> {
        let check = match trust {
            TrustAnchors::Anyone => Check::Signature,
            TrustAnchors::Certificates(anchors) => {
                Check::Full(webpki(anchors, algorithms)?, anchors.clone())
            }
        };
        Ok(Self { number: number(), check, algorithms, schemes })
    }

    /// A verifier that checks nothing, for the connections between two samples.
    pub fn none(algorithms: WebPkiSupportedAlgorithms, schemes: Vec<SignatureScheme>) -> Self {
        Self { number: number(), check: Check::Nothing, algorithms, schemes }
    }

    /// Checks a stapled response, empty without one: its form always, and that it is for this
    /// certificate with the chain.
    fn check_staple(
        &self,
        response: &[u8],
        certificate: &CertificateDer<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let checked = match self.check {
            _ if response.is_empty() => Ok(()),
            Check::Full(..) => staple::check(response, certificate, now),
            Check::Signature | Check::Nothing => staple::check_form(response),
        };
        checked.map_err(|_| CertificateError::InvalidOcspResponse.into())
    }

    /// Checks the chain, the name and the validity, unless this verifier leaves that out.
    fn check_chain(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let Check::Full(webpki, anchors) = &self.check else { return Ok(()) };
        if chain_memo::has_passed(self.number, server_name, end_entity, intermediates, now) {
            return Ok(());
        }
        if anchors.iter().any(|anchor| anchor == end_entity.as_ref()) {
            trusted_leaf::check(end_entity, server_name, now)?;
        } else {
            webpki.verify_server_cert(end_entity, intermediates, server_name, &[], now)?;
        }
        chain_memo::remember(self.number, server_name, end_entity, intermediates, now);
        Ok(())
    }

    /// Stores the scheme; returns whether the signature must be verified. Fails if the scheme was
    /// not offered (RFC 8446, section 4.4.3): the library would accept any scheme that it can
    /// verify.
    fn note(&self, signed: &DigitallySignedStruct) -> Result<bool, Error> {
        signed_with::note(signed);
        if !self.schemes.contains(&signed.scheme) {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        Ok(!matches!(self.check, Check::Nothing))
    }
}

fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn webpki(
    anchors: &[Vec<u8>],
    algorithms: WebPkiSupportedAlgorithms,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = RootCertStore::empty();
    let (_, unusable) =
        roots.add_parsable_certificates(anchors.iter().map(|der| CertificateDer::from(&der[..])));
    if roots.is_empty() {
        return Err(format!("no usable trust anchor among {unusable} certificates"));
    }
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.signature_verification_algorithms = algorithms;
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider))
        .build()
        .map_err(|e| e.to_string())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        signed_with::note_stapled(ocsp_response);
        self.check_chain(end_entity, intermediates, server_name, now)?;
        self.check_staple(ocsp_response, end_entity, now)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.note(signed)? {
            return key_memo::verify(TLSv1_2, message, certificate, signed, || {
                verify_tls12_signature(message, certificate, signed, &self.algorithms)
            });
        }
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.note(signed)? {
            return key_memo::verify(TLSv1_3, message, certificate, signed, || {
                verify_tls13_signature(message, certificate, signed, &self.algorithms)
            });
        }
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

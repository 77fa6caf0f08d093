//! Verifiers that verify in full, every time, and store the signature scheme, which each side reads
//! at the end of its turn. The load generator's verifier caches and samples instead.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore};

use crate::in_memory::InMemoryError;
use tlslab_tls::BackendError;
use tlslab_tls::rustls::{NAME, signed_with};
use tlslab_wire::names::SignatureScheme;

/// A verifier of rustls, restricted to one signature scheme.
#[derive(Debug)]
struct Noting<V: ?Sized> {
    scheme: rustls::SignatureScheme,
    inner: Arc<V>,
}

/// Verifies a server: chain, name, validity, signature.
pub fn server_verifier(
    roots: Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
    scheme: SignatureScheme,
) -> Result<Arc<dyn ServerCertVerifier>, InMemoryError> {
    let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|e| refused(&e))?;
    Ok(Arc::new(Noting { scheme: scheme.code_point().into(), inner }))
}

/// Verifies a client: chain, validity, signature.
pub fn client_verifier(
    roots: Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
    scheme: SignatureScheme,
) -> Result<Arc<dyn ClientCertVerifier>, InMemoryError> {
    let inner = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|e| refused(&e))?;
    Ok(Arc::new(Noting { scheme: scheme.code_point().into(), inner }))
}

fn refused(error: &impl ToString) -> InMemoryError {
    BackendError::Refused { backend: NAME, message: error.to_string() }.into()
}

impl ServerCertVerifier for Noting<WebPkiServerVerifier> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signed_with::note(signed);
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signed_with::note(signed);
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![self.scheme]
    }
}

impl ClientCertVerifier for Noting<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.inner.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signed_with::note(signed);
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        signed_with::note(signed);
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![self.scheme]
    }
}

//! Finds whether the server compresses its certificates (RFC 8879). Nothing is decompressed: the
//! test is that the server sends a certificate compressed by an offered algorithm.

use std::cell::Cell;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::compress::{CertDecompressor, DecompressionFailed};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateCompressionAlgorithm, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    SignatureScheme,
};

use super::asker::Asker;
use super::connection::{Stop, refusal};
use super::record::Compression;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The algorithms with their names.
static ALGORITHMS: [(Witness, &str); 3] = [
    (Witness(CertificateCompressionAlgorithm::Zlib), "zlib"),
    (Witness(CertificateCompressionAlgorithm::Brotli), "brotli"),
    (Witness(CertificateCompressionAlgorithm::Zstd), "zstd"),
];

thread_local! {
    /// Whether a witness was called on this thread, which makes one connection at a time. rustls
    /// takes decompressors by `&'static` and calls them without a connection: a thread-local is the
    /// only place to record the call.
    static CALLED: Cell<bool> = const { Cell::new(false) };
}

/// The algorithms with which the server compresses its certificate. Each is offered alone.
pub fn compresses_certificates(asker: &mut Asker) -> Result<Option<Vec<String>>, Stop> {
    if !asker.has(Protocol::Tls13) {
        return Ok(None);
    }
    let (mut names, mut silent) = (Vec::new(), false);
    for (witness, name) in &ALGORITHMS {
        asker.about(format!("{name} compression of certificates in {}", Protocol::Tls13));
        match compresses_by(asker, witness)? {
            Ok(true) => names.push((*name).to_owned()),
            Err(refusal) if refusal.is_silence() => silent = true,
            _ => {}
        }
    }
    Ok(Compression::known(names, silent))
}

fn compresses_by(
    asker: &mut Asker,
    witness: &'static Witness,
) -> Result<Result<bool, Refusal>, Stop> {
    let name = asker.server_name().to_owned();
    asker.twice(|mut stream| {
        let Some(mut connection) = client(witness, &name) else { return Ok(false) };
        CALLED.set(false);
        while connection.is_handshaking() && !CALLED.get() {
            match connection.complete_io(&mut stream) {
                Err(error) if !CALLED.get() => return Err(refusal(&error)),
                _ => {}
            }
        }
        Ok(CALLED.get())
    })
}

fn client(witness: &'static Witness, server_name: &str) -> Option<ClientConnection> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .ok()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    config.cert_decompressors = vec![witness];
    let name = ServerName::try_from(server_name.to_owned()).ok()?;
    ClientConnection::new(Arc::new(config), name).ok()
}

/// A decompressor that only records that it was called.
#[derive(Debug)]
struct Witness(CertificateCompressionAlgorithm);

impl CertDecompressor for Witness {
    fn decompress(&self, _: &[u8], _: &mut [u8]) -> Result<(), DecompressionFailed> {
        CALLED.set(true);
        Err(DecompressionFailed)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0
    }
}

/// Accepts every server: the probe sends nothing confidential.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        use rustls::SignatureScheme as S;
        vec![
            S::ECDSA_NISTP256_SHA256,
            S::ECDSA_NISTP384_SHA384,
            S::ECDSA_NISTP521_SHA512,
            S::ED25519,
            S::RSA_PSS_SHA256,
            S::RSA_PSS_SHA384,
            S::RSA_PSS_SHA512,
            S::RSA_PKCS1_SHA256,
        ]
    }
}

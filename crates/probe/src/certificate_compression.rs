//! Finds whether the server compresses its certificates (RFC 8879). Nothing is decompressed: the
//! test is that the server sends a certificate compressed by an offered algorithm.

use std::cell::Cell;
use std::io;
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
use tlslab_wire::names::Group;
use tlslab_wire::sanitize::sanitize;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::{self, Protocol};

/// The algorithms with their names.
static ALGORITHMS: [(Witness, &str); 3] = [
    (Witness(CertificateCompressionAlgorithm::Zlib), "zlib"),
    (Witness(CertificateCompressionAlgorithm::Brotli), "brotli"),
    (Witness(CertificateCompressionAlgorithm::Zstd), "zstd"),
];

thread_local! {
    /// Whether a certificate of the present connection came compressed; `None` before it has come.
    /// This thread makes one connection at a time. rustls takes decompressors by `&'static` and
    /// calls them without a connection: a thread-local is the only place to record the call.
    static COMPRESSED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// The algorithms with which the server compresses its certificate. Each is offered alone. `None`
/// if no certificate comes, such as from a server without a group that rustls has.
pub fn compresses_certificates(asker: &mut Asker) -> Result<Option<Vec<String>>, Stop> {
    if !asker.has(Protocol::Tls13) {
        return Ok(None);
    }
    let (mut names, mut open) = (Vec::new(), false);
    for (witness, name) in &ALGORITHMS {
        asker.about(format!("{name} compression of certificates in {}", Protocol::Tls13));
        match compresses_by(asker, witness)? {
            Ok(true) => names.push((*name).to_owned()),
            Ok(false) => {}
            Err(refusal) => {
                open = true;
                // Another refusal may be due to rustls, which lacks groups and suites of OpenSSL.
                if refusal.says_nothing() {
                    asker.doubt(refusal)?;
                }
            }
        }
    }
    Ok(Compression::known(names, open))
}

/// Whether the certificate comes compressed; the end of the handshake if no certificate comes.
fn compresses_by(
    asker: &mut Asker,
    witness: &'static Witness,
) -> Result<Result<bool, Refusal>, Stop> {
    let (name, is_small) = (asker.server_name().to_owned(), asker.is_one_segment());
    asker.twice(|mut stream| {
        let none = |words: &str| Refusal::other("certificate", words.to_owned());
        let mut connection = client(witness, &name, is_small)
            .ok_or_else(|| none("was not asked: rustls made no client"))?;
        COMPRESSED.set(None);
        while connection.is_handshaking() && COMPRESSED.get().is_none() {
            if let Err(error) = connection.complete_io(&mut stream)
                && COMPRESSED.get().is_none()
            {
                return Err(end(&error));
            }
        }
        COMPRESSED.get().ok_or_else(|| none("sent no certificate"))
    })
}

/// The end of a handshake: an alert of the server, an error of rustls, or an end of the connection.
fn end(error: &io::Error) -> Refusal {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(alert)) => Refusal::alert(u8::from(*alert)),
        Some(other) => {
            let words = format!("broke off: {}", sanitize(&other.to_string(), 100));
            Refusal { in_tls: true, ..Refusal::not_tls(words) }
        }
        None => refusal(error),
    }
}

/// `is_small`: the ClientHello is to fit into one segment.
fn client(
    witness: &'static Witness,
    server_name: &str,
    is_small: bool,
) -> Option<ClientConnection> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups = rustls::crypto::aws_lc_rs::ALL_KX_GROUPS.to_vec();
    if is_small {
        let is_classical =
            |number| Group::from_code_point(number).is_some_and(|g| !g.needs_tls13());
        provider.kx_groups.retain(|group| is_classical(group.name().into()));
    }
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
        COMPRESSED.set(Some(true));
        Err(DecompressionFailed)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0
    }
}

/// Accepts every server, and records that its certificate came: the probe sends nothing
/// confidential.
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
        COMPRESSED.set(COMPRESSED.get().or(Some(false)));
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
        registry::schemes().into_iter().map(SignatureScheme::from).collect()
    }
}

//! Reads certificates in PEM, and the fields that records and reports show.

use std::fmt;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tlslab_contract::record::Certificate;
use tlslab_wire::names::Group;
use tlslab_wire::sanitize::sanitize;
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;
use x509_parser::public_key::PublicKey;

/// The highest length in bytes of a name from a certificate. The server chooses names, so longer
/// ones are cut.
const NAME_LIMIT: usize = 256;

/// The certificates of a PEM text, DER; `None` if it has none, or one that cannot be read.
pub fn from_pem(text: &str) -> Option<Vec<CertificateDer<'static>>> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>().ok()?;
    let is_readable = |der: &CertificateDer<'_>| parse_x509_certificate(der).is_ok();
    (!found.is_empty() && found.iter().all(is_readable)).then_some(found)
}

/// The kind of a certificate's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKeyKind {
    /// RSA, with the bits of the modulus.
    Rsa(usize),
    /// ECDSA on this curve.
    Ecdsa(Group),
    /// ECDSA on another curve, with the bits of a coordinate.
    OtherEcdsa(usize),
    Ed25519,
    /// Another kind, by its name or object identifier.
    Other(String),
}

impl PublicKeyKind {
    /// The kind of this certificate's key.
    pub fn of(certificate: &X509Certificate<'_>) -> Self {
        let algorithm = certificate.public_key().algorithm.algorithm.to_id_string();
        match certificate.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => Self::Rsa(key.key_size()),
            Ok(PublicKey::EC(point)) => {
                curve(certificate).map_or(Self::OtherEcdsa(point.key_size()), Self::Ecdsa)
            }
            _ if algorithm == "1.3.101.112" => Self::Ed25519,
            _ if algorithm == "1.3.101.113" => Self::Other("Ed448".to_owned()),
            _ => Self::Other(algorithm),
        }
    }
}

/// `RSA-2048`, `ECDSA P-256`, `Ed25519`.
impl fmt::Display for PublicKeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa(bits) => write!(f, "RSA-{bits}"),
            Self::Ecdsa(curve) => write!(f, "ECDSA {curve}"),
            Self::OtherEcdsa(bits) => write!(f, "ECDSA {bits} bits"),
            Self::Ed25519 => f.write_str("Ed25519"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// The curve of an ECDSA key; `None` for other keys, and for curves that are no groups of TLS 1.3.
fn curve(certificate: &X509Certificate<'_>) -> Option<Group> {
    let parameters = certificate.public_key().algorithm.parameters.as_ref()?;
    match parameters.as_oid().ok()?.to_id_string().as_str() {
        "1.2.840.10045.3.1.7" => Some(Group::P256),
        "1.3.132.0.34" => Some(Group::P384),
        "1.3.132.0.35" => Some(Group::P521),
        _ => None,
    }
}

/// The group with the curve of the server's key; `None` unless it is an ECDSA key.
pub fn certificate_group(certificates: &[Vec<u8>]) -> Option<Group> {
    curve(&parse_x509_certificate(certificates.first()?).ok()?.1)
}

/// True if a certificate requires a stapled OCSP response: its TLS feature extension (RFC 7633) lists
/// `status_request`.
pub fn requires_staple(certificate: &[u8]) -> bool {
    const TLS_FEATURE: &str = "1.3.6.1.5.5.7.1.24";
    const STATUS_REQUEST: [u8; 3] = [2, 1, 5];
    let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return false };
    let lists = |value: &[u8]| value.windows(3).any(|integer| integer == STATUS_REQUEST);
    let mut extensions = certificate.extensions().iter();
    extensions.any(|each| each.oid.to_id_string() == TLS_FEATURE && lists(each.value))
}

/// The fields of a chain's first certificate, and the length of the chain.
pub fn describe(certificates: &[Vec<u8>]) -> Option<Certificate> {
    let (_, certificate) = parse_x509_certificate(certificates.first()?).ok()?;
    let name = |name: &x509_parser::x509::X509Name<'_>| sanitize(&name.to_string(), NAME_LIMIT);
    Some(Certificate {
        subject: name(certificate.subject()),
        issuer: name(certificate.issuer()),
        key: PublicKeyKind::of(&certificate).to_string(),
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
        chain_length: certificates.len(),
        chain_bytes: certificates.iter().map(Vec::len).sum(),
    })
}

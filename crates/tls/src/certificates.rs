//! Reads the fields of a server's certificates that records and reports show.

use tlslab_contract::record::Certificate;
use tlslab_wire::names::Group;
use tlslab_wire::sanitize::sanitize;

/// The highest length in bytes of a name from a certificate. The server chooses names, so longer
/// ones are cut.
const NAME_LIMIT: usize = 256;

/// The group with the curve of the server's key; `None` unless it is an ECDSA key.
pub fn certificate_group(certificates: &[Vec<u8>]) -> Option<Group> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificates.first()?).ok()?;
    let parameters = certificate.public_key().algorithm.parameters.as_ref()?;
    match parameters.as_oid().ok()?.to_id_string().as_str() {
        "1.2.840.10045.3.1.7" => Some(Group::P256),
        "1.3.132.0.34" => Some(Group::P384),
        "1.3.132.0.35" => Some(Group::P521),
        _ => None,
    }
}

/// The fields of a chain's first certificate, and the length of the chain.
pub fn describe(certificates: &[Vec<u8>]) -> Option<Certificate> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificates.first()?).ok()?;
    let name = |name: &x509_parser::x509::X509Name<'_>| sanitize(&name.to_string(), NAME_LIMIT);
    Some(Certificate {
        subject: name(certificate.subject()),
        issuer: name(certificate.issuer()),
        key: key_name(&certificate, certificates),
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
        chain_length: certificates.len(),
        chain_bytes: certificates.iter().map(Vec::len).sum(),
    })
}

fn key_name(
    certificate: &x509_parser::certificate::X509Certificate<'_>,
    certificates: &[Vec<u8>],
) -> String {
    use x509_parser::public_key::PublicKey;
    let algorithm = certificate.public_key().algorithm.algorithm.to_id_string();
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => format!("RSA-{}", key.key_size()),
        Ok(PublicKey::EC(point)) => match certificate_group(certificates) {
            Some(group) => format!("ECDSA {group}"),
            None => format!("ECDSA {} bits", point.key_size()),
        },
        _ if algorithm == "1.3.101.112" => "Ed25519".to_owned(),
        _ if algorithm == "1.3.101.113" => "Ed448".to_owned(),
        _ => algorithm,
    }
}

//! A certification authority and a certificate for this machine, generated on demand.

#[cfg(feature = "openssl")]
mod short_rsa;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData, RsaKeySize,
    SignatureAlgorithm,
};

use crate::identity::{Identity, IdentityError};
use tlslab_wire::names::KeyKind;

fn generate(kind: KeyKind) -> Result<KeyPair, rcgen::Error> {
    let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
    match kind {
        KeyKind::EcdsaP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyKind::EcdsaP384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
        KeyKind::EcdsaP521 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512),
        // aws-lc generates no keys of this size; OpenSSL does.
        KeyKind::Rsa1024 => Err(rcgen::Error::KeyGenerationUnavailable),
        KeyKind::Rsa2048 => rsa(RsaKeySize::_2048),
        KeyKind::Rsa3072 => rsa(RsaKeySize::_3072),
        KeyKind::Rsa4096 => rsa(RsaKeySize::_4096),
        KeyKind::Ed25519 => KeyPair::generate_for(&rcgen::PKCS_ED25519),
    }
}

/// The kind of the authority's key. The same family as the server's key, so that a client that can
/// verify the server's certificate can verify the issuer's signature, and with no more work.
fn issuer(kind: KeyKind) -> KeyKind {
    match kind {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => {
            KeyKind::Rsa2048
        }
        other => other,
    }
}

/// A certificate for localhost, 127.0.0.1 and ::1, and the certificate of its authority.
#[derive(Debug)]
pub struct SelfSigned {
    /// The server's certificate with its key.
    pub identity: Identity,
    /// The authority's certificate in PEM, which clients must trust.
    pub authority: String,
}

/// Generates an authority and a certificate issued by it. The authority's key is discarded.
///
/// # Errors
/// The library fails to generate the key or the certificate.
pub fn self_signed(kind: KeyKind) -> Result<SelfSigned, IdentityError> {
    let (certificate, key, authority) = make(kind, ExtendedKeyUsagePurpose::ServerAuth)?;
    let identity = Identity::from_pem(&certificate.pem(), &key.pem)?;
    Ok(SelfSigned { identity, authority: authority.pem() })
}

/// A certificate, its key, and the certificate of its issuer, all in DER; the key in PKCS #8.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate, DER.
    pub certificate: Vec<u8>,
    /// Its private key, PKCS #8 in DER.
    pub key: Vec<u8>,
    /// The certificate of the issuer, DER.
    pub authority: Vec<u8>,
}

/// Generates an authority and a certificate issued by it, for a server or for a client.
///
/// # Errors
/// The library fails to generate the key or the certificate.
pub fn issue(kind: KeyKind, purpose: ExtendedKeyUsagePurpose) -> Result<Issued, IdentityError> {
    let (certificate, key, authority) = make(kind, purpose)?;
    Ok(Issued {
        certificate: certificate.der().to_vec(),
        key: key.der,
        authority: authority.der().to_vec(),
    })
}

/// As [`issue`], for an RSA key whose private half is elsewhere: the returned key is empty.
///
/// # Errors
/// As [`issue`].
pub fn issue_for(
    public_key: &[u8],
    kind: KeyKind,
    purpose: ExtendedKeyUsagePurpose,
) -> Result<Issued, IdentityError> {
    let made = || -> Result<Issued, rcgen::Error> {
        let authority =
            CertifiedIssuer::self_signed(authority_params(kind)?, generate(issuer(kind))?)?;
        let certificate = subject_params(purpose)?.signed_by(&RsaPublic(public_key), &authority)?;
        let authority = authority.der().to_vec();
        Ok(Issued { certificate: certificate.der().to_vec(), key: Vec::new(), authority })
    };
    made().map_err(|e| IdentityError::NotMade { kind, message: e.to_string() })
}

/// A public key, PKCS #1 in DER.
struct RsaPublic<'a>(&'a [u8]);

impl PublicKeyData for RsaPublic<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

type Made = (Certificate, PrivateKey, CertifiedIssuer<'static, KeyPair>);

/// A private key in PKCS #8.
struct PrivateKey {
    pem: String,
    der: Vec<u8>,
}

fn make(kind: KeyKind, purpose: ExtendedKeyUsagePurpose) -> Result<Made, IdentityError> {
    let made = || -> Result<Made, rcgen::Error> {
        let authority =
            CertifiedIssuer::self_signed(authority_params(kind)?, generate(issuer(kind))?)?;
        let (certificate, key) = match kind {
            #[cfg(feature = "openssl")]
            KeyKind::Rsa1024 => {
                let generated = short_rsa::generate(1024);
                let (public, key) =
                    generated.map_err(|_| rcgen::Error::KeyGenerationUnavailable)?;
                (subject_params(purpose)?.signed_by(&RsaPublic(&public), &authority)?, key)
            }
            _ => {
                let key = generate(kind)?;
                let certificate = subject_params(purpose)?.signed_by(&key, &authority)?;
                (certificate, PrivateKey { pem: key.serialize_pem(), der: key.serialize_der() })
            }
        };
        Ok((certificate, key, authority))
    };
    made().map_err(|e| IdentityError::NotMade { kind, message: e.to_string() })
}

fn authority_params(kind: KeyKind) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, format!("tlslab test authority ({kind})"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn subject_params(purpose: ExtendedKeyUsagePurpose) -> Result<CertificateParams, rcgen::Error> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    // Static RSA suites require key encipherment (RFC 5246, section 7.4.2).
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_key_can_be_made_and_is_what_it_says() {
        for kind in KeyKind::ALL.into_iter().chain([KeyKind::Rsa1024]) {
            let made = self_signed(kind).unwrap();
            let named = made.identity.key_kind().to_lowercase().replace(" p-", "-p");
            assert_eq!(named, kind.to_string());
            assert!(made.authority.starts_with("-----BEGIN CERTIFICATE-----"));
        }
    }
}

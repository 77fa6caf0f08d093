//! Signature schemes (IANA "TLS SignatureScheme").

use std::fmt;
use std::str::FromStr;

use super::{UnknownName, string_form};

/// The algorithm and hash with which a peer signs the handshake (RFC 8446, section 4.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureScheme(u16);

/// The kind of key that a scheme requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum SignatureKey {
    Rsa,
    RsaPss,
    Ecdsa,
    EdDsa,
    MlDsa,
}

/// One row of the registry: name, IANA code point, kind of key.
struct Row(&'static str, u16, SignatureKey);

const ROWS: [Row; 19] = [
    Row("ecdsa_secp256r1_sha256", 0x0403, SignatureKey::Ecdsa),
    Row("ecdsa_secp384r1_sha384", 0x0503, SignatureKey::Ecdsa),
    Row("ecdsa_secp521r1_sha512", 0x0603, SignatureKey::Ecdsa),
    Row("ed25519", 0x0807, SignatureKey::EdDsa),
    Row("ed448", 0x0808, SignatureKey::EdDsa),
    Row("rsa_pss_rsae_sha256", 0x0804, SignatureKey::Rsa),
    Row("rsa_pss_rsae_sha384", 0x0805, SignatureKey::Rsa),
    Row("rsa_pss_rsae_sha512", 0x0806, SignatureKey::Rsa),
    Row("rsa_pss_pss_sha256", 0x0809, SignatureKey::RsaPss),
    Row("rsa_pss_pss_sha384", 0x080a, SignatureKey::RsaPss),
    Row("rsa_pss_pss_sha512", 0x080b, SignatureKey::RsaPss),
    Row("rsa_pkcs1_sha256", 0x0401, SignatureKey::Rsa),
    Row("rsa_pkcs1_sha384", 0x0501, SignatureKey::Rsa),
    Row("rsa_pkcs1_sha512", 0x0601, SignatureKey::Rsa),
    Row("ecdsa_sha1", 0x0203, SignatureKey::Ecdsa),
    Row("rsa_pkcs1_sha1", 0x0201, SignatureKey::Rsa),
    Row("mldsa44", 0x0904, SignatureKey::MlDsa),
    Row("mldsa65", 0x0905, SignatureKey::MlDsa),
    Row("mldsa87", 0x0906, SignatureKey::MlDsa),
];

impl SignatureScheme {
    /// The RSA scheme before TLS 1.2: MD5 and SHA-1 concatenated (RFC 4346, section 7.4.3). IANA
    /// has no number for it; this one is from the private-use range. No option requests the scheme:
    /// the version determines it.
    pub const RSA_MD5_SHA1: Self = Self(0xff01);

    /// All known schemes.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| Self(row.1))
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.1 == self.0)
    }

    /// The scheme with this IANA code point, known or not.
    pub const fn from_code_point(code_point: u16) -> Self {
        Self(code_point)
    }

    /// IANA's code point.
    pub const fn code_point(self) -> u16 {
        self.0
    }

    /// True if the scheme signs a SHA-1 digest, which libraries refuse by default.
    pub fn is_sha1(self) -> bool {
        matches!(self.0, 0x0201 | 0x0203)
    }

    /// The kind of key of a known scheme.
    pub fn key(self) -> Option<SignatureKey> {
        self.row().map(|row| row.2)
    }
}

impl fmt::Display for SignatureScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.0),
            None if *self == Self::RSA_MD5_SHA1 => f.write_str("rsa_pkcs1_md5_sha1"),
            None => write!(f, "0x{:04x}", self.0),
        }
    }
}

impl FromStr for SignatureScheme {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        ROWS.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| Self(row.1)).ok_or_else(
            || UnknownName {
                kind: "signature scheme",
                name: name.to_owned(),
                known: ROWS.each_ref().map(|row| row.0).join(", "),
            },
        )
    }
}

string_form!(SignatureScheme, "SignatureScheme", Self::all().map(|s| s.to_string()).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_found_by_its_name() {
        for scheme in SignatureScheme::all() {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
    }

    #[test]
    fn an_unregistered_code_point_shows_as_a_number() {
        let scheme = SignatureScheme::from_code_point(0xfefe);
        assert_eq!((scheme.to_string().as_str(), scheme.key()), ("0xfefe", None));
    }
}

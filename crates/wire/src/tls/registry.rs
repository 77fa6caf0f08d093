//! Everything that a probe can offer: IANA's registries of versions, suites, groups and schemes.
//!
//! [`crate::names`] covers what the engine can measure; a probe also offers items that are long
//! obsolete. The names of the engine are used as far as they exist.

use std::fmt;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tls_parser::{TlsCipherAu, TlsCipherEnc, TlsCipherEncMode, TlsCipherKx, TlsCipherSuite};

use crate::names::{Group, SignatureKey, SignatureScheme};

/// A protocol version, oldest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Protocol {
    /// SSL 2.0, which has its own handshake.
    #[serde(rename = "SSL 2.0")]
    Ssl2,
    /// SSL 3.0, RFC 6101.
    #[serde(rename = "SSL 3.0")]
    Ssl3,
    /// TLS 1.0, RFC 2246.
    #[serde(rename = "1.0")]
    Tls10,
    /// TLS 1.1, RFC 4346.
    #[serde(rename = "1.1")]
    Tls11,
    /// TLS 1.2, RFC 5246.
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3, RFC 8446.
    #[serde(rename = "1.3")]
    Tls13,
}

impl Protocol {
    /// All versions whose ClientHello has the format of SSL 3.0 and TLS, newest first.
    pub const NEWEST_FIRST: [Self; 5] =
        [Self::Tls13, Self::Tls12, Self::Tls11, Self::Tls10, Self::Ssl3];

    /// The number on the wire.
    pub fn number(self) -> u16 {
        match self {
            Self::Ssl2 => 0x0002,
            Self::Ssl3 => 0x0300,
            Self::Tls10 => 0x0301,
            Self::Tls11 => 0x0302,
            Self::Tls12 => 0x0303,
            Self::Tls13 => 0x0304,
        }
    }

    /// The version with this number, if its ClientHello has the format of SSL 3.0 and TLS.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::NEWEST_FIRST.into_iter().find(|version| version.number() == number)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ssl2 => "SSL 2.0",
            Self::Ssl3 => "SSL 3.0",
            Self::Tls10 => "TLS 1.0",
            Self::Tls11 => "TLS 1.1",
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        })
    }
}

/// A signalling value in the list of suites: the client supports secure renegotiation (RFC 5746,
/// section 3.3).
const RENEGOTIATION_SCSV: u16 = 0x00ff;
/// A signalling value in the list of suites: the client has fallen back to an older version (RFC
/// 7507).
pub const FALLBACK_SCSV: u16 = 0x5600;

/// The key length in bits below which encryption counts as weak (the strength of 3DES).
const WEAK_BITS: u16 = 112;

/// All registered suites, by number.
static SUITES: LazyLock<Vec<&'static TlsCipherSuite>> = LazyLock::new(|| {
    (1..=u16::MAX)
        .filter(|number| ![RENEGOTIATION_SCSV, FALLBACK_SCSV].contains(number))
        .filter_map(TlsCipherSuite::from_id)
        .collect()
});

/// The kind of certificate key that a suite requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// An RSA certificate.
    Rsa,
    /// An ECDSA (or EdDSA) certificate.
    Ecdsa,
    /// A DSA certificate.
    Dsa,
}

/// The numbers of all suites of a version: the suites of TLS 1.3, or all others for older versions.
/// Authenticated suites with ephemeral keys come first, those with no or weak encryption last, so
/// that a server that follows the client's order does not select a weak one.
pub fn suites_of(version: Protocol) -> Vec<u16> {
    let wanted =
        |suite: &&&TlsCipherSuite| (suite.kx == TlsCipherKx::Tls13) == (version == Protocol::Tls13);
    let mut suites: Vec<_> = SUITES.iter().filter(wanted).collect();
    suites.sort_by_key(|suite| {
        let ephemeral = matches!(suite.kx, TlsCipherKx::Ecdhe | TlsCipherKx::Dhe);
        let plain = !matches!(suite.au, TlsCipherAu::Rsa | TlsCipherAu::Ecdsa);
        let sealed = matches!(suite.enc_mode, TlsCipherEncMode::Gcm | TlsCipherEncMode::Ccm);
        (suite.enc_size < WEAK_BITS, plain, !ephemeral, !sealed, suite.id.0)
    });
    suites.into_iter().map(|suite| suite.id.0).collect()
}

/// The registry entry of a suite, if any.
pub fn suite(number: u16) -> Option<&'static TlsCipherSuite> {
    TlsCipherSuite::from_id(number)
}

/// The key size of a suite in bits. The registry's table has 128 for ChaCha20, whose keys have 256
/// bits (RFC 8439, section 2.3).
pub fn bits(number: u16) -> Option<u16> {
    let suite = suite(number)?;
    Some(if suite.enc == TlsCipherEnc::Chacha20_Poly1305 { 256 } else { suite.enc_size })
}

/// IANA's name of a suite; its number if there is none.
pub fn suite_name(number: u16) -> String {
    suite(number).map_or_else(|| hex(number), |suite| suite.name.to_owned())
}

/// The kind of certificate key that a suite up to TLS 1.2 requires, if any.
pub fn authentication(number: u16) -> Option<Authentication> {
    match suite(number)?.au {
        TlsCipherAu::Rsa => Some(Authentication::Rsa),
        TlsCipherAu::Ecdsa => Some(Authentication::Ecdsa),
        TlsCipherAu::Dss => Some(Authentication::Dsa),
        _ => None,
    }
}

/// The kind of suite that a scheme belongs to, up to TLS 1.2.
pub fn authentication_of_scheme(number: u16) -> Option<Authentication> {
    let name = scheme_name(number);
    match name.split('_').next() {
        Some("rsa") => Some(Authentication::Rsa),
        Some("ecdsa" | "ed25519" | "ed448") => Some(Authentication::Ecdsa),
        Some("dsa") => Some(Authentication::Dsa),
        _ => None,
    }
}

/// Groups without a name in the engine: number, IANA's name.
const OTHER_GROUPS: [(u16, &str); 44] = [
    (1, "sect163k1"),
    (2, "sect163r1"),
    (3, "sect163r2"),
    (4, "sect193r1"),
    (5, "sect193r2"),
    (6, "sect233k1"),
    (7, "sect233r1"),
    (8, "sect239k1"),
    (9, "sect283k1"),
    (10, "sect283r1"),
    (11, "sect409k1"),
    (12, "sect409r1"),
    (13, "sect571k1"),
    (14, "sect571r1"),
    (15, "secp160k1"),
    (16, "secp160r1"),
    (17, "secp160r2"),
    (18, "secp192k1"),
    (19, "secp192r1"),
    (20, "secp224k1"),
    (21, "secp224r1"),
    (22, "secp256k1"),
    (26, "brainpoolP256r1"),
    (27, "brainpoolP384r1"),
    (28, "brainpoolP512r1"),
    (31, "brainpoolP256r1tls13"),
    (32, "brainpoolP384r1tls13"),
    (33, "brainpoolP512r1tls13"),
    (34, "GC256A"),
    (35, "GC256B"),
    (36, "GC256C"),
    (37, "GC256D"),
    (38, "GC512A"),
    (39, "GC512B"),
    (40, "GC512C"),
    (41, "curveSM2"),
    (259, "ffdhe6144"),
    (260, "ffdhe8192"),
    (512, "MLKEM512"),
    (514, "MLKEM1024"),
    (4590, "curveSM2MLKEM768"),
    (0x6399, "X25519Kyber768Draft00"),
    (0x639a, "SecP256r1Kyber768Draft00"),
    (0xfe32, "SecP384r1Kyber768"),
];

/// The numbers of all groups, first those that the engine can measure.
pub fn groups() -> Vec<u16> {
    let known = Group::all().map(Group::code_point);
    known.chain(OTHER_GROUPS.iter().map(|group| group.0)).collect()
}

/// The name of a group in records; its number if there is none.
pub fn group_name(number: u16) -> String {
    let known = Group::from_code_point(number).map(Group::name);
    let other = || OTHER_GROUPS.iter().find(|group| group.0 == number).map(|group| group.1);
    known.or_else(other).map_or_else(|| hex(number), str::to_owned)
}

/// Signature schemes without a name in the engine: number, name.
const OTHER_SCHEMES: [(u16, &str); 13] = [
    (0x081a, "ecdsa_brainpoolP256r1tls13_sha256"),
    (0x081b, "ecdsa_brainpoolP384r1tls13_sha384"),
    (0x081c, "ecdsa_brainpoolP512r1tls13_sha512"),
    (0x0301, "rsa_pkcs1_sha224"),
    (0x0303, "ecdsa_sha224"),
    (0x0101, "rsa_pkcs1_md5"),
    (0x0202, "dsa_sha1"),
    (0x0302, "dsa_sha224"),
    (0x0402, "dsa_sha256"),
    (0x0502, "dsa_sha384"),
    (0x0602, "dsa_sha512"),
    (0x0708, "sm2sig_sm3"),
    (0x0709, "gostr34102012_256a"),
];

/// The numbers of all signature schemes, first those that the engine can measure.
pub fn schemes() -> Vec<u16> {
    let known = SignatureScheme::all().map(SignatureScheme::code_point);
    known.chain(OTHER_SCHEMES.iter().map(|scheme| scheme.0)).collect()
}

/// RSASSA-PSS with keys that allow nothing else (RFC 8446, section 4.2.3).
pub const PSS_ONLY: [u16; 3] = [0x0809, 0x080a, 0x080b];

/// All signature schemes by kind of key. A server with several kinds of key may choose its
/// certificate by the suite, and then find no scheme for it. So each kind is offered separately.
pub fn scheme_families() -> Vec<Vec<u16>> {
    let kind = |number: &u16| match SignatureScheme::from_code_point(*number).key() {
        Some(SignatureKey::Ecdsa) => 0,
        Some(SignatureKey::Rsa) => 1,
        Some(SignatureKey::EdDsa) => 2,
        Some(SignatureKey::MlDsa) => 3,
        Some(SignatureKey::RsaPss) => 4,
        None if scheme_name(*number).starts_with("rsa_") => 1,
        None if scheme_name(*number).starts_with("ecdsa_") => 0,
        None => 5,
    };
    let of_kind = |wanted| schemes().into_iter().filter(|number| kind(number) == wanted).collect();
    (0..=5).map(of_kind).collect()
}

/// The name of a scheme; its number if there is none.
pub fn scheme_name(number: u16) -> String {
    let other = OTHER_SCHEMES.iter().find(|scheme| scheme.0 == number);
    other.map_or_else(
        || SignatureScheme::from_code_point(number).to_string(),
        |scheme| scheme.1.to_owned(),
    )
}

/// The number of the scheme with this name.
pub fn scheme_number(name: &str) -> Option<u16> {
    schemes().into_iter().find(|number| scheme_name(*number) == name)
}

fn hex(number: u16) -> String {
    format!("0x{number:04x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::CipherSuite;

    #[test]
    fn every_suite_that_can_be_measured_is_asked_for_under_its_name() {
        for known in CipherSuite::all() {
            let number = known.code_point();
            assert_eq!(suite_name(number), known.to_string());
            let tls13 = suites_of(Protocol::Tls13).contains(&number);
            let older = suites_of(Protocol::Ssl3).contains(&number);
            assert!(tls13 != older, "{known}");
        }
    }

    #[test]
    fn weak_suites_come_last() {
        let suites = suites_of(Protocol::Tls12);
        assert!(suites.len() > 300, "{}", suites.len());
        assert_eq!(suite_name(suites[0]), "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256");
        assert!(suite_name(*suites.last().unwrap()).contains("NULL"));
        let signals = [RENEGOTIATION_SCSV, FALLBACK_SCSV, 0];
        assert!(!suites.iter().any(|number| signals.contains(number)));
    }

    #[test]
    fn no_number_stands_twice() {
        for mut numbers in [groups(), schemes(), suites_of(Protocol::Tls12)] {
            let length = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), length);
        }
    }

    #[test]
    fn every_scheme_belongs_to_one_family() {
        let mut all = scheme_families().concat();
        let mut listed = schemes();
        all.sort_unstable();
        listed.sort_unstable();
        assert_eq!(all, listed);
        assert!(scheme_families().contains(&PSS_ONLY.to_vec()));
        assert_eq!(bits(0x1303), Some(256));
    }

    #[test]
    fn what_has_no_name_shows_as_a_number() {
        assert_eq!((suite_name(0x0a0a), group_name(0x0a0a)), ("0x0a0a".into(), "0x0a0a".into()));
        assert_eq!(group_name(29), "X25519");
        assert_eq!(scheme_number("ed25519"), Some(0x0807));
    }
}

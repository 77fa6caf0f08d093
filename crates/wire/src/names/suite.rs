//! Cipher suites (IANA "TLS Cipher Suites").

use std::fmt;
use std::str::FromStr;

use super::{TlsVersion, UnknownName, string_form};

/// A cipher suite, by its IANA code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CipherSuite(u16);

/// The key exchange of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExchange {
    /// TLS 1.3: the suite does not determine the key exchange.
    Any,
    /// Ephemeral elliptic-curve Diffie-Hellman.
    Ecdhe,
    /// Ephemeral finite-field Diffie-Hellman.
    Dhe,
    /// RSA key transport, without a group.
    Rsa,
}

/// The kind of certificate key with which a suite authenticates the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAuthentication {
    /// TLS 1.3: the suite does not determine the kind of key.
    Any,
    /// An ECDSA (or EdDSA) certificate.
    Ecdsa,
    /// An RSA certificate.
    Rsa,
}

/// One row of the registry: code point, IANA name, OpenSSL name.
struct Row(u16, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: [Row; 37] = [
    Row(0x1301, "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
    Row(0x1302, "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
    Row(0x1303, "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
    Row(0x1304, "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_SHA256"),
    Row(0xc009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"),
    Row(0xc00a, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"),
    Row(0xc023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
    Row(0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
    Row(0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    Row(0xc02c, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
    Row(0xc0ac, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM", "ECDHE-ECDSA-AES128-CCM"),
    Row(0xc0ad, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM", "ECDHE-ECDSA-AES256-CCM"),
    Row(0xcca9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    Row(0xc013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"),
    Row(0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"),
    Row(0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
    Row(0xc028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
    Row(0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    Row(0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
    Row(0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
    Row(0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "DHE-RSA-AES128-SHA"),
    Row(0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA", "DHE-RSA-AES256-SHA"),
    Row(0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", "DHE-RSA-AES128-SHA256"),
    Row(0x006b, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
    Row(0x009e, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
    Row(0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384"),
    Row(0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM", "DHE-RSA-AES128-CCM"),
    Row(0xc09f, "TLS_DHE_RSA_WITH_AES_256_CCM", "DHE-RSA-AES256-CCM"),
    Row(0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "DHE-RSA-CHACHA20-POLY1305"),
    Row(0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
    Row(0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
    Row(0x003c, "TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"),
    Row(0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256"),
    Row(0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
    Row(0x009d, "TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
    Row(0xc09c, "TLS_RSA_WITH_AES_128_CCM", "AES128-CCM"),
    Row(0xc09d, "TLS_RSA_WITH_AES_256_CCM", "AES256-CCM"),
];

/// Obsolete suites: RC4 is prohibited by RFC 7465, 3DES is deprecated because of its short blocks.
#[rustfmt::skip]
const OBSOLETE: [Row; 8] = [
    Row(0x0004, "TLS_RSA_WITH_RC4_128_MD5", "RC4-MD5"),
    Row(0x0005, "TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA"),
    Row(0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA"),
    Row(0x0016, "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA", "DHE-RSA-DES-CBC3-SHA"),
    Row(0xc007, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA-RC4-SHA"),
    Row(0xc008, "TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-ECDSA-DES-CBC3-SHA"),
    Row(0xc011, "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-RC4-SHA"),
    Row(0xc012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA"),
];

impl CipherSuite {
    /// The suites that are not obsolete: TLS 1.3, then TLS 1.2 with ECDHE, DHE and static RSA.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| Self(row.0))
    }

    /// The suites that require `--allow-obsolete`.
    pub fn obsolete() -> impl Iterator<Item = Self> {
        OBSOLETE.iter().map(|row| Self(row.0))
    }

    /// True for a suite of [`CipherSuite::obsolete`].
    pub fn is_obsolete(self) -> bool {
        OBSOLETE.iter().any(|row| row.0 == self.0)
    }

    /// The suite with this IANA code point, known or not.
    pub const fn from_code_point(code_point: u16) -> Self {
        Self(code_point)
    }

    fn row(self) -> Option<&'static Row> {
        known().find(|row| row.0 == self.0)
    }

    fn iana_name(self) -> &'static str {
        self.row().map_or("", |row| row.1)
    }

    /// IANA's code point.
    pub const fn code_point(self) -> u16 {
        self.0
    }

    /// OpenSSL's name; empty for an unknown suite.
    pub fn openssl_name(self) -> &'static str {
        self.row().map_or("", |row| row.2)
    }

    /// The version of the suite; the newest one for suites of several versions. TLS 1.3 suites name
    /// no key exchange.
    pub fn version(self) -> TlsVersion {
        if self.iana_name().contains("_WITH_") { TlsVersion::Tls12 } else { TlsVersion::Tls13 }
    }

    /// True if the suite can be negotiated in a version. AEAD and SHA-2 require TLS 1.2, elliptic
    /// curves require the extensions of TLS 1.0.
    pub fn fits(self, version: TlsVersion) -> bool {
        let name = self.iana_name();
        match version {
            TlsVersion::Tls13 | TlsVersion::Tls12 => self.version() == version,
            TlsVersion::Tls11 | TlsVersion::Tls10 => {
                name.ends_with("_SHA") || name.ends_with("_MD5")
            }
            TlsVersion::Ssl3 => {
                self.fits(TlsVersion::Tls10) && self.key_exchange() != KeyExchange::Ecdhe
            }
        }
    }

    /// The key exchange of the suite.
    pub fn key_exchange(self) -> KeyExchange {
        match self.iana_name() {
            name if !name.contains("_WITH_") => KeyExchange::Any,
            name if name.starts_with("TLS_ECDHE_") => KeyExchange::Ecdhe,
            name if name.starts_with("TLS_DHE_") => KeyExchange::Dhe,
            _ => KeyExchange::Rsa,
        }
    }

    /// True if HTTP/2 prohibits the suite: RFC 9113, appendix A, lists every TLS 1.2 suite without
    /// an ephemeral key exchange or without AEAD.
    pub fn is_barred_from_http2(self) -> bool {
        let name = self.iana_name();
        let aead = ["_GCM_", "_CCM", "_CHACHA20_"].iter().any(|mode| name.contains(mode));
        let ephemeral = name.starts_with("TLS_ECDHE_") || name.starts_with("TLS_DHE_");
        name.contains("_WITH_") && !(aead && ephemeral)
    }

    /// The required kind of certificate key.
    pub fn authentication(self) -> ServerAuthentication {
        match self.iana_name() {
            name if !name.contains("_WITH_") => ServerAuthentication::Any,
            name if name.contains("_ECDSA_") => ServerAuthentication::Ecdsa,
            _ => ServerAuthentication::Rsa,
        }
    }
}

/// All known suites, including the obsolete ones.
fn known() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(&OBSOLETE)
}

impl fmt::Display for CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.1),
            None => write!(f, "0x{:04x}", self.0),
        }
    }
}

impl FromStr for CipherSuite {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        known().find(|row| is(row.1) || is(row.2)).map(|row| Self(row.0)).ok_or_else(|| {
            UnknownName {
                kind: "cipher suite",
                name: name.to_owned(),
                known: known().map(|row| row.1).collect::<Vec<_>>().join(", "),
            }
        })
    }
}

string_form!(CipherSuite, "CipherSuite", known().map(|row| row.1.to_owned()).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_is_found_by_both_of_its_names() {
        for suite in CipherSuite::all().chain(CipherSuite::obsolete()) {
            assert_eq!(suite.to_string().parse(), Ok(suite));
            assert_eq!(suite.openssl_name().parse(), Ok(suite));
        }
    }

    #[test]
    fn http2_bars_what_its_appendix_lists() {
        let barred = |name: &str| name.parse::<CipherSuite>().unwrap().is_barred_from_http2();
        for name in
            ["AES128-GCM-SHA256", "AES256-CCM", "ECDHE-RSA-AES128-SHA256", "DHE-RSA-AES128-SHA"]
        {
            assert!(barred(name), "{name}");
        }
        for name in ["DHE-RSA-AES256-CCM", "ECDHE-RSA-CHACHA20-POLY1305", "TLS_AES_128_CCM_SHA256"]
        {
            assert!(!barred(name), "{name}");
        }
        assert_eq!(CipherSuite::all().filter(|suite| suite.is_barred_from_http2()).count(), 20);
    }

    #[test]
    fn a_name_gives_version_key_exchange_and_authentication() {
        let suite: CipherSuite = "DHE-RSA-AES256-GCM-SHA384".parse().unwrap();
        assert_eq!(suite.version(), TlsVersion::Tls12);
        assert_eq!(suite.key_exchange(), KeyExchange::Dhe);
        assert_eq!(suite.authentication(), ServerAuthentication::Rsa);
        let suite: CipherSuite = "TLS_AES_128_GCM_SHA256".parse().unwrap();
        assert_eq!((suite.version(), suite.key_exchange()), (TlsVersion::Tls13, KeyExchange::Any));
        let suite: CipherSuite = "AES128-SHA".parse().unwrap();
        assert_eq!(suite.key_exchange(), KeyExchange::Rsa);
    }

    #[test]
    fn old_versions_have_no_aead_no_sha2_and_ssl3_no_curves() {
        let fits = |name: &str| {
            let suite: CipherSuite = name.parse().unwrap();
            TlsVersion::ALL.map(|version| suite.fits(version))
        };
        assert_eq!(fits("RC4-MD5"), [true, true, true, true, false]);
        assert_eq!(fits("AES128-SHA"), [true, true, true, true, false]);
        assert_eq!(fits("ECDHE-RSA-DES-CBC3-SHA"), [false, true, true, true, false]);
        assert_eq!(fits("AES128-SHA256"), [false, false, false, true, false]);
        assert_eq!(fits("AES128-GCM-SHA256"), [false, false, false, true, false]);
        assert_eq!(fits("AES128-CCM"), [false, false, false, true, false]);
        assert_eq!(fits("TLS_AES_128_GCM_SHA256"), [false, false, false, false, true]);
    }
}

//! TLS protocol versions.

use std::fmt;
use std::str::FromStr;

use super::{UnknownName, string_form};

/// A protocol version that the engine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// SSL 3.0, RFC 6101; prohibited by RFC 7568.
    Ssl3,
    /// TLS 1.0, RFC 2246; deprecated by RFC 8996.
    Tls10,
    /// TLS 1.1, RFC 4346; deprecated by RFC 8996.
    Tls11,
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [Self::Ssl3, Self::Tls10, Self::Tls11, Self::Tls12, Self::Tls13];

    /// The versions offered by default, oldest first.
    pub const CURRENT: [Self; 2] = [Self::Tls12, Self::Tls13];

    /// The oldest missing version between two given ones. Such a list cannot be offered: before TLS
    /// 1.3 a ClientHello names only the newest version.
    pub fn gap(versions: &[Self]) -> Option<Self> {
        let between = *versions.iter().min()?..=*versions.iter().max()?;
        let is_left_out = |version: &Self| between.contains(version) && !versions.contains(version);
        Self::ALL.into_iter().find(is_left_out)
    }

    /// True if the version requires `--allow-obsolete`.
    pub fn is_obsolete(self) -> bool {
        self < Self::Tls12
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ssl3 => "ssl3",
            Self::Tls10 => "1.0",
            Self::Tls11 => "1.1",
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

impl FromStr for TlsVersion {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let bare = match name {
            "SSLv3" | "SSL3" => "ssl3",
            // OpenSSL omits the zero.
            "TLSv1" => "1.0",
            name => name.trim_start_matches("TLSv").trim_start_matches("TLS"),
        };
        Self::ALL.into_iter().find(|v| v.to_string() == bare).ok_or_else(|| UnknownName {
            kind: "TLS version",
            name: name.to_owned(),
            known: Self::ALL.map(|version| version.to_string()).join(", "),
        })
    }
}

string_form!(TlsVersion, "TlsVersion", Self::ALL.iter().map(Self::to_string).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_with_and_without_its_prefix() {
        assert_eq!("1.3".parse(), Ok(TlsVersion::Tls13));
        assert_eq!("TLSv1.2".parse(), Ok(TlsVersion::Tls12));
        assert_eq!("TLSv1".parse(), Ok(TlsVersion::Tls10));
        assert_eq!("SSLv3".parse(), Ok(TlsVersion::Ssl3));
    }

    #[test]
    fn an_unknown_version_names_the_known_ones() {
        let error = "1.4".parse::<TlsVersion>().unwrap_err().to_string();
        assert_eq!(error, "unknown TLS version '1.4'; known: ssl3, 1.0, 1.1, 1.2, 1.3");
    }

    #[test]
    fn what_is_not_current_is_obsolete() {
        let obsolete = TlsVersion::ALL.into_iter().filter(|version| version.is_obsolete());
        assert!(obsolete.chain(TlsVersion::CURRENT).eq(TlsVersion::ALL));
    }

    #[test]
    fn what_is_left_out_between_versions_is_found() {
        use TlsVersion::{Ssl3, Tls10, Tls11, Tls12, Tls13};
        assert_eq!(TlsVersion::gap(&[]), None);
        assert_eq!(TlsVersion::gap(&[Tls13, Tls12, Tls11]), None);
        assert_eq!(TlsVersion::gap(&[Tls12, Ssl3]), Some(Tls10));
    }
}

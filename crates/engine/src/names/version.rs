//! TLS protocol versions.

use std::fmt;
use std::str::FromStr;

use super::{UnknownName, string_form};

/// A protocol version that the engine offers (RFC 5246, RFC 8446).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

impl FromStr for TlsVersion {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let bare = name.trim_start_matches("TLSv").trim_start_matches("TLS");
        Self::ALL.into_iter().find(|v| v.to_string() == bare).ok_or_else(|| UnknownName {
            kind: "TLS version",
            name: name.to_owned(),
            known: "1.2, 1.3".to_owned(),
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
    }

    #[test]
    fn an_unknown_version_names_the_known_ones() {
        let error = "1.4".parse::<TlsVersion>().unwrap_err().to_string();
        assert_eq!(error, "unknown TLS version '1.4'; known: 1.2, 1.3");
    }
}

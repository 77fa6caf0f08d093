//! The kinds of certificate key.

use std::fmt;
use std::str::FromStr;

use super::{UnknownName, string_form};

/// The kinds of certificate key that tlslab can generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum KeyKind {
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    Rsa1024,
    Rsa2048,
    Rsa3072,
    Rsa4096,
    Ed25519,
}

impl KeyKind {
    /// All kinds except the obsolete RSA-1024.
    pub const ALL: [Self; 7] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
        Self::Ed25519,
    ];

    /// True if keys of this kind require `--allow-obsolete`.
    pub fn is_obsolete(self) -> bool {
        self == Self::Rsa1024
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::EcdsaP521 => "ecdsa-p521",
            Self::Rsa1024 => "rsa-1024",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
            Self::Ed25519 => "ed25519",
        })
    }
}

impl FromStr for KeyKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut known = Self::ALL.into_iter().chain([Self::Rsa1024]);
        known.find(|kind| kind.to_string() == name).ok_or_else(|| UnknownName {
            kind: "certificate key",
            name: name.to_owned(),
            known: Self::ALL.map(|kind| kind.to_string()).join(", "),
        })
    }
}

string_form!(KeyKind, "KeyKind", Self::ALL.map(|kind| kind.to_string()).into());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_names_the_known_ones() {
        let error = "dsa-1024".parse::<KeyKind>().unwrap_err().to_string();
        assert!(error.starts_with("unknown certificate key 'dsa-1024'; known: ecdsa-p256"));
    }
}

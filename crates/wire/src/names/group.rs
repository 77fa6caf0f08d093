//! Key-exchange groups (IANA "TLS Supported Groups").

use std::fmt;
use std::str::FromStr;

use super::{UnknownName, string_form};

/// A key-exchange group: an elliptic curve, a finite field, a KEM or a hybrid of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the variants are the registry's own names")]
pub enum Group {
    X25519,
    P256,
    P384,
    P521,
    X448,
    X25519MlKem768,
    SecP256r1MlKem768,
    SecP384r1MlKem1024,
    MlKem768,
    Ffdhe2048,
    Ffdhe3072,
    Ffdhe4096,
}

/// One row of the registry: our name, IANA code point, OpenSSL's name, further accepted names.
struct Row(Group, &'static str, u16, &'static str, &'static [&'static str]);

const ROWS: [Row; 12] = [
    Row(Group::X25519, "X25519", 29, "X25519", &[]),
    Row(Group::P256, "P-256", 23, "P-256", &["secp256r1", "prime256v1", "P256"]),
    Row(Group::P384, "P-384", 24, "P-384", &["secp384r1", "P384"]),
    Row(Group::P521, "P-521", 25, "P-521", &["secp521r1", "P521"]),
    Row(Group::X448, "X448", 30, "X448", &[]),
    Row(Group::X25519MlKem768, "X25519MLKEM768", 4588, "X25519MLKEM768", &[]),
    Row(Group::SecP256r1MlKem768, "SecP256r1MLKEM768", 4587, "SecP256r1MLKEM768", &[]),
    Row(Group::SecP384r1MlKem1024, "SecP384r1MLKEM1024", 4589, "SecP384r1MLKEM1024", &[]),
    Row(Group::MlKem768, "MLKEM768", 513, "MLKEM768", &[]),
    Row(Group::Ffdhe2048, "ffdhe2048", 256, "ffdhe2048", &[]),
    Row(Group::Ffdhe3072, "ffdhe3072", 257, "ffdhe3072", &[]),
    Row(Group::Ffdhe4096, "ffdhe4096", 258, "ffdhe4096", &[]),
];

impl Group {
    /// All groups, in the order of the table of the Domino study, then the rest.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.0 == self).expect("every group has a row")
    }

    /// The name as records and tables show it.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// IANA's code point.
    pub fn code_point(self) -> u16 {
        self.row().2
    }

    /// The name that OpenSSL's group list takes.
    pub fn openssl_name(self) -> &'static str {
        self.row().3
    }

    /// The known group with this code point, if any.
    pub fn from_code_point(code_point: u16) -> Option<Self> {
        ROWS.iter().find(|row| row.2 == code_point).map(|row| row.0)
    }

    /// True if the group exists only in TLS 1.3. KEMs and hybrids have no TLS 1.2 form. The groups
    /// of RFC 7919 count as TLS 1.3 groups here, because TLS 1.2 servers choose their own DH
    /// parameters.
    pub fn needs_tls13(self) -> bool {
        self >= Self::X25519MlKem768
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Group {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        ROWS.iter()
            .find(|row| is(row.1) || is(row.3) || row.4.iter().any(|alias| is(alias)))
            .map(|row| row.0)
            .ok_or_else(|| UnknownName {
                kind: "group",
                name: name.to_owned(),
                known: ROWS.each_ref().map(|row| row.1).join(", "),
            })
    }
}

string_form!(Group, "Group", Self::all().map(|g| g.to_string()).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_by_its_name_and_its_code_point() {
        for group in Group::all() {
            assert_eq!(group.name().parse(), Ok(group));
            assert_eq!(Group::from_code_point(group.code_point()), Some(group));
        }
    }

    #[test]
    fn names_of_other_registries_are_accepted() {
        assert_eq!("secp384r1".parse(), Ok(Group::P384));
        assert_eq!("prime256v1".parse(), Ok(Group::P256));
        assert_eq!("x25519".parse(), Ok(Group::X25519));
    }

    #[test]
    fn an_unknown_group_names_the_known_ones() {
        let error = "P-257".parse::<Group>().unwrap_err().to_string();
        assert!(
            error
                .starts_with("unknown group 'P-257' (did you mean 'P-256'?); known: X25519, P-256"),
            "{error}"
        );
    }

    #[test]
    fn hybrids_and_finite_fields_need_tls13_and_curves_do_not() {
        assert!(Group::X25519MlKem768.needs_tls13());
        assert!(Group::Ffdhe2048.needs_tls13());
        assert!(!Group::X448.needs_tls13());
    }
}

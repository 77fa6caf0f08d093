//! The names that TLS gives to things: versions, cipher suites, groups, signature schemes.
//!
//! Every name is parsed once, at the edge, into a value that a back end can look up; the engine never
//! compares strings. The names are IANA's (TLS parameters registry), except for the NIST groups, which
//! go by `P-256` as in SP 800-186; OpenSSL's names and the RFC's are accepted on input.

mod group;
mod signature;
mod suite;
mod version;

pub use group::Group;
pub use signature::{SignatureKey, SignatureScheme};
pub use suite::{CipherSuite, KeyExchange, ServerAuthentication};
pub use version::TlsVersion;

/// A name that is in no registry known here; says what would have been accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} '{name}'; known: {known}")]
pub struct UnknownName {
    /// What was being named: `group`, `cipher suite`, ...
    pub kind: &'static str,
    /// The name as it was given.
    pub name: String,
    /// The accepted names, separated by commas.
    pub known: String,
}

/// Gives a name type its string form in JSON, on the command line and in the JSON Schema.
macro_rules! string_form {
    ($type:ty, $title:literal, $names:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names: Vec<String> = $names;
                schemars::json_schema!({ "type": "string", "enum": names })
            }
        }
    };
}
pub(crate) use string_form;

//! TLS names: versions, cipher suites, groups, signature schemes.
//!
//! Every name is parsed once, on input, into a value that a back end can look up; the engine never
//! compares strings. The names are IANA's (TLS parameters registry), except for the NIST groups,
//! which are named `P-256` as in SP 800-186. Input also accepts the names of OpenSSL and of the
//! RFCs.

mod group;
mod key_kind;
mod signature;
mod suite;
mod version;

pub use group::Group;
pub use key_kind::KeyKind;
pub use signature::{SignatureKey, SignatureScheme};
pub use suite::{CipherSuite, KeyExchange, ServerAuthentication};
pub use version::TlsVersion;

/// An unknown name, with the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} '{name}'{}", self.instead())]
pub struct UnknownName {
    /// The kind of name: `group`, `cipher suite`, ...
    pub kind: &'static str,
    /// The name as given.
    pub name: String,
    /// The accepted names, separated by commas.
    pub known: String,
}

impl UnknownName {
    /// The most similar known name, and all known names unless that list is too long.
    fn instead(&self) -> String {
        const ALIKE: f64 = 0.75;
        const LIST_LIMIT: usize = 300;
        let given = self.name.to_lowercase();
        let likeness =
            |known: &str| strsim::normalized_damerau_levenshtein(&given, &known.to_lowercase());
        let nearest = (self.known.split(", ").map(|known| (likeness(known), known)))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(alike, _)| *alike >= ALIKE);
        match nearest {
            None => format!("; known: {}", self.known),
            Some((_, meant)) if self.known.len() > LIST_LIMIT => {
                format!("; did you mean '{meant}'?")
            }
            Some((_, meant)) => format!(" (did you mean '{meant}'?); known: {}", self.known),
        }
    }
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

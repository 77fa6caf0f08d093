//! The client's own certificate and key. The key is read and never written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A client's certificate and key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientIdentity {
    /// The certificate, followed by the intermediate certificates.
    pub certificate: String,
    /// The private key: RSA, ECDSA or Ed25519, without a password. Records contain `withheld` in
    /// its place.
    pub key: Secret,
}

/// A secret text: it can be deserialized, but serializes and prints as [`Secret::WITHHELD`].
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text that is written in place of a secret.
    pub const WITHHELD: &'static str = "withheld";

    /// Wraps a secret text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::WITHHELD)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Self::WITHHELD)
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::TlsSpec;

    #[test]
    fn a_secret_never_goes_out() {
        let json = r#"{"client_identity":{"certificate":"C","key":"hunter2"}}"#;
        let spec: TlsSpec = serde_json::from_str(json).unwrap();
        assert_eq!(spec.client_identity.as_ref().unwrap().key.reveal(), "hunter2");
        let shown = format!("{spec:?}{}", serde_json::to_string(&spec).unwrap());
        assert!(!shown.contains("hunter2") && shown.contains(r#""key":"withheld""#), "{shown}");
    }
}

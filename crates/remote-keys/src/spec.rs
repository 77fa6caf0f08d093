//! The location of a private key outside this process.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key outside the process, and the side that uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyAway {
    /// The side that uses the key.
    pub side: KeySide,
    /// The location of the key.
    pub place: KeyPlace,
}

/// A side of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum KeySide {
    Client,
    Server,
}

/// The location of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In a token behind a PKCS #11 module. Each thread has a session with the token.
    Pkcs11(Pkcs11Key),
    /// On signing nodes. Each thread has a connection to each node.
    Cluster(ClusterKey),
}

/// A key in a token behind a PKCS #11 module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pkcs11Key {
    /// The path of the module, a shared library.
    pub module: String,
    /// The token's label.
    pub token: String,
    /// The private key's label.
    pub key: String,
    /// The user's PIN. Records never contain it.
    #[serde(skip)]
    pub pin: Secret,
}

/// A key that several nodes hold, each of which signs (the transit engine of OpenBao or Vault).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterKey {
    /// The nodes.
    pub nodes: Vec<SigningNode>,
    /// The key's name on the nodes.
    pub key: String,
    /// The public key, PEM.
    pub public_key: String,
    /// The trust anchors for the nodes' certificates, PEM.
    pub authority: String,
    /// The longest time of a signature in milliseconds, including the connection.
    pub timeout_ms: u32,
    /// Allowed addresses other than loopback.
    pub allow: Vec<String>,
    /// The token that permits signing. Records never contain it.
    #[serde(skip)]
    pub token: Secret,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SigningNode {
    /// The node's name in records.
    pub name: String,
    /// `https://ADDRESS:PORT`.
    pub url: String,
    /// The node's share of the signatures, relative to the other nodes' weights.
    pub weight: u32,
}

/// A secret that is neither printed nor written.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text, without a trailing line break.
    pub fn new(text: &str) -> Self {
        Self(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let pin = Secret::new("1234\n");
        assert_eq!((pin.reveal(), format!("{pin:?}").as_str()), ("1234", "Secret"));
        let (module, token, key) = ("m".to_owned(), "t".to_owned(), "k".to_owned());
        let reported = serde_json::to_string(&Pkcs11Key { module, token, key, pin }).unwrap();
        assert_eq!(reported, r#"{"module":"m","token":"t","key":"k"}"#);
    }
}

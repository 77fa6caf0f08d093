//! Where a private key is that is not in this process's memory.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key away from the process, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyAway {
    /// Whose key it is.
    pub side: KeySide,
    /// Where it is.
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

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In a token behind a PKCS #11 module, which each thread has a session with.
    Pkcs11(Pkcs11Key),
    /// On signing nodes, which each thread has a connection to.
    Cluster(ClusterKey),
}

/// A key in a token behind a PKCS #11 module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pkcs11Key {
    /// The module, a shared library.
    pub module: String,
    /// The token's label.
    pub token: String,
    /// The private key's label.
    pub key: String,
    /// The user's PIN; never in a record.
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
    /// Whom to trust for the nodes' certificates, PEM.
    pub authority: String,
    /// How long a signature may take, in milliseconds, the connection included.
    pub timeout_ms: u32,
    /// Addresses beside loopback that may be asked.
    pub allow: Vec<String>,
    /// What lets one sign; never in a record.
    #[serde(skip)]
    pub token: Secret,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SigningNode {
    /// Its name in records.
    pub name: String,
    /// `https://ADDRESS:PORT`.
    pub url: String,
    /// Its share of the signatures, in relation to the other nodes' weights.
    pub weight: u32,
}

/// Something that is neither printed nor written down.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text, without the line's end that a file has.
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

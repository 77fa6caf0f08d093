//! Private keys that are not in this process: behind PKCS #11, or on a cluster of signing nodes.
//!
//! A [`KeySource`] identifies the key. Each thread opens a [`SignerSession`] with it, which signs
//! and keeps the accounting. Keys are RSA.

mod cluster;
mod node_connection;
mod pkcs11;
mod rustls;
mod session;
mod spec;
mod weighted_round_robin;

use std::sync::Arc;

use openssl::rsa::Rsa;

pub use self::rustls::{SharedSession, certified};
pub use self::session::{SignatureAccounting, is_away, take_class};
use self::session::{Signed, SignerSession};
pub use self::spec::{ClusterKey, KeyAway, KeyPlace, KeySide, Pkcs11Key, Secret, SigningNode};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::SignatureScheme;

/// Errors that make a key unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The specification is at fault.
    #[error("{0}")]
    Usage(String),
    /// The key cannot sign at present.
    #[error("{0}")]
    Unusable(String),
}

/// The location of a key.
pub trait KeySource: std::fmt::Debug + Send + Sync {
    /// The public key, PKCS #1 in DER.
    fn public_key(&self) -> &[u8];

    /// The names of the signers.
    fn nodes(&self) -> Vec<String>;

    /// A connection to the key for one thread.
    fn open(&self) -> Result<Box<dyn Signs>, KeyError>;
}

/// Signs for one thread.
pub trait Signs: std::fmt::Debug + Send {
    /// Hashes and signs a message with this scheme.
    fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Signed;
}

/// An RSA signature scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RsaScheme {
    /// PSS if true, otherwise PKCS #1 v1.5.
    pub pss: bool,
    /// The hash.
    pub hash: Hash,
}

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl RsaScheme {
    /// The scheme with this code point, if RSA keys support it (RFC 8446, section 4.2.3).
    pub fn of(scheme: SignatureScheme) -> Option<Self> {
        let (pss, hash) = match scheme.code_point() {
            0x0401 => (false, Hash::Sha256),
            0x0501 => (false, Hash::Sha384),
            0x0601 => (false, Hash::Sha512),
            0x0804 => (true, Hash::Sha256),
            0x0805 => (true, Hash::Sha384),
            0x0806 => (true, Hash::Sha512),
            _ => return None,
        };
        Some(Self { pss, hash })
    }
}

/// Opens the key's source and checks that the key is of the kind in the specification.
pub fn key_source(place: &KeyPlace, kind: KeyKind) -> Result<Arc<dyn KeySource>, KeyError> {
    let source: Arc<dyn KeySource> = match place {
        KeyPlace::Pkcs11(key) => Arc::new(pkcs11::Token::open(key)?),
        KeyPlace::Cluster(key) => Arc::new(cluster::Cluster::new(key)?),
    };
    let public = Rsa::public_key_from_der_pkcs1(source.public_key())
        .map_err(|_| KeyError::Unusable("the public key is no RSA key".to_owned()))?;
    let found = format!("rsa-{}", public.size() * 8);
    if found != kind.to_string() {
        return Err(KeyError::Usage(format!(
            "the key away from the process is of kind {found}, and {kind} was asked for"
        )));
    }
    Ok(source)
}

/// A thread's session with the key.
pub fn open_session(source: &dyn KeySource) -> Result<SignerSession, KeyError> {
    Ok(SignerSession::new(source.open()?, source.nodes()))
}

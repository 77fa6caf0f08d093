//! Private keys that are not in this process: behind PKCS #11, or on a cluster of signing nodes.
//!
//! A [`Keeper`] is where the key is; each thread opens a [`Desk`] there, which signs for it and keeps
//! the books. Keys are RSA.

mod cluster;
mod desk;
mod pkcs11;
mod rustls;
mod spec;
mod wheel;
mod wire;

use std::sync::Arc;

use openssl::rsa::Rsa;

use self::desk::{Desk, Signed};
pub use self::desk::{Ledger, is_away, take_class};
pub use self::rustls::{SharedDesk, certified};
pub use self::spec::{ClusterKey, KeyAway, KeyPlace, KeySide, Pkcs11Key, Secret, SigningNode};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::SignatureScheme;

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    /// The key does not sign, here and now.
    #[error("{0}")]
    Unusable(String),
}

/// Where a key is.
pub trait Keeper: std::fmt::Debug + Send + Sync {
    /// The public key, PKCS #1 in DER.
    fn public_key(&self) -> &[u8];

    /// The names of those who sign.
    fn nodes(&self) -> Vec<String>;

    /// A way to the key for one thread.
    fn open(&self) -> Result<Box<dyn Signs>, KeyError>;
}

/// Signs for one thread.
pub trait Signs: std::fmt::Debug + Send {
    /// Signs a message, which is hashed first, as the scheme says.
    fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Signed;
}

/// An RSA signature scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RsaScheme {
    /// PSS, or else PKCS #1 v1.5.
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
    /// What an RSA key signs with, by its code point (RFC 8446, section 4.2.3).
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

/// Goes to where a key is and sees that it is of the kind that the specification has.
pub fn keeper(place: &KeyPlace, kind: KeyKind) -> Result<Arc<dyn Keeper>, KeyError> {
    let keeper: Arc<dyn Keeper> = match place {
        KeyPlace::Pkcs11(key) => Arc::new(pkcs11::Token::open(key)?),
        KeyPlace::Cluster(key) => Arc::new(cluster::Cluster::new(key)?),
    };
    let public = Rsa::public_key_from_der_pkcs1(keeper.public_key())
        .map_err(|_| KeyError::Unusable("the public key is no RSA key".to_owned()))?;
    let found = format!("rsa-{}", public.size() * 8);
    if found != kind.to_string() {
        return Err(KeyError::Usage(format!(
            "the key away from the process is of kind {found}, and {kind} was asked for"
        )));
    }
    Ok(keeper)
}

/// What a thread signs with.
pub fn desk(keeper: &dyn Keeper) -> Result<Desk, KeyError> {
    Ok(Desk::new(keeper.open()?, keeper.nodes()))
}

//! What only those get who say that they want obsolete things: old versions and suites, short keys.

use std::sync::OnceLock;

use openssl::error::ErrorStack;
use openssl::provider::Provider;

use crate::identity::Identity;

/// The shortest RSA modulus and Diffie-Hellman prime, in bits, that are not obsolete (NIST SP
/// 800-131A, revision 2: 112 bits of security).
pub const SHORTEST_PRIME: u32 = 2048;

/// All that exists: security level 0 of SSL_CTX_set_security_level(3).
pub const NO_SECURITY_LEVEL: u32 = 0;

/// Gives this process RC4, which OpenSSL keeps apart from the algorithms that it always has. Contexts
/// made before do not have it.
///
/// # Errors
/// The library was built without it.
pub fn load_rc4() -> Result<(), ErrorStack> {
    static LEGACY: OnceLock<Option<Provider>> = OnceLock::new();
    let loaded = LEGACY.get_or_init(|| Provider::try_load(None, "legacy", true).ok());
    if loaded.is_some() { Ok(()) } else { Err(ErrorStack::get()) }
}

/// The kind of an identity's key, if the key is obsolete.
pub fn short_key(identity: &Identity) -> Option<String> {
    identity.rsa_bits().filter(|bits| *bits < SHORTEST_PRIME).map(|_| identity.key_kind())
}

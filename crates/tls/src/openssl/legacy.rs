//! What OpenSSL gives only to those who say that they want obsolete things.

use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::provider::Provider;

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

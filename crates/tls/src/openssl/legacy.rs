//! Obsolete algorithms and key sizes of OpenSSL, which need `--allow-obsolete`.

use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::provider::Provider;

/// Everything is allowed: security level 0 of SSL_CTX_set_security_level(3).
pub const NO_SECURITY_LEVEL: u32 = 0;

/// Loads the provider with RC4 into this process, which OpenSSL does not load by default. Contexts
/// made before do not have RC4.
///
/// # Errors
/// The library was built without it.
pub fn load_rc4() -> Result<(), ErrorStack> {
    static LEGACY: OnceLock<Option<Provider>> = OnceLock::new();
    let loaded = LEGACY.get_or_init(|| Provider::try_load(None, "legacy", true).ok());
    if loaded.is_some() { Ok(()) } else { Err(ErrorStack::get()) }
}

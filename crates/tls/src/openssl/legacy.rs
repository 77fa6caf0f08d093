//! Obsolete algorithms and key sizes of OpenSSL, which need `--allow-obsolete`.

use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::provider::Provider;

/// Security level 0 of SSL_CTX_set_security_level(3): everything is allowed.
pub const NO_SECURITY_LEVEL: u32 = 0;

/// Loads the provider with RC4 into this process; OpenSSL does not load it by default. Contexts
/// created earlier do not have RC4.
///
/// # Errors
/// The library was built without that provider.
pub fn load_rc4() -> Result<(), ErrorStack> {
    static LEGACY: OnceLock<Option<Provider>> = OnceLock::new();
    let loaded = LEGACY.get_or_init(|| Provider::try_load(None, "legacy", true).ok());
    if loaded.is_some() { Ok(()) } else { Err(ErrorStack::get()) }
}

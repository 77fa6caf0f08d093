//! Sessions that a client offers to resume.

use std::ffi::c_int;
use std::ptr;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{SslContextRef, SslRef, SslSessionRef};
use foreign_types::ForeignTypeRef;
use openssl_sys as sys;

/// `SSL_CTRL_GET_SESS_CACHE_MODE` of openssl/ssl.h.
const GET_SESS_CACHE_MODE: c_int = 45;

/// Makes a client offer to resume this session, which may be of its own context or of another.
///
/// # Errors
/// OpenSSL is out of memory.
///
/// # Panics
/// The client's context keeps sessions in OpenSSL's own store.
pub fn resume(ssl: &mut SslRef, session: &SslSessionRef) -> Result<(), ErrorStack> {
    assert!(!stores_sessions(ssl.ssl_context()), "OpenSSL's store of client sessions is on");
    // SAFETY: OpenSSL counts a reference of its own. A session is bound to one context only by that
    // context's store, a list through the sessions themselves (SSL_SESSION_free(3)). The store of
    // this client's context is off: it neither adds the session nor finds it there.
    unsafe { ssl.set_session(session) }
}

/// True if a context keeps the sessions of clients in OpenSSL's own store, as
/// SSL_CTX_set_session_cache_mode(3) describes it.
fn stores_sessions(context: &SslContextRef) -> bool {
    // SAFETY: the context is valid, and the control only reads.
    let mode =
        unsafe { sys::SSL_CTX_ctrl(context.as_ptr(), GET_SESS_CACHE_MODE, 0, ptr::null_mut()) };
    mode & sys::SSL_SESS_CACHE_CLIENT != 0 && mode & sys::SSL_SESS_CACHE_NO_INTERNAL_STORE == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::openssl::ssl::{SslContext, SslMethod, SslSessionCacheMode};

    #[test]
    fn the_store_is_on_where_the_mode_has_it_for_clients() {
        let stored = |mode: SslSessionCacheMode| {
            let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
            context.set_session_cache_mode(mode);
            stores_sessions(&context.build())
        };
        let (client, none) = (SslSessionCacheMode::CLIENT, SslSessionCacheMode::NO_INTERNAL);
        for off in [SslSessionCacheMode::OFF, SslSessionCacheMode::SERVER, client | none] {
            assert!(!stored(off), "{off:?}");
        }
        assert!(stored(client) && stored(SslSessionCacheMode::BOTH));
    }
}

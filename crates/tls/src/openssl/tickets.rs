//! Moves the sessions to resume from OpenSSL to the pool.
//!
//! OpenSSL passes a new session to a callback of the context while it processes received bytes, on
//! the worker's own thread and for one connection at a time. The callback stores the session in a
//! thread-local, from which the caller takes it afterwards.

use std::cell::RefCell;
use std::fmt;

use ::openssl::ssl::{SslContextBuilder, SslOptions, SslSession, SslSessionCacheMode};

use tlslab_contract::spec::Resume;

use super::ffi;

thread_local! {
    /// The sessions that the server has issued to the current connection.
    static DELIVERED: RefCell<Vec<SslSession>> = const { RefCell::new(Vec::new()) };
}

/// A session that one later connection can resume.
#[derive(Clone)]
pub struct Ticket {
    /// The session.
    pub session: SslSession,
    /// Whether the server was authenticated in the session's full handshake.
    pub authenticated: bool,
}

impl fmt::Debug for Ticket {
    /// Omits the session, which holds a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("authenticated", &self.authenticated).finish_non_exhaustive()
    }
}

/// Makes the sessions of a context resume only by this method.
pub fn set_resumption(context: &mut SslContextBuilder, resume: Resume) {
    if resume == Resume::None {
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        context.set_options(SslOptions::NO_TICKET);
        return;
    }
    // Uses only the callback: OpenSSL's internal cache takes a lock.
    context.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
    context.set_new_session_callback(|_, session| {
        DELIVERED.with_borrow_mut(|delivered| delivered.push(session));
    });
    if resume == Resume::Id {
        context.set_options(SslOptions::NO_TICKET);
    }
    if resume == Resume::PskOnly {
        ffi::allow_psk_without_key_exchange(context);
    }
}

/// Takes the sessions delivered on this thread since the last call.
pub fn delivered(authenticated: bool, mut take: impl FnMut(Ticket)) {
    DELIVERED.with_borrow_mut(|delivered| {
        delivered.drain(..).for_each(|session| take(Ticket { session, authenticated }));
    });
}

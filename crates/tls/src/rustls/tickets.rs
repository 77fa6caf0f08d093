//! The adapter between rustls, which asks a store for sessions by server name, and the pool, which
//! holds single sessions.
//!
//! rustls calls the store without a connection: it asks for a session while it creates a
//! connection, and delivers sessions while it processes received bytes. Both happen on the worker's
//! own thread, for one connection at a time. So the session to resume is put into a thread-local
//! beforehand, and delivered sessions are taken from another one afterwards.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use super::minimal::MinimalTicket;

thread_local! {
    /// The session that the connection under creation may resume.
    static LAID_OUT: Cell<Option<Value>> = const { Cell::new(None) };
    /// The sessions that the server has issued to the current connection.
    static DELIVERED: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// A session in the types of rustls.
#[derive(Debug)]
enum Value {
    Tls12(Tls12ClientSessionValue),
    Tls13(Tls13ClientSessionValue),
}

/// A session that one later connection can resume: of the library, or of the minimal client. Each
/// client can resume its own sessions only.
#[derive(Debug)]
pub enum Ticket {
    Library(LibraryTicket),
    Minimal(MinimalTicket),
}

impl Ticket {
    /// True for a session of the minimal client.
    pub fn is_minimal(&self) -> bool {
        matches!(self, Self::Minimal(_))
    }

    /// True if the session's lifetime is over.
    pub fn has_expired(&self, now: Instant) -> bool {
        match self {
            Self::Library(ticket) => ticket.expires.is_some_and(|end| end <= now),
            Self::Minimal(ticket) => ticket.expires() <= now,
        }
    }
}

/// A session of the library.
#[derive(Debug)]
pub struct LibraryTicket {
    value: Value,
    authenticated: bool,
    /// The end of its lifetime; `None` for a session of TLS 1.2, whose lifetime is not read.
    expires: Option<Instant>,
}

impl LibraryTicket {
    /// True if the server was authenticated in the session's full handshake.
    pub fn authenticated(&self) -> bool {
        self.authenticated
    }

    /// The number of bytes of early data that the server allows on a resumed connection.
    pub fn early_data_limit(&self) -> usize {
        match &self.value {
            Value::Tls12(_) => 0,
            Value::Tls13(value) => value.max_early_data_size() as usize,
        }
    }
}

/// Creates a connection that resumes this ticket, if there is one.
pub fn resuming<T>(ticket: Option<LibraryTicket>, make: impl FnOnce() -> T) -> T {
    LAID_OUT.set(ticket.map(|ticket| ticket.value));
    let made = make();
    LAID_OUT.set(None);
    made
}

/// Passes on the sessions delivered on this thread since the last call. `lifetime` is the shortest
/// of their lifetimes in seconds, if they are of TLS 1.3.
pub fn delivered(authenticated: bool, lifetime: Option<u32>, mut take: impl FnMut(Ticket)) {
    DELIVERED.with_borrow_mut(|delivered| {
        let expires =
            lifetime.map(|lifetime| Instant::now() + Duration::from_secs(lifetime.into()));
        delivered.drain(..).for_each(|value| {
            take(Ticket::Library(LibraryTicket { value, authenticated, expires }));
        });
    });
}

/// The store that all configurations share. It stores nothing itself.
#[derive(Debug)]
pub struct Tickets;

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    /// No hint: the settings decide which key share is sent.
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        DELIVERED.with_borrow_mut(|delivered| delivered.push(Value::Tls12(value)));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        match LAID_OUT.take() {
            Some(Value::Tls12(value)) => Some(value),
            _ => None,
        }
    }

    /// Nothing to do: a session that failed was already taken out of the pool, and is not put back.
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        DELIVERED.with_borrow_mut(|delivered| delivered.push(Value::Tls13(value)));
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        match LAID_OUT.take() {
            Some(Value::Tls13(value)) => Some(value),
            other => {
                LAID_OUT.set(other);
                None
            }
        }
    }
}

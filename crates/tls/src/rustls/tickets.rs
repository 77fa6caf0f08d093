//! The adapter between rustls, which asks a store for sessions by server name, and the pool, which has
//! single sessions.
//!
//! rustls calls the store without a connection: it asks while a connection is made, and delivers
//! sessions while it processes received bytes. Both happen on the worker's own thread, for one
//! connection at a time. So the session to resume is left in a thread-local before, and delivered
//! sessions are fetched from one after.

use std::cell::{Cell, RefCell};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

thread_local! {
    /// What the connection that is being made may resume.
    static LAID_OUT: Cell<Option<Value>> = const { Cell::new(None) };
    /// What the connection that is being served was given.
    static DELIVERED: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// A session as rustls has it.
#[derive(Debug)]
enum Value {
    Tls12(Tls12ClientSessionValue),
    Tls13(Tls13ClientSessionValue),
}

/// What one connection can resume an earlier session by.
#[derive(Debug)]
pub struct Ticket {
    value: Value,
    authenticated: bool,
}

impl Ticket {
    /// Whether the server was authenticated in the full handshake that began the session.
    pub fn authenticated(&self) -> bool {
        self.authenticated
    }

    /// How many bytes of early data the server lets a resumed connection send.
    pub fn early_data_limit(&self) -> usize {
        match &self.value {
            Value::Tls12(_) => 0,
            Value::Tls13(value) => value.max_early_data_size() as usize,
        }
    }
}

/// Makes a connection, which resumes by this ticket if there is one.
pub fn resuming<T>(ticket: Option<Ticket>, make: impl FnOnce() -> T) -> T {
    LAID_OUT.set(ticket.map(|ticket| ticket.value));
    let made = make();
    LAID_OUT.set(None);
    made
}

/// Gives away what has been delivered on this thread since the last call.
pub fn delivered(authenticated: bool, mut take: impl FnMut(Ticket)) {
    DELIVERED.with_borrow_mut(|delivered| {
        delivered.drain(..).for_each(|value| take(Ticket { value, authenticated }));
    });
}

/// The store that all configurations share; it keeps nothing itself.
#[derive(Debug)]
pub struct Tickets;

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    /// None: which key share goes first is the offer's to say.
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

    /// A session that failed was taken out of the pool before, and is not put back.
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

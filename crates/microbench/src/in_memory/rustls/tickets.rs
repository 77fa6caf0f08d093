//! Single-use tickets.

use std::sync::Mutex;

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The tickets of a thread. Taking a ticket removes it. rustls' own store returns a TLS 1.2 ticket
/// repeatedly.
///
/// rustls requires shareable stores. This one is not shared: its locks are never contended.
#[derive(Debug, Default)]
pub struct Tickets {
    tls12: Mutex<Vec<Tls12ClientSessionValue>>,
    tls13: Mutex<Vec<Tls13ClientSessionValue>>,
}

impl Tickets {
    /// The number of unused tickets.
    pub fn count(&self) -> usize {
        locked(&self.tls12).len() + locked(&self.tls13).len()
    }
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().expect("no thread panics while it holds this")
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    /// No hint: there is only one group.
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        locked(&self.tls12).push(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        locked(&self.tls12).pop()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        locked(&self.tls12).clear();
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        locked(&self.tls13).push(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        locked(&self.tls13).pop()
    }
}

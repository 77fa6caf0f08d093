//! The sessions that a worker's connections can resume.
//!
//! A TLS 1.3 ticket should be used once (RFC 8446, appendix C.4), and many servers insist on that:
//! a ticket shared by all connections fails. So a session leaves the pool when it is taken, and new
//! sessions from servers are added. A TLS 1.2 session is put back after a successful handshake. The
//! newest session is taken first, because a server with a bounded session cache drops the oldest.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The default size of a pool: enough for one connection after the other.
const LIMIT: usize = 16;

/// A worker's pool, shared by its back end and the sessions of its connections.
#[derive(Debug)]
pub struct Pool<T>(Rc<RefCell<Kept<T>>>);

#[derive(Debug)]
struct Kept<T> {
    sessions: VecDeque<T>,
    limit: usize,
}

impl<T> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(Kept { sessions: VecDeque::new(), limit: LIMIT })))
    }

    /// Sets the size to N sessions and allocates memory for all of them.
    pub fn keep(&self, limit: usize) {
        let mut kept = self.0.borrow_mut();
        let surplus = kept.sessions.len().saturating_sub(limit);
        kept.sessions.drain(..surplus);
        let missing = limit - kept.sessions.len();
        kept.sessions.reserve(missing);
        kept.limit = limit;
    }

    /// Adds a session; drops the oldest if the pool is full.
    pub fn put(&self, session: T) {
        let mut kept = self.0.borrow_mut();
        if kept.sessions.len() >= kept.limit {
            kept.sessions.pop_front();
        }
        kept.sessions.push_back(session);
    }

    /// Takes the newest session out.
    pub fn take(&self) -> Option<T> {
        self.0.borrow_mut().sessions.pop_back()
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.0.borrow().sessions.len()
    }
}

impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_taken_once_and_the_oldest_makes_room() {
        let pool = Pool::new();
        pool.keep(3);
        (1..=5).for_each(|session| pool.put(session));
        assert_eq!(pool.len(), 3);
        assert_eq!(
            [pool.take(), pool.take(), pool.take(), pool.take()],
            [Some(5), Some(4), Some(3), None]
        );
    }

    #[test]
    fn what_is_too_much_by_a_new_limit_is_dropped_from_the_oldest_on() {
        let pool = Pool::new();
        (1..=5).for_each(|session| pool.put(session));
        pool.keep(2);
        assert_eq!([pool.take(), pool.take(), pool.take()], [Some(5), Some(4), None]);
    }
}

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
    /// Each with its number, in the order of arrival.
    sessions: VecDeque<(u64, T)>,
    /// The number of sessions that have arrived so far.
    arrived: u64,
    limit: usize,
}

impl<T> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(Kept { sessions: VecDeque::new(), arrived: 0, limit: LIMIT })))
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
        let number = kept.arrived;
        kept.sessions.push_back((number, session));
        kept.arrived += 1;
    }

    /// Takes the newest session out.
    #[cfg(any(test, feature = "openssl"))]
    pub fn take(&self) -> Option<T> {
        self.take_if(|_, _| true)
    }

    /// Takes the newest session that fits, by itself and by the number of later ones.
    pub fn take_if(&self, fits: impl Fn(&T, u64) -> bool) -> Option<T> {
        let mut kept = self.0.borrow_mut();
        let arrived = kept.arrived;
        let fits = |(number, session): &(u64, T)| fits(session, arrived - 1 - number);
        let place = kept.sessions.iter().rposition(fits)?;
        kept.sessions.remove(place).map(|(_, session)| session)
    }

    /// Drops the oldest sessions as long as they are unfit.
    pub fn drop_oldest(&self, is_unfit: impl Fn(&T) -> bool) {
        let mut kept = self.0.borrow_mut();
        while kept.sessions.front().is_some_and(|(_, session)| is_unfit(session)) {
            kept.sessions.pop_front();
        }
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
    fn a_session_is_chosen_by_itself_and_by_those_after_it() {
        let pool = Pool::new();
        (1..=6).for_each(|session| pool.put(session));
        assert_eq!(pool.take_if(|session, _| session % 2 == 1), Some(5));
        assert_eq!(pool.take_if(|_, later| later >= 4), Some(2));
        // What was taken still counts.
        assert_eq!(pool.take_if(|session, later| *session == 1 && later < 5), None);
        assert_eq!(pool.take_if(|session, later| *session == 1 && later == 5), Some(1));
        pool.drop_oldest(|session| *session < 6);
        assert_eq!((pool.len(), pool.take()), (1, Some(6)));
    }

    #[test]
    fn what_is_too_much_by_a_new_limit_is_dropped_from_the_oldest_on() {
        let pool = Pool::new();
        (1..=5).for_each(|session| pool.put(session));
        pool.keep(2);
        assert_eq!([pool.take(), pool.take(), pool.take()], [Some(5), Some(4), None]);
    }
}

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
    /// The sessions of which the newest makes no room for others.
    is_spared: fn(&T) -> bool,
    /// The number of the newest of them in the pool.
    spared: Option<u64>,
}

impl<T> Kept<T> {
    /// Removes the session at this place.
    fn remove(&mut self, place: usize) -> Option<T> {
        let (number, session) = self.sessions.remove(place)?;
        if self.spared == Some(number) {
            let mut others = self.sessions.iter().rev();
            self.spared = others.find(|(_, other)| (self.is_spared)(other)).map(|found| found.0);
        }
        Some(session)
    }

    /// Drops the oldest session but the spared one.
    fn make_room(&mut self) {
        let is_spared =
            self.sessions.front().is_some_and(|(number, _)| self.spared == Some(*number));
        self.remove(usize::from(is_spared && self.sessions.len() > 1));
    }
}

impl<T> Pool<T> {
    /// An empty pool.
    #[cfg(any(test, feature = "openssl"))]
    pub fn new() -> Self {
        Self::sparing(|_| false)
    }

    /// An empty pool in which the newest of these sessions makes no room for others.
    pub fn sparing(is_spared: fn(&T) -> bool) -> Self {
        let (sessions, arrived, limit) = (VecDeque::new(), 0, LIMIT);
        let kept = Kept { sessions, arrived, limit, is_spared, spared: None };
        Self(Rc::new(RefCell::new(kept)))
    }

    /// Sets the size to N sessions and allocates memory for all of them.
    pub fn keep(&self, limit: usize) {
        let mut kept = self.0.borrow_mut();
        while kept.sessions.len() > limit {
            kept.make_room();
        }
        let missing = limit - kept.sessions.len();
        kept.sessions.reserve(missing);
        kept.limit = limit;
    }

    /// Adds a session; drops the oldest if the pool is full.
    pub fn put(&self, session: T) {
        let mut kept = self.0.borrow_mut();
        if kept.sessions.len() >= kept.limit {
            kept.make_room();
        }
        let number = kept.arrived;
        if (kept.is_spared)(&session) {
            kept.spared = Some(number);
        }
        kept.sessions.push_back((number, session));
        kept.arrived += 1;
    }

    /// The number of sessions that have arrived after the spared one; `None` if there is none.
    pub fn after_spared(&self) -> Option<u64> {
        let kept = self.0.borrow();
        kept.spared.map(|number| kept.arrived - 1 - number)
    }

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
        kept.remove(place)
    }

    /// Drops the oldest sessions as long as they are unfit.
    pub fn drop_oldest(&self, is_unfit: impl Fn(&T) -> bool) {
        let mut kept = self.0.borrow_mut();
        while kept.sessions.front().is_some_and(|(_, session)| is_unfit(session)) {
            kept.remove(0);
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
    fn the_newest_spared_one_makes_no_room() {
        let pool = Pool::sparing(|session| session % 2 == 0);
        pool.keep(3);
        assert_eq!(pool.after_spared(), None);
        [2, 4, 1, 3, 5].into_iter().for_each(|session| pool.put(session));
        assert_eq!((pool.len(), pool.after_spared()), (3, Some(3)));
        [7, 9].into_iter().for_each(|session| pool.put(session));
        assert_eq!((pool.len(), pool.after_spared()), (3, Some(5)));
        assert_eq!(pool.take_if(|session, _| session % 2 == 0), Some(4));
        assert_eq!((pool.len(), pool.after_spared()), (2, None));
        // A pool of one keeps the newest.
        pool.put(6);
        pool.keep(1);
        assert_eq!(pool.after_spared(), Some(0));
        pool.put(1);
        assert_eq!((pool.len(), pool.after_spared(), pool.take()), (1, None, Some(1)));
    }

    #[test]
    fn what_is_too_much_by_a_new_limit_is_dropped_from_the_oldest_on() {
        let pool = Pool::new();
        (1..=5).for_each(|session| pool.put(session));
        pool.keep(2);
        assert_eq!([pool.take(), pool.take(), pool.take()], [Some(5), Some(4), None]);
    }
}

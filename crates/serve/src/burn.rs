//! A planted slowdown: processor time that new connections waste, as a share of their cost.
//!
//! The test of a comparison that must find a slowdown of 5 % needs a server that is 5 % slower and
//! otherwise equal. The share refers to the processor time that the worker's thread spends on new
//! connections, so that it means the same on every machine and with every key.

use tlslab_system::clock::{Clock, Nanos};

/// The highest share: ten times the cost of a connection.
pub(crate) const BURN_LIMIT: f64 = 10.0;

/// Spins on a thread's clock for a share of the elapsed time.
///
/// The remainder, positive or negative, is carried over, so that the sum is correct even if single
/// pieces of work are shorter than the reading of the clock.
pub(crate) struct Burner<C> {
    clock: C,
    share: f64,
    /// Time still to be wasted, in nanoseconds; negative if too much was wasted.
    owed: f64,
    burned: Nanos,
}

impl<C: Clock> Burner<C> {
    pub fn new(clock: C, share: f64) -> Self {
        Self { clock, share, owed: 0.0, burned: 0 }
    }

    /// The thread's processor time now.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Spins for the share of the time since `before`. Returns the total time spun so far.
    ///
    /// A share of 0 reads the clock as often as any other share before it spins.
    pub fn burn(&mut self, before: Nanos) -> Nanos {
        let begun = self.clock.now();
        self.owed += self.share * begun.saturating_sub(before) as f64;
        let mut spun = 0;
        while (spun as f64) < self.owed {
            std::hint::spin_loop();
            spun = self.clock.now().saturating_sub(begun);
        }
        self.owed -= spun as f64;
        self.burned += spun;
        self.burned
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use tlslab_system::clock::{MILLISECOND, ThreadClock};

    /// A clock whose reading takes time, and that work can advance.
    #[derive(Default)]
    struct Reading {
        now: Cell<Nanos>,
        each: Nanos,
    }

    impl Clock for &Reading {
        fn now(&self) -> Nanos {
            self.now.set(self.now.get() + self.each);
            self.now.get()
        }
    }

    /// The burned share of 10,000 pieces of work of N nanoseconds each.
    fn burned_share(share: f64, work: Nanos, reading: Nanos) -> f64 {
        let clock = Reading { each: reading, ..Reading::default() };
        let mut burner = Burner::new(&clock, share);
        let (mut burned, mut measured) = (0, 0);
        for _ in 0..10_000 {
            let before = burner.now();
            clock.now.set(clock.now.get() + work);
            burned = burner.burn(before);
            // The reading at the end of the work counts as work.
            measured += work + reading;
        }
        burned as f64 / measured as f64
    }

    #[test]
    fn the_share_is_kept_over_many_pieces_of_work() {
        for share in [0.01, 0.02, 0.05, 0.1, 1.0, 10.0] {
            let found = burned_share(share, 50_000, 200);
            assert!((found / share - 1.0).abs() < 0.001, "{share}: {found}");
        }
    }

    #[test]
    fn the_share_is_kept_where_a_reading_is_longer_than_what_is_owed() {
        let found = burned_share(0.02, 1_000, 200);
        assert!((found / 0.02 - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn a_share_of_nothing_burns_nothing() {
        assert!(burned_share(0.0, 50_000, 200) == 0.0);
    }

    #[test]
    fn the_time_of_this_thread_is_burned() {
        let mut burner = Burner::new(ThreadClock, 0.5);
        let start = burner.now();
        while burner.now() < start + 20 * MILLISECOND {}
        let worked = burner.now() - start;
        let burned = burner.burn(start);
        let ratio = burned as f64 / worked as f64;
        assert!((0.5..0.6).contains(&ratio), "{ratio}");
    }
}

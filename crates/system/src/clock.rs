//! Clocks, which code receives as parameters.

use std::cell::Cell;

pub use tlslab_wire::time::{MICROSECOND, MILLISECOND, Nanos, SECOND};

/// Gives the time.
pub trait Clock {
    /// The current time.
    fn now(&self) -> Nanos;
}

/// The machine's monotonic clock. A read costs some 20 ns (vDSO, no system call).
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now(&self) -> Nanos {
        read(libc::CLOCK_MONOTONIC)
    }
}

/// The machine's monotonic clock, which also counts while the machine is suspended.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> Nanos {
        read(libc::CLOCK_BOOTTIME)
    }
}

/// The processor time of the calling thread. A read is a system call, some 200 ns.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadClock;

impl Clock for ThreadClock {
    fn now(&self) -> Nanos {
        read(libc::CLOCK_THREAD_CPUTIME_ID)
    }
}

/// Reads one of the clocks that every Linux system has.
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill; the clock exists.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos
}

/// A clock that advances only by [`ManualClock::advance`].
#[derive(Debug, Default)]
pub struct ManualClock(Cell<Nanos>);

impl ManualClock {
    /// Advances the clock.
    pub fn advance(&self, by: Nanos) {
        self.0.set(self.0.get() + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Nanos {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_goes_forward() {
        let before = MonotonicClock.now();
        assert!(MonotonicClock.now() >= before && before > 0);
    }

    #[test]
    fn a_thread_s_clock_stands_while_it_sleeps() {
        let (processor, wall) = (ThreadClock.now(), MonotonicClock.now());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(MonotonicClock.now() - wall >= 50 * MILLISECOND);
        assert!(ThreadClock.now() - processor < 25 * MILLISECOND);
    }

    #[test]
    fn a_manual_clock_stands_still_until_set() {
        let clock = ManualClock::default();
        clock.advance(5);
        assert_eq!((clock.now(), clock.now()), (5, 5));
    }
}

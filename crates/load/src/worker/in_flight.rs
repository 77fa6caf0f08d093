//! The number of a worker's connections in flight, and its integral over time.

use tlslab_system::clock::Nanos;

/// Counts connections in flight, and sums their time.
#[derive(Debug, Clone, Copy, Default)]
pub struct InFlight {
    count: usize,
    /// The integral of the count, up to this instant.
    spent: u128,
    until: Nanos,
}

impl InFlight {
    /// The number of connections in flight.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A connection starts.
    #[inline]
    pub fn start(&mut self, now: Nanos) {
        self.add_up(now);
        self.count += 1;
    }

    /// A connection ends.
    #[inline]
    pub fn end(&mut self, now: Nanos) {
        self.add_up(now);
        self.count -= 1;
    }

    /// Restarts the integral at this instant.
    pub fn restart(&mut self, now: Nanos) {
        (self.spent, self.until) = (0, now);
    }

    /// The integral of the count since the restart, in nanoseconds.
    pub fn spent(&mut self, now: Nanos) -> u128 {
        self.add_up(now);
        self.spent
    }

    #[inline]
    fn add_up(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.until);
        self.spent += u128::from(passed) * self.count as u128;
        self.until = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_all_connections_adds_up() {
        let mut in_flight = InFlight::default();
        in_flight.start(5);
        in_flight.restart(10);
        in_flight.start(20);
        in_flight.end(50);
        assert_eq!((in_flight.count(), in_flight.spent(60)), (1, 10 + 2 * 30 + 10));
    }
}

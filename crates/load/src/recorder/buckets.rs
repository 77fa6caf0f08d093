//! Times in buckets with fixed bounds: additive histograms, as in Prometheus.

use tlslab_system::clock::{MICROSECOND, MILLISECOND, Nanos, SECOND};

/// The upper bounds of the buckets: from the fastest handshake on loopback to the longest deadline.
pub const BOUNDS: [Nanos; 16] = [
    100 * MICROSECOND,
    250 * MICROSECOND,
    500 * MICROSECOND,
    MILLISECOND,
    2_500 * MICROSECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    25 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    250 * MILLISECOND,
    500 * MILLISECOND,
    SECOND,
    2_500 * MILLISECOND,
    5 * SECOND,
    10 * SECOND,
];

/// The count of times in each bucket, and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buckets {
    /// Times up to each bound and above the one before; last, the times above all bounds.
    pub counts: [u64; BOUNDS.len() + 1],
    /// The sum of all times.
    pub sum: Nanos,
}

impl Buckets {
    /// Records a time.
    #[inline]
    pub fn note(&mut self, time: Nanos) {
        self.counts[BOUNDS.partition_point(|bound| *bound < time)] += 1;
        self.sum += time;
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.sum += other.sum;
    }

    /// The number of recorded times.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Times of connections and of requests, in buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimesInBuckets {
    /// Handshake times of the completed connections.
    pub handshake: Buckets,
    /// Service times of the completed connections.
    pub service: Buckets,
    /// Response times of the completed connections in an open loop; empty in a closed loop.
    pub response: Buckets,
    /// Times of the answered requests, from their start to the last byte of the response.
    pub exchange: Buckets,
}

impl TimesInBuckets {
    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        self.handshake.merge(&other.handshake);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.exchange.merge(&other.exchange);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_round_from_a_tenth_of_a_millisecond_to_ten_seconds() {
        let below_a_second =
            [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000];
        let from_a_second = [1_000_000, 2_500_000, 5_000_000, 10_000_000];
        let microseconds: Vec<u64> = [&below_a_second[..], &from_a_second].concat();
        assert!(BOUNDS.into_iter().eq(microseconds.into_iter().map(|bound| 1_000 * bound)));
    }

    #[test]
    fn a_bucket_holds_the_times_up_to_its_bound() {
        let mut buckets = Buckets::default();
        for (index, bound) in BOUNDS.into_iter().enumerate() {
            buckets.note(bound);
            buckets.note(bound + 1);
            assert_eq!(buckets.counts[index..index + 2], [if index == 0 { 1 } else { 2 }, 1]);
        }
        let mut twice = buckets;
        twice.merge(&buckets);
        assert_eq!((twice.count(), twice.sum), (4 * BOUNDS.len() as u64, 2 * buckets.sum));
        assert_eq!(buckets.sum, 2 * BOUNDS.iter().sum::<u64>() + BOUNDS.len() as u64);
    }
}

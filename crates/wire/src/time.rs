//! Time in nanoseconds.

/// Nanoseconds of a monotonic clock; of CLOCK_MONOTONIC for a real clock.
pub type Nanos = u64;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: Nanos = 1_000;

/// Nanoseconds in a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

//! The common start of the workers, once all are ready.

use std::sync::atomic::AtomicBool;

use crate::error::RunError;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};

/// The time between the last worker's readiness and the start.
const LEAD: Nanos = 2 * MILLISECOND;

/// The highest wait for an agreed instant: waiting workers cannot be interrupted.
const LONGEST: Nanos = 60 * SECOND;

/// The instant at which the workers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartInstant {
    /// Instant of this machine's CLOCK_MONOTONIC.
    pub at: Nanos,
    /// The same instant in seconds since 1970, by the clock that the record uses. `None`: the
    /// record uses this machine's clock.
    pub unix_s: Option<f64>,
}

impl StartInstant {
    /// A start that the leader of several generators has set, if the workers can still keep it.
    ///
    /// # Errors
    /// [`RunError::LateStart`] if the instant has passed, [`RunError::NoStart`] if it is not
    /// plausible.
    pub fn agreed(at: Nanos, unix_s: f64, now: Nanos) -> Result<Self, RunError> {
        if at < now {
            return Err(RunError::LateStart { late: now - at });
        }
        if at - now > LONGEST {
            let seconds = LONGEST / SECOND;
            let words = format!("start_at_ns is more than {seconds} s from now ({now})");
            return Err(RunError::NoStart(words));
        }
        if !unix_s.is_finite() || unix_s < 0.0 {
            return Err(RunError::NoStart("unix_s is no time since 1970".to_owned()));
        }
        Ok(Self { at, unix_s: Some(unix_s) })
    }

    /// The start of a run by itself: shortly after now.
    pub(crate) fn soon() -> Self {
        Self { at: MonotonicClock.now() + LEAD, unix_s: None }
    }
}

/// Decides when the load begins.
pub trait Starter {
    /// Called once, when all workers are ready. May wait; returns early once `interrupt` is true.
    ///
    /// # Errors
    /// An error means that no load is made.
    fn begin(&mut self, interrupt: &AtomicBool) -> Result<StartInstant, RunError>;
}

/// Starts the load as soon as possible.
#[derive(Debug, Clone, Copy)]
pub struct ImmediateStart;

impl Starter for ImmediateStart {
    fn begin(&mut self, _: &AtomicBool) -> Result<StartInstant, RunError> {
        Ok(StartInstant::soon())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agreed_instant_lies_ahead_and_near() {
        let agreed = StartInstant::agreed(5 * SECOND, 1000.0, 4 * SECOND).unwrap();
        assert_eq!((agreed.at, agreed.unix_s), (5 * SECOND, Some(1000.0)));
        let late = StartInstant::agreed(4 * SECOND, 1000.0, 5 * SECOND).unwrap_err();
        assert!(matches!(late, RunError::LateStart { late: SECOND }), "{late}");
        assert_eq!(late.class(), "late_start");
        for (at, unix_s) in [(Nanos::MAX, 1000.0), (SECOND, f64::NAN), (SECOND, -1.0)] {
            assert_eq!(StartInstant::agreed(at, unix_s, 0).unwrap_err().class(), "no_start");
        }
    }
}

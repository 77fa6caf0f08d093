//! When the workers of a run begin, once all are ready.

use std::sync::atomic::AtomicBool;

use crate::error::RunError;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};

/// From the moment that all workers are ready until they begin.
const LEAD: Nanos = 2 * MILLISECOND;

/// The longest time from then to an agreed instant: workers that wait cannot be interrupted.
const LONGEST: Nanos = 60 * SECOND;

/// The instant at which the workers begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartInstant {
    /// By this machine's CLOCK_MONOTONIC.
    pub at: Nanos,
    /// The same instant in seconds since 1970, by the clock of the record; without it, the record has
    /// this machine's clock.
    pub unix_s: Option<f64>,
}

impl StartInstant {
    /// An instant that the conductor of several generators has set, if the workers can still keep it.
    ///
    /// # Errors
    /// [`RunError::LateStart`] if it has passed, [`RunError::NoStart`] if it makes no sense.
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

    /// The instant of a run that begins by itself.
    pub(crate) fn soon() -> Self {
        Self { at: MonotonicClock.now() + LEAD, unix_s: None }
    }
}

/// Decides when a run begins.
pub trait Starter {
    /// Called once, when all workers are ready; may wait, and gives up once `interrupt` is true.
    ///
    /// # Errors
    /// There is to be no load.
    fn begin(&mut self, interrupt: &AtomicBool) -> Result<StartInstant, RunError>;
}

/// The run begins as soon as it can.
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

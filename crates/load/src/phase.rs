//! The phases of a run: warm-up, measurement, drain.

use tlslab_contract::spec::{RunSpec, Stop};
use tlslab_system::clock::{MILLISECOND, Nanos};

/// The drain: time after a measurement in which connections in flight may end, uncounted, so that
/// the server sees no aborted connections.
const DRAIN: Nanos = 500 * MILLISECOND;

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Load that is not counted.
    Warmup,
    /// Load that is counted.
    Measure,
    /// No new connections start; those in flight may end, uncounted.
    Drain,
    /// The run is over.
    Done,
}

impl Phase {
    /// The name of the phase in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Measure => "measure",
            Self::Drain => "drain",
            Self::Done => "done",
        }
    }
}

/// The instants at which a run's phases begin; the same for all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Start of the measurement.
    pub measure: Nanos,
    /// End of the measurement, for a run that ends by time.
    pub drain: Option<Nanos>,
    /// The number of steps of the measurement, and the length of each.
    pub steps: usize,
    step: Nanos,
}

impl Schedule {
    /// The schedule of a run that begins at `start`.
    pub fn new(spec: &RunSpec, start: Nanos) -> Self {
        let measure = start + (spec.load.open_within_ms + spec.warmup_ms) * MILLISECOND;
        let drain = match spec.stop {
            Stop::DurationMs(ms) => Some(measure + ms * MILLISECOND),
            Stop::Count(_) => None,
        };
        let steps = spec.load.steps();
        let step = drain.map_or(Nanos::MAX, |drain| (drain - measure) / steps as Nanos);
        Self { measure, drain, steps, step }
    }

    /// The start of a step, counted from 0.
    pub fn step_start(&self, step: usize) -> Nanos {
        self.measure + self.step * step as Nanos
    }

    /// The step at an instant of the measurement.
    pub fn step_at(&self, now: Nanos) -> usize {
        let passed = now.saturating_sub(self.measure) / self.step.max(1);
        (passed as usize).min(self.steps - 1)
    }

    /// The phase at an instant. A run that ends by count measures until it is stopped.
    pub fn at(&self, now: Nanos) -> Phase {
        match self.drain {
            _ if now < self.measure => Phase::Warmup,
            Some(drain) if now >= drain + DRAIN => Phase::Done,
            Some(drain) if now >= drain => Phase::Drain,
            _ => Phase::Measure,
        }
    }

    /// The same schedule with an earlier start of the measurement.
    pub fn begun_at(self, measure: Nanos) -> Self {
        let earlier = self.measure.saturating_sub(measure);
        Self { measure, drain: self.drain.map(|drain| drain - earlier), ..self }
    }

    /// The same schedule with the measurement ended at an instant.
    pub fn ended(self, now: Nanos) -> Self {
        Self { measure: self.measure.min(now), drain: Some(now), ..self }
    }

    /// The end of the phase at an instant, if known.
    pub fn next_change(&self, now: Nanos) -> Option<Nanos> {
        match self.at(now) {
            Phase::Warmup => Some(self.measure),
            Phase::Measure => {
                let step = self.step_at(now) + 1;
                let next = (step < self.steps).then(|| self.step_start(step));
                next.into_iter().chain(self.drain).min()
            }
            Phase::Drain => self.drain.map(|drain| drain + DRAIN),
            Phase::Done => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(stop: &str) -> Schedule {
        let json = format!(r#"{{"url":"https://localhost/","warmup_ms":100,"stop":{stop}}}"#);
        Schedule::new(&serde_json::from_str(&json).unwrap(), 1_000 * MILLISECOND)
    }

    #[test]
    fn phases_follow_each_other_by_time() {
        let schedule = schedule(r#"{"duration_ms":200}"#);
        let at = |ms| schedule.at(ms * MILLISECOND);
        assert_eq!(at(1_099), Phase::Warmup);
        assert_eq!(at(1_100), Phase::Measure);
        assert_eq!(at(1_299), Phase::Measure);
        assert_eq!(at(1_300), Phase::Drain);
        assert_eq!(at(1_800), Phase::Done);
        assert_eq!(schedule.next_change(0), Some(1_100 * MILLISECOND));
    }

    #[test]
    fn a_measurement_that_begins_earlier_is_as_long() {
        let json = r#"{"url":"https://localhost/","warmup_ms":100,"stop":{"duration_ms":200},
            "requests_per_connection":"unlimited","load":{"open_within_ms":5000}}"#;
        let schedule = Schedule::new(&serde_json::from_str(json).unwrap(), 0);
        assert_eq!(schedule.measure, 5_100 * MILLISECOND);
        let begun = schedule.begun_at(700 * MILLISECOND);
        assert_eq!((begun.measure, begun.drain), (700 * MILLISECOND, Some(900 * MILLISECOND)));
    }

    #[test]
    fn steps_divide_a_measurement_evenly() {
        let json = r#"{"url":"https://localhost/","stop":{"duration_ms":300},"connections":4,
            "load":{"connection_steps":[1,2,4]}}"#;
        let schedule = Schedule::new(&serde_json::from_str(json).unwrap(), 0);
        let at = |ms| schedule.step_at(ms * MILLISECOND);
        assert_eq!([at(0), at(99), at(100), at(200), at(299), at(1_000)], [0, 0, 1, 2, 2, 2]);
        assert_eq!(schedule.next_change(150 * MILLISECOND), Some(200 * MILLISECOND));
        assert_eq!(schedule.next_change(250 * MILLISECOND), Some(300 * MILLISECOND));
        let ended = schedule.ended(150 * MILLISECOND);
        assert_eq!(ended.at(150 * MILLISECOND), Phase::Drain);
    }

    #[test]
    fn a_run_by_count_measures_until_it_is_stopped() {
        let schedule = schedule(r#"{"count":5}"#);
        let far = 1_000_000 * MILLISECOND;
        assert_eq!((schedule.at(far), schedule.next_change(far)), (Phase::Measure, None));
        assert_eq!(schedule.ended(far).at(far), Phase::Drain);
    }
}

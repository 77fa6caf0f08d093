//! Load over time, and the trace of connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RequestsPerConnection, RunSpec, SpecError, Stop, TIME_LIMIT_MS};

/// The highest number of steps in a run. Each step has its own histograms.
const STEPS_LIMIT: usize = 32;

/// The highest rate, in new connections a second. One client address has about 65,000 ports to one
/// server address.
const RATE_LIMIT: f64 = 1_000_000.0;

/// The most retries: a user who reloads more often is a program.
const RETRIES_LIMIT: u32 = 10;

/// The smallest `open_within_ms`: open connections are counted 20 times a second.
const OPEN_WITHIN_LEAST: u64 = 100;

/// Load over time, and the trace of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Open loop: connections are due at this rate, whether or not earlier ones have ended, and
    /// `connections` limits the number in flight. Without a rate the loop is closed.
    pub rate: Option<Rate>,
    /// The arrival process of an open loop: when connections are due.
    pub arrivals: ArrivalProcess,
    /// Open loop: run the workers with real-time priority (SCHED_FIFO), so that no other work on
    /// their processors delays a connection that is due. Requires CAP_SYS_NICE, and processors that
    /// the server does not use.
    pub realtime: bool,
    /// The seed of random arrivals. The same seed, rate and threads produce the same instants.
    pub seed: u64,
    /// Closed loop: connections in flight in each step of the measurement. All steps have the same
    /// length. Empty: `connections` throughout.
    pub connection_steps: Vec<u32>,
    /// With unlimited requests: the time in which all connections must open, in milliseconds. Open
    /// connections send requests meanwhile. The warm-up (at least 200 ms) begins when all are open,
    /// so that no handshake reaches into the measurement. The run fails if some are not open in
    /// time. 0: the warm-up begins at once.
    pub open_within_ms: u64,
    /// Open loop: how long a user waits for a complete answer, in milliseconds, counted from the
    /// intended start. Then the connection is closed, and counted as abandoned. Absent: forever.
    pub patience_ms: Option<u64>,
    /// Open loop with patience: how often a user comes back, at once and with new patience, after
    /// an abandoned or a failed connection.
    pub retries: u32,
    /// Think time in microseconds: pause between a response and the next request on its connection.
    pub think_us: u64,
    /// Number of connections whose event times are kept for a trace: the first N of each worker's
    /// share.
    pub trace: u32,
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            rate: None,
            arrivals: ArrivalProcess::Constant,
            realtime: false,
            seed: 1,
            connection_steps: Vec::new(),
            open_within_ms: 0,
            patience_ms: None,
            retries: 0,
            think_us: 0,
            trace: 0,
        }
    }
}

/// New connections a second during the measurement. A warm-up uses the first level throughout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// The same rate throughout.
    Constant(f64),
    /// A linear ramp from one rate to another, which then stays.
    Ramp(Ramp),
    /// Consecutive steps of equal length.
    Steps(Vec<f64>),
}

/// A rate that changes linearly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// The rate at the start of the measurement.
    pub from: f64,
    /// The rate at the end of the ramp and after it.
    pub to: f64,
    /// The length of the ramp in milliseconds.
    pub over_ms: u64,
}

impl Rate {
    /// The rates of all levels, in order.
    pub fn levels(&self) -> Vec<f64> {
        match self {
            Self::Constant(rate) => vec![*rate],
            Self::Ramp(ramp) => vec![ramp.from, ramp.to],
            Self::Steps(steps) => steps.clone(),
        }
    }

    /// The highest level.
    pub fn highest(&self) -> f64 {
        self.levels().into_iter().fold(0.0, f64::max)
    }
}

/// The arrival process of an open loop: when connections are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// Constant spacing.
    #[default]
    Constant,
    /// Independent arrivals with exponential distances: a Poisson process.
    Poisson,
}

/// An error in the `load` part of a specification.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum LoadError {
    #[error("rate {0} must be above 0, and {RATE_LIMIT} a second at most")]
    Rate(f64),
    #[error(
        "rate and connection_steps exclude each other: an open loop has one limit of connections"
    )]
    TwoLoops,
    #[error("{0} steps are too many; {STEPS_LIMIT} at most")]
    TooManySteps(usize),
    #[error("a run in steps ends by time, not by count")]
    CountOfSteps,
    #[error("connection_steps must each be from 1 to connections ({0})")]
    Step(u32),
    #[error(
        "with unlimited requests on a connection, connection_steps must rise: no connection would \
         end"
    )]
    FallingSteps,
    #[error("an open loop needs connections that end: unlimited requests need a closed loop")]
    EndlessInOpenLoop,
    #[error(
        "realtime needs a rate: a closed loop is always at work, and would leave no time to others"
    )]
    RealtimeInClosedLoop,
    #[error(
        "open_within_ms must be at least {OPEN_WITHIN_LEAST}: open connections are counted 20 \
         times a second"
    )]
    OpenWithin,
    #[error("open_within_ms needs unlimited requests on a connection, and no steps")]
    NothingToOpen,
    #[error("patience needs a rate: in a closed loop nobody else arrives while users wait")]
    PatienceInClosedLoop,
    #[error("a run with patience ends by time, not by count; give stop.duration_ms")]
    CountOfPatience,
    #[error("retries need patience; give patience_ms")]
    RetriesWithoutPatience,
    #[error("{0} retries are too many; {RETRIES_LIMIT} at most")]
    TooManyRetries(u32),
    #[error("think time needs several requests on a connection; raise requests_per_connection")]
    NothingToThink,
}

impl LoadSpec {
    /// The number of steps of the measurement; 1 when it has none.
    pub fn steps(&self) -> usize {
        match &self.rate {
            Some(Rate::Steps(steps)) => steps.len(),
            _ => self.connection_steps.len().max(1),
        }
    }

    /// Checks this part by itself and against the rest of the specification.
    pub(super) fn check(&self, spec: &RunSpec) -> Result<(), SpecError> {
        self.check_rate()?;
        self.check_steps(spec)?;
        self.check_patience(spec)?;
        let long = match &self.rate {
            Some(Rate::Ramp(ramp)) if ramp.over_ms == 0 => {
                return Err(SpecError::Zero { field: "load.rate.ramp.over_ms" });
            }
            Some(Rate::Ramp(ramp)) if ramp.over_ms > TIME_LIMIT_MS => "load.rate.ramp.over_ms",
            _ if self.think_us > TIME_LIMIT_MS * 1000 => "load.think_us",
            _ if self.open_within_ms > TIME_LIMIT_MS => "load.open_within_ms",
            _ if self.patience_ms > Some(TIME_LIMIT_MS) => "load.patience_ms",
            _ => "",
        };
        if !long.is_empty() {
            return Err(SpecError::TooLong { field: long });
        }
        let keeps_open = spec.requests_per_connection == RequestsPerConnection::Unlimited
            && self.connection_steps.is_empty();
        if self.open_within_ms > 0 && !keeps_open {
            return Err(LoadError::NothingToOpen.into());
        }
        if (1..OPEN_WITHIN_LEAST).contains(&self.open_within_ms) {
            return Err(LoadError::OpenWithin.into());
        }
        match spec.requests_per_connection {
            RequestsPerConnection::Unlimited if self.rate.is_some() => {
                Err(LoadError::EndlessInOpenLoop.into())
            }
            RequestsPerConnection::Count(1) if self.think_us > 0 => {
                Err(LoadError::NothingToThink.into())
            }
            _ => Ok(()),
        }
    }

    fn check_rate(&self) -> Result<(), LoadError> {
        let Some(rate) = &self.rate else {
            return if self.realtime { Err(LoadError::RealtimeInClosedLoop) } else { Ok(()) };
        };
        if !self.connection_steps.is_empty() {
            return Err(LoadError::TwoLoops);
        }
        let may_be_zero = matches!(rate, Rate::Ramp(_)) && rate.highest() > 0.0;
        let levels = rate.levels();
        let wrong =
            |level: &f64| !(0.0..=RATE_LIMIT).contains(level) || (*level == 0.0 && !may_be_zero);
        match levels.iter().copied().find(wrong) {
            Some(level) => Err(LoadError::Rate(level)),
            None if levels.is_empty() => Err(LoadError::Rate(0.0)),
            None => Ok(()),
        }
    }

    fn check_patience(&self, spec: &RunSpec) -> Result<(), SpecError> {
        let error = match self.patience_ms {
            None if self.retries > 0 => LoadError::RetriesWithoutPatience,
            None => return Ok(()),
            Some(0) => return Err(SpecError::Zero { field: "load.patience_ms" }),
            Some(_) if self.rate.is_none() => LoadError::PatienceInClosedLoop,
            Some(_) if matches!(spec.stop, Stop::Count(_)) => LoadError::CountOfPatience,
            Some(_) if self.retries > RETRIES_LIMIT => LoadError::TooManyRetries(self.retries),
            Some(_) => return Ok(()),
        };
        Err(error.into())
    }

    fn check_steps(&self, spec: &RunSpec) -> Result<(), LoadError> {
        let count = self.steps();
        if count > STEPS_LIMIT {
            return Err(LoadError::TooManySteps(count));
        }
        let is_stepped =
            matches!(self.rate, Some(Rate::Steps(_))) || !self.connection_steps.is_empty();
        if is_stepped && matches!(spec.stop, Stop::Count(_)) {
            return Err(LoadError::CountOfSteps);
        }
        let steps = &self.connection_steps;
        if steps.iter().any(|step| !(1..=spec.connections).contains(step)) {
            return Err(LoadError::Step(spec.connections));
        }
        let endless = spec.requests_per_connection == RequestsPerConnection::Unlimited;
        if endless && !steps.is_sorted() { Err(LoadError::FallingSteps) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a specification of four connections with this `load` part and these other fields.
    fn check(load: &str, rest: &str) -> Result<(), String> {
        let json =
            format!(r#"{{"url":"https://localhost/","connections":4,"load":{load},{rest}}}"#);
        let spec: RunSpec = serde_json::from_str(&json).map_err(|e| e.to_string())?;
        spec.checked().map(|_| ()).map_err(|e| e.to_string())
    }

    const SECOND: &str = r#""stop":{"duration_ms":1000}"#;

    #[test]
    fn rates_are_positive_and_bounded() {
        for good in [
            r#"{"rate":{"constant":0.5}}"#,
            r#"{"rate":{"ramp":{"from":0,"to":500,"over_ms":1000}}}"#,
            r#"{"rate":{"steps":[100,200]},"arrivals":"poisson","seed":7}"#,
            r#"{"rate":{"constant":5},"patience_ms":8000,"retries":10}"#,
        ] {
            assert_eq!(check(good, SECOND), Ok(()), "{good}");
        }
        for wrong in [
            r#"{"rate":{"constant":0}}"#,
            r#"{"rate":{"constant":-1}}"#,
            r#"{"rate":{"constant":1e9}}"#,
            r#"{"rate":{"steps":[]}}"#,
            r#"{"rate":{"steps":[5,0]}}"#,
            r#"{"rate":{"ramp":{"from":0,"to":0,"over_ms":5}}}"#,
        ] {
            let error = check(wrong, SECOND).unwrap_err();
            assert!(error.contains("must be above 0"), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let count = r#""stop":{"count":5}"#;
        let endless = r#""stop":{"duration_ms":1000},"requests_per_connection":"unlimited""#;
        let ramp = |ms: u64| format!(r#"{{"rate":{{"ramp":{{"from":1,"to":2,"over_ms":{ms}}}}}}}"#);
        let many = format!(r#"{{"connection_steps":{:?}}}"#, [1; 33]);
        for (load, rest, words) in [
            (r#"{"rate":{"steps":[1,2]}}"#, count, "ends by time"),
            (r#"{"connection_steps":[1,2]}"#, count, "ends by time"),
            (r#"{"connection_steps":[1,5]}"#, SECOND, "from 1 to connections (4)"),
            (r#"{"open_within_ms":1}"#, SECOND, "needs unlimited requests"),
            (r#"{"open_within_ms":1,"connection_steps":[1,2]}"#, endless, "no steps"),
            (r#"{"open_within_ms":99}"#, endless, "at least 100"),
            (r#"{"realtime":true}"#, SECOND, "realtime needs a rate"),
            (r#"{"connection_steps":[0,4]}"#, SECOND, "from 1 to connections (4)"),
            (r#"{"connection_steps":[2,1]}"#, endless, "must rise"),
            (r#"{"connection_steps":[2],"rate":{"constant":1}}"#, SECOND, "exclude each other"),
            (r#"{"rate":{"constant":1}}"#, endless, "closed loop"),
            (r#"{"think_us":5}"#, SECOND, "several requests"),
            (r#"{"patience_ms":5}"#, SECOND, "patience needs a rate"),
            (r#"{"rate":{"constant":1},"patience_ms":0}"#, SECOND, "at least 1"),
            (r#"{"rate":{"constant":1},"patience_ms":1}"#, count, "ends by time"),
            (r#"{"rate":{"constant":1},"retries":1}"#, SECOND, "retries need patience"),
            (r#"{"rate":{"constant":1},"patience_ms":1,"retries":11}"#, SECOND, "10 at most"),
            (&many, SECOND, "32 at most"),
            (&ramp(0), SECOND, "over_ms must be at least 1"),
            (&ramp(u64::MAX), SECOND, "over_ms must not be longer"),
        ] {
            let error = check(load, rest).unwrap_err();
            assert!(error.contains(words), "{load}: {error}");
        }
    }

    #[test]
    fn a_run_in_steps_has_as_many_as_levels() {
        let steps = |load: &str| serde_json::from_str::<LoadSpec>(load).unwrap().steps();
        assert_eq!(steps("{}"), 1);
        assert_eq!(steps(r#"{"connection_steps":[1,2,4]}"#), 3);
        assert_eq!(steps(r#"{"rate":{"steps":[1,2]}}"#), 2);
        assert_eq!(steps(r#"{"rate":{"constant":1}}"#), 1);
    }
}

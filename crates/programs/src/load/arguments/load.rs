//! The flags for the load over time, and for reports on it.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tlslab_contract::spec::load::{ArrivalProcess, LoadSpec, Ramp, Rate};

use crate::load::fail_if::Condition;
use crate::load::problem::Problem;
use crate::values::{milliseconds, per_second, time};

/// The highest number of connections in a trace. Each takes 72 bytes of memory during the run.
const TRACE_LIMIT: u32 = 1_000_000;

/// How load is made over time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArguments {
    /// Connections in flight; in steps of equal length: 1,2,4,8. With --rate: their limit
    /// [default: 32 for each worker thread; with --rate the arrivals of a second, 32 at least]
    #[arg(short, long, value_parser = connections, value_name = "N[,N...]")]
    pub connections: Option<Connections>,

    /// Open loop: new connections per second, whether or not earlier ones have ended: 500 or 500/s;
    /// steps 100,200,400; a ramp 100..5000 over 30s (also: --rate 100..5000 --over 30s)
    #[arg(long, value_name = "R|R,R...|A..B over TIME")]
    rate: Option<String>,

    /// Length of the ramp [default: the whole measurement]
    #[arg(long, value_parser = time, value_name = "TIME", requires = "rate")]
    over: Option<Duration>,

    /// Arrival process of the open loop: connections are evenly spaced (constant), or random, like
    /// those of many independent clients (poisson)
    #[arg(long, value_enum, default_value = "constant", value_name = "PROCESS", requires = "rate")]
    arrivals: Process,

    /// Open loop: how long a user waits for a complete answer, since the arrival. The user then
    /// closes the connection, which counts as abandoned, not as failed
    #[arg(long, value_parser = time, value_name = "TIME", requires = "rate")]
    patience: Option<Duration>,

    /// How often a user comes back, at once, after an abandoned or failed connection: 10 at most
    #[arg(long, default_value_t = 0, value_name = "N", requires = "patience")]
    retries: u32,

    /// Run the workers with real-time priority (SCHED_FIFO), so that no other program on their
    /// processors delays an arrival; needs root, and processors that the server does not use
    #[arg(long, requires = "rate")]
    realtime: bool,

    /// Seed of --arrivals poisson and of the order of several URLs
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Length of each step, instead of an equal part of --duration
    #[arg(long, value_parser = time, value_name = "TIME",
        conflicts_with_all = ["duration", "count"])]
    step: Option<Duration>,

    /// With unlimited requests: time in which all connections must open. The warm-up starts when
    /// all are open; with 0s it starts at once
    #[arg(long, value_parser = time, default_value = "0s", value_name = "TIME")]
    open_within: Duration,

    /// Think time: pause between a response and the next request on the same connection
    #[arg(long, value_parser = time, default_value = "0s", value_name = "TIME")]
    think: Duration,

    /// Write the times of each measured connection, one million at most, to this file, as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<String>,

    /// End with exit code 1 if this holds: p99>50ms (also p50, p90, p95, p999, mean), rate<1000
    /// (connections/s), requests<5000 (requests/s), failed>0 or failed>1% (repeatable). Times are
    /// service times, with --rate response times
    #[arg(long, value_name = "CONDITION", help_heading = "Output",
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema"])]
    pub fail_if: Vec<Condition>,

    /// Print one line per second to standard error, also with --json
    #[arg(long, conflicts_with = "events", help_heading = "Output")]
    pub progress: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Process {
    Constant,
    Poisson,
}

/// Connections in flight: one number, or one for each step.
#[derive(Debug, Clone)]
pub struct Connections(Vec<u32>);

impl Connections {
    /// The highest number in flight over all steps.
    pub fn most(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(1)
    }

    fn steps(&self) -> Vec<u32> {
        if self.0.len() > 1 { self.0.clone() } else { Vec::new() }
    }
}

impl LoadArguments {
    /// The part of the specification that these flags set. `measure` is the length of the
    /// measurement, if given.
    pub fn spec(&self, measure: Option<Duration>) -> Result<LoadSpec, Problem> {
        let rate = self.rate.as_deref().map(|words| rate(words, self.over, measure)).transpose();
        Ok(LoadSpec {
            rate: rate.map_err(Problem::usage)?,
            arrivals: match self.arrivals {
                Process::Constant => ArrivalProcess::Constant,
                Process::Poisson => ArrivalProcess::Poisson,
            },
            realtime: self.realtime,
            seed: self.seed,
            connection_steps: self.connections.as_ref().map(Connections::steps).unwrap_or_default(),
            open_within_ms: milliseconds(self.open_within),
            patience_ms: self.patience.map(milliseconds),
            retries: self.retries,
            think_us: u64::try_from(self.think.as_micros()).unwrap_or(u64::MAX),
            trace: 0,
        })
    }

    /// The length of the measurement by these flags: that of the ramp, or of all steps.
    pub fn length(&self, load: &LoadSpec) -> Result<Option<Duration>, Problem> {
        match (self.step, &load.rate) {
            (Some(_), _) if load.steps() == 1 => {
                Err(Problem::usage("--step needs --rate or --connections in steps".to_owned()))
            }
            (Some(step), _) => Ok(Some(step * load.steps() as u32)),
            (None, Some(Rate::Ramp(ramp))) => Ok(Some(Duration::from_millis(ramp.over_ms))),
            (None, _) => Ok(None),
        }
    }

    /// Adds the number of traced connections, also to a specification from JSON.
    pub fn complete(&self, load: &mut LoadSpec) {
        if self.trace.is_some() && load.trace == 0 {
            load.trace = TRACE_LIMIT;
        }
    }
}

/// The command line with the words of `--rate A..B over TIME` joined to one value, so that the user
/// need not quote them.
pub fn with_ramp_joined(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let is_rate = |at: usize| {
        words[at - 1].to_string_lossy().starts_with("--rate=")
            || at > 1 && words[at - 2] == "--rate"
    };
    if let Some(over) = words.iter().position(|word| word == "over")
        && over > 0
        && over + 1 < words.len()
        && is_rate(over)
    {
        for word in words.drain(over..=over + 1).collect::<Vec<_>>() {
            words[over - 1].push(" ");
            words[over - 1].push(word);
        }
    }
    words
}

/// The default length of a ramp if the measurement has no length, either.
const RAMP: Duration = Duration::from_secs(10);

fn rate(words: &str, over: Option<Duration>, measure: Option<Duration>) -> Result<Rate, String> {
    let wanted =
        || format!("'{words}' is not a rate; write 500/s, 100,200,400 or '100..5000 over 30s'");
    let number = |text: &str| per_second(text).ok_or_else(wanted);
    let (rates, length) = match words.split_once(" over ") {
        Some((rates, length)) => (rates, Some(time(length.trim())?)),
        None => (words, None),
    };
    if let Some((from, to)) = rates.split_once("..") {
        let over = length.or(over).or(measure).unwrap_or(RAMP);
        let over_ms = milliseconds(over);
        return Ok(Rate::Ramp(Ramp { from: number(from)?, to: number(to)?, over_ms }));
    }
    if length.or(over).is_some() {
        return Err(format!("'{words}' is no ramp; write '100..5000 over 30s'"));
    }
    let mut levels = rates.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(if levels.len() == 1 { Rate::Constant(levels.remove(0)) } else { Rate::Steps(levels) })
}

fn connections(text: &str) -> Result<Connections, String> {
    let wanted =
        || format!("'{text}' is not a number of connections; write 8, or in steps 1,2,4,8");
    let numbers: Result<Vec<u32>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    numbers.map(Connections).map_err(|_| wanted())
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use clap::Parser as _;
    use tlslab_contract::spec::{RunSpec, Stop};

    fn spec(flags: &[&str]) -> Result<RunSpec, String> {
        let all = [&["tlslab-load"], flags, &["https://localhost/"]].concat();
        let words = with_ramp_joined(all.into_iter().map(OsString::from));
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        arguments.spec().map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn rates_are_constant_stepped_or_ramped() {
        let rate = |flags: &[&str]| {
            let spec = spec(flags).unwrap();
            (spec.load.rate.unwrap(), spec.stop)
        };
        let ramp = |over_ms| Rate::Ramp(Ramp { from: 100.0, to: 5000.0, over_ms });
        let second = |s: u64| Stop::DurationMs(s * 1000);
        assert_eq!(rate(&["--rate", "2.5"]), (Rate::Constant(2.5), second(10)));
        assert_eq!(rate(&["--rate", "500/s"]), (Rate::Constant(500.0), second(10)));
        assert_eq!(rate(&["--rate", "5k/s"]), (Rate::Constant(5000.0), second(10)));
        assert_eq!(
            rate(&["--rate", "100/s..5k/s", "over", "30s", "-c", "9"]),
            (ramp(30_000), second(30))
        );
        assert_eq!(
            rate(&["--rate", "100/s,200/s", "-d", "4s"]),
            (Rate::Steps(vec![100.0, 200.0]), second(4))
        );
        assert_eq!(
            rate(&["--rate", "100..5000", "over", "30s", "-c", "9"]),
            (ramp(30_000), second(30))
        );
        assert_eq!(
            rate(&["--rate", "100..5000 over 30s", "-d", "60s"]),
            (ramp(30_000), second(60))
        );
        assert_eq!(rate(&["--rate=100..5000", "over", "30s"]), (ramp(30_000), second(30)));
        assert_eq!(rate(&["--rate", "100..5000", "--over", "5s"]), (ramp(5_000), second(5)));
        assert_eq!(rate(&["--rate", "100..5000", "-d", "7s"]), (ramp(7_000), second(7)));
        let steps = Rate::Steps(vec![100.0, 200.0, 400.0]);
        assert_eq!(rate(&["--rate", "100,200,400", "--step", "5s"]), (steps.clone(), second(15)));
        assert_eq!(rate(&["--rate", "100,200,400", "-d", "6s"]), (steps, second(6)));
    }

    #[test]
    fn connections_come_in_steps() {
        let stepped = spec(&["-c", "1,2,4,8", "--step", "500ms", "--think", "1.5ms"]).unwrap();
        assert_eq!((stepped.connections, stepped.load.connection_steps), (8, vec![1, 2, 4, 8]));
        assert_eq!((stepped.stop, stepped.load.think_us), (Stop::DurationMs(2_000), 1_500));
        let plain = spec(&["-c", "8"]).unwrap();
        assert_eq!((plain.connections, plain.load), (8, LoadSpec::default()));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for (flags, words) in [
            (&["--rate", "fast"][..], "is not a rate"),
            (&["--rate", "5/m"], "is not a rate"),
            (&["--rate", "/s"], "is not a rate"),
            (&["--rate", "5..", "over", "3s"], "is not a rate"),
            (&["--rate", "5..9", "over", "soon"], "is not a time"),
            (&["--rate", "5", "--over", "3s"], "is no ramp"),
            (&["--rate", "5", "--step", "3s"], "--step needs"),
            (&["--step", "3s"], "--step needs"),
            (&["--arrivals", "poisson"], "--rate"),
            (&["--patience", "8s"], "--rate"),
            (&["--rate", "5", "--retries", "1"], "--patience"),
            (&["-c", "1,x"], "is not a number of connections"),
            (&["-c", "1,2", "--step", "1s", "-n", "5"], "cannot be used with"),
        ] {
            let error = spec(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
    }
}

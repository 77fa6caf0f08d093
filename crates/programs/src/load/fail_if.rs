//! `--fail-if`: conditions on the figures of a run under which the run fails.

use std::str::FromStr;

use tlslab_contract::record::{RunRecord, Summary};
use tlslab_wire::wording::{counted, decimal, grouped};

use super::summary::main_time;
use crate::values::per_second;

/// The forms of a condition, for the error of a malformed one.
const FORMS: &str = "p99>50ms, mean>2ms, rate<1000, requests<5000, failed>0 or failed>1%";

/// A figure of the times: its name, the lowest number of values that it needs, and its value.
type TimeFigure = (&'static str, u64, fn(&Summary) -> f64);

/// A quantile of too few values has no upper bound: [`super::summary`] leaves these out, too.
const TIMES: [TimeFigure; 7] = [
    ("p50", 16, |times| times.p50_ms),
    ("p90", 80, |times| times.p90_ms),
    ("p95", 160, |times| times.p95_ms),
    ("p99", 800, |times| times.p99_ms),
    ("p999", 8_000, |times| times.p999_ms),
    ("p99.9", 8_000, |times| times.p999_ms),
    ("mean", 1, |times| times.mean_ms),
];

#[derive(Debug, Clone, Copy)]
enum Figure {
    /// A figure of the times, in milliseconds.
    Time(TimeFigure),
    /// Completed connections per second.
    Rate,
    /// Answered requests per second.
    Requests,
    /// Connections that neither completed nor were abandoned.
    Failed,
    /// Their percentage among the connections that ended.
    FailedPercent,
}

/// A figure and the bound that it must not exceed (`>`) or fall below (`<`).
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    figure: Figure,
    is_upper: bool,
    bound: f64,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is no condition; write {FORMS}");
        let place = text.find(['<', '>']).ok_or_else(wanted)?;
        let (name, bound) = (text[..place].trim(), text[place + 1..].trim());
        let (figure, bound) = match name {
            "rate" => (Figure::Rate, per_second(bound)),
            "requests" => (Figure::Requests, per_second(bound)),
            "failed" => match bound.strip_suffix('%') {
                Some(percent) => (Figure::FailedPercent, percent.trim().parse().ok()),
                None => (Figure::Failed, bound.parse().ok()),
            },
            _ => {
                let time = TIMES.into_iter().find(|(known, ..)| *known == name);
                (Figure::Time(time.ok_or_else(wanted)?), milliseconds(bound))
            }
        };
        let bound = bound.filter(|bound| bound.is_finite() && *bound >= 0.0).ok_or_else(wanted)?;
        let is_upper = text[place..].starts_with('>');
        Ok(Self { text: text.to_owned(), figure, is_upper, bound })
    }
}

/// A time with its unit, in milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("µs", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let parts = units.iter().find_map(|(unit, ms)| Some((text.strip_suffix(unit)?, ms)));
    parts.and_then(|(number, ms)| Some(number.trim().parse::<f64>().ok()? * ms))
}

impl Condition {
    /// The line that says why a run with this record fails; `None` if the condition does not hold.
    /// A condition on a figure that the run does not give holds.
    pub fn failure(&self, record: &RunRecord) -> Option<String> {
        let words = match self.value(record) {
            Ok((value, words)) => {
                let holds = if self.is_upper { value > self.bound } else { value < self.bound };
                holds.then_some(words)?
            }
            Err(lacking) => lacking,
        };
        Some(format!("--fail-if '{}': {words}", self.text))
    }

    /// The value of the figure, with the words for it; or why there is none.
    fn value(&self, record: &RunRecord) -> Result<(f64, String), String> {
        let rate = |number: u64, name: &str| {
            let words = |rate: f64| (rate, format!("{} {name}/s", decimal(rate, 1)));
            let rate = (record.seconds > 0.0).then(|| number as f64 / record.seconds);
            rate.map(words).ok_or_else(|| "nothing was measured".to_owned())
        };
        let ended = record.outcomes.ended();
        let (failed, abandoned) = (record.outcomes.troubled(), record.outcomes.abandoned);
        let apart = match abandoned {
            0 => String::new(),
            _ => format!(", {} abandoned not counted", grouped(abandoned)),
        };
        let percent = 100.0 * failed as f64 / ended.max(1) as f64;
        let share = format!(
            "{} of {} ({} %) did not complete{apart}",
            grouped(failed),
            counted(ended, "connection"),
            decimal(percent, 2)
        );
        match self.figure {
            Figure::Time(figure) => time(figure, record),
            Figure::Rate => rate(record.outcomes.completed, "connections"),
            Figure::Requests => rate(record.requests, "requests"),
            Figure::Failed => Ok((failed as f64, share)),
            Figure::FailedPercent => Ok((percent, share)),
        }
    }
}

/// The value of a figure of the times, with the words for it; or why there is none.
fn time((name, needed, of): TimeFigure, record: &RunRecord) -> Result<(f64, String), String> {
    let kind = main_time(&record.spec);
    let times = record.load_summary(kind).unwrap_or_default();
    if times.n < needed {
        let (needed, n) = (grouped(needed), counted(times.n, "value"));
        return Err(format!("{name} of the {kind} times needs {needed} values and has {n}"));
    }
    let value = of(&times);
    Ok((value, format!("{name} of the {kind} times was {} ms", decimal(value, 3))))
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::empty;
    use super::*;

    /// Two seconds: 1,000 connections of which 20 failed, 4,900 requests, and these service times.
    fn record(n: u64) -> RunRecord {
        let mut record = empty();
        record.seconds = 2.0;
        (record.outcomes.attempts, record.outcomes.completed) = (1_000, 980);
        record.outcomes.failed.insert("reset".to_owned(), 20);
        record.requests = 4_900;
        let times = Summary { n, mean_ms: 2.0, p50_ms: 1.0, p99_ms: 62.31, ..Summary::default() };
        record.summaries.insert("service".to_owned(), times);
        record
    }

    fn failure(condition: &str, record: &RunRecord) -> Option<String> {
        let found = condition.parse::<Condition>().unwrap().failure(record)?;
        Some(found.strip_prefix(&format!("--fail-if '{condition}': ")).unwrap().to_owned())
    }

    #[test]
    fn a_condition_that_holds_has_a_line_with_the_value() {
        let record = record(980);
        let failed = "20 of 1,000 connections (2.00 %) did not complete";
        for (condition, line) in [
            ("p99>50ms", "p99 of the service times was 62.310 ms"),
            ("p99>0.05s", "p99 of the service times was 62.310 ms"),
            ("p50 < 1500us", "p50 of the service times was 1.000 ms"),
            ("mean>1ms", "mean of the service times was 2.000 ms"),
            ("rate<500", "490.0 connections/s"),
            ("requests<3k/s", "2,450.0 requests/s"),
            ("failed>0", failed),
            ("failed>1%", failed),
            ("failed > 1.9 %", failed),
        ] {
            assert_eq!(failure(condition, &record).as_deref(), Some(line), "{condition}");
        }
        for condition in
            ["p99>62.31ms", "p50<1ms", "rate<490", "requests>2450/s", "failed>20", "failed>2%"]
        {
            assert_eq!(failure(condition, &record), None, "{condition}");
        }
    }

    #[test]
    fn a_figure_of_too_few_values_fails_the_run() {
        let line = "p99 of the service times needs 800 values and has 799 values";
        assert_eq!(failure("p99>9s", &record(799)).as_deref(), Some(line));
        assert!(failure("mean>9s", &record(0)).is_some());
        let nothing = RunRecord { seconds: 0.0, ..record(0) };
        assert_eq!(failure("rate<1", &nothing).as_deref(), Some("nothing was measured"));
    }

    #[test]
    fn times_are_those_of_the_loop() {
        let mut record = record(980);
        record.summaries.insert("response".to_owned(), Summary { n: 1, ..Summary::default() });
        record.spec.load.rate = Some(tlslab_contract::spec::load::Rate::Constant(5.0));
        let line = failure("p50>9s", &record).unwrap();
        assert_eq!(line, "p50 of the response times needs 16 values and has 1 value");
    }

    #[test]
    fn what_is_no_condition_is_refused_with_the_forms() {
        for wrong in [
            "",
            "p99",
            "p99>",
            "p99>50",
            "p99=50ms",
            "p99>=50ms",
            "p98>5ms",
            ">5ms",
            "p99>-5ms",
            "p99>infs",
            "rate<fast",
            "rate<5ms",
            "failed>NaN",
            "failed>1%%",
            "requests>5%",
        ] {
            let error = wrong.parse::<Condition>().unwrap_err();
            assert_eq!(error, format!("'{wrong}' is no condition; write {FORMS}"));
        }
    }
}

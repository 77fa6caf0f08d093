//! The default of --connections: enough connections to saturate a server on this machine or nearby.

use tlslab_contract::spec::load::{LoadSpec, Rate};
use tlslab_system::files;
use tlslab_wire::wording::plain;

/// Connections for each worker. Their worker computes while the others wait for the server; 16 keep
/// both busy on one machine, and the rest leaves room for a server that is some milliseconds away.
const EACH: u32 = 32;

/// The highest default. From each source address, 28,000 connections at once are possible.
const MOST: u64 = 10_000;

/// A number of connections, and how it results.
#[derive(Debug, PartialEq, Eq)]
pub struct DefaultConnections {
    /// The number.
    pub number: u32,
    /// The reason: `default: 32 for each of 2 workers`.
    pub words: String,
}

impl DefaultConnections {
    /// The default for this number of workers and connections to measure, within the limit of open
    /// files.
    pub fn new(threads: u32, load: &LoadSpec, count: Option<u64>) -> Self {
        // Without an answer, the check before the run reports the error.
        let files = files::granted().unwrap_or(u64::MAX);
        Self::within(files.saturating_sub(files::needed(0, threads)), threads, load, count)
    }

    fn within(limit: u64, threads: u32, load: &LoadSpec, count: Option<u64>) -> Self {
        let of_workers = u64::from(EACH) * u64::from(threads);
        let wait_s = load.patience_ms.map_or(1.0, |ms| (ms as f64 / 1e3).max(1.0));
        let (wanted, words) = match load.rate.as_ref().map(Rate::highest) {
            // By default, users give up on a server whose responses take longer than a second.
            Some(rate) if rate * wait_s > of_workers as f64 => {
                let time = if wait_s == 1.0 { "one second" } else { "the patience" };
                let words = format!("the arrivals of {time} at {}/s", plain(rate));
                ((rate * wait_s).ceil() as u64, words)
            }
            _ if threads == 1 => (of_workers, format!("{EACH} for each worker")),
            _ => (of_workers, format!("{EACH} for each of {threads} workers")),
        };
        let bounds = [
            (count.unwrap_or(u64::MAX), "as many as --count"),
            (limit, "as many as the limit of open files allows"),
            (MOST, "10,000 at most"),
        ];
        let lowest = bounds.into_iter().min_by_key(|(bound, _)| *bound);
        let (number, words) = match lowest {
            Some((bound, name)) if bound < wanted => (bound, name.to_owned()),
            _ => (wanted, words),
        };
        // Each worker needs a connection. Without enough files the check before the run fails.
        let number = u32::try_from(number).unwrap_or(u32::MAX).max(threads).max(1);
        Self { number, words: format!("default: {words}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_contract::spec::load::Ramp;

    fn default(threads: u32, rate: Option<Rate>, count: Option<u64>) -> (u32, String) {
        let load = LoadSpec { rate, ..LoadSpec::default() };
        let DefaultConnections { number, words } =
            DefaultConnections::within(5_000, threads, &load, count);
        (number, words.trim_start_matches("default: ").to_owned())
    }

    #[test]
    fn each_worker_has_enough_to_be_busy() {
        assert_eq!(default(1, None, None), (32, "32 for each worker".to_owned()));
        assert_eq!(default(2, None, None), (64, "32 for each of 2 workers".to_owned()));
    }

    #[test]
    fn an_open_loop_has_room_for_the_arrivals_of_a_second() {
        let arrivals = "the arrivals of one second at 500/s".to_owned();
        assert_eq!(default(2, Some(Rate::Constant(500.0)), None), (500, arrivals.clone()));
        let ramp = Rate::Ramp(Ramp { from: 500.0, to: 1.0, over_ms: 1 });
        assert_eq!(default(2, Some(ramp), None), (500, arrivals));
        assert_eq!(default(2, Some(Rate::Constant(63.5)), None).0, 64);
        let rate = Some(Rate::Constant(100.0));
        let load = LoadSpec { rate, patience_ms: Some(8_000), ..LoadSpec::default() };
        let patient = DefaultConnections::within(5_000, 2, &load, None);
        let words = "default: the arrivals of the patience at 100/s".to_owned();
        assert_eq!(patient, DefaultConnections { number: 800, words });
    }

    #[test]
    fn there_are_no_more_than_are_allowed_or_measured() {
        let files = "as many as the limit of open files allows".to_owned();
        assert_eq!(default(1, Some(Rate::Constant(1e6)), None), (5_000, files));
        assert_eq!(default(2, None, Some(8)), (8, "as many as --count".to_owned()));
        assert_eq!(default(4, None, Some(1)).0, 4);
        let fast = LoadSpec { rate: Some(Rate::Constant(1e6)), ..LoadSpec::default() };
        let many = DefaultConnections::within(1 << 20, 1, &fast, None);
        assert_eq!((many.number, &*many.words), (10_000, "default: 10,000 at most"));
    }
}

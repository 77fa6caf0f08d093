//! The time in which all generators were measuring.

use tlslab_contract::record::{CommonWindow, RunRecord, Verdict, VerdictCode};
use tlslab_wire::wording::decimal;

use super::Named;

/// How far a slice may extend beyond the window, in seconds: the resolution of seconds since 1970
/// in a 64-bit floating-point number.
const BLUR_S: f64 = 2e-6;

/// The share of the shortest measurement that all measurements must have in common. With less, the
/// server's load was never the sum of the generators' rates.
const TOGETHER: f64 = 0.9;

/// How far starts may be apart without a note, in seconds: the precision to which round trips in a
/// local network determine clocks.
const SKEW_LIMIT_S: f64 = 0.001;

/// The common window, and the connections that were completed in slices inside it; `None` if a
/// record has no start time.
pub fn common_window<'r>(
    records: impl Iterator<Item = &'r RunRecord> + Clone,
) -> Option<CommonWindow> {
    let (mut earliest, mut from, mut to) = (f64::MAX, f64::MIN, f64::MAX);
    for record in records.clone() {
        let start = record.started?.unix_s;
        earliest = earliest.min(start);
        from = from.max(start);
        to = to.min(start + length(record));
    }
    let (mut completed, mut connections_per_s) = (0, Some(0.0));
    for record in records {
        let start = record.started?.unix_s;
        let is_inside = |at_s: f64, seconds: f64| {
            start + at_s >= from - BLUR_S && start + at_s + seconds <= to + BLUR_S
        };
        let inside = record.intervals.iter().filter(|each| is_inside(each.at_s, each.seconds));
        let (mut number, mut seconds) = (0, 0.0);
        for slice in inside {
            number += slice.completed;
            seconds += slice.seconds;
        }
        completed += number;
        let rate = (seconds > 0.0).then(|| number as f64 / seconds);
        connections_per_s = connections_per_s.zip(rate).map(|(sum, rate)| sum + rate);
    }
    let seconds = (to - from).max(0.0);
    let start_skew_s = from - earliest;
    Some(CommonWindow { from_unix_s: from, seconds, start_skew_s, completed, connections_per_s })
}

/// The verdict on records of different times, or without a start time; `None` if the generators
/// measured together.
pub fn not_simultaneous<'r>(
    records: impl Iterator<Item = &'r RunRecord> + Clone,
) -> Option<Verdict> {
    let shortest = records.clone().map(length).fold(f64::MAX, f64::min);
    let message = match common_window(records) {
        Some(window) if window.seconds >= TOGETHER * shortest => return None,
        Some(window) => format!(
            "the generators measured together for {:.2} s of {shortest:.2} s: start them at the \
             same time; their rates do not add up to a load that the server had",
            window.seconds
        ),
        None => {
            "a record does not say when it was measured (it is of an earlier version): whether \
                 the generators measured at the same time is not known"
                .to_owned()
        }
    };
    Some(Verdict { code: VerdictCode::NotSimultaneous, message })
}

/// The note on generators that measured together although they started apart: the difference, and
/// where to find the rate that does not depend on it. `None` if the note does not apply.
pub fn started_apart(parts: &[Named]) -> Option<String> {
    let records = || parts.iter().map(|part| &part.record);
    if not_simultaneous(records()).is_some() {
        return None;
    }
    let window = common_window(records())?;
    if window.start_skew_s <= SKEW_LIMIT_S {
        return None;
    }
    let begun = |part: &Named| part.record.started.map_or(f64::MIN, |start| start.unix_s);
    let last = parts.iter().max_by(|a, b| begun(a).total_cmp(&begun(b)))?;
    Some(format!(
        "{} began {} ms after the first generator: the rate in the {:.2} s in which all measured \
         is in `common`",
        last.name,
        decimal(window.start_skew_s * 1e3, 1),
        window.seconds
    ))
}

/// The length of a measurement in seconds: the end of its last slice.
fn length(record: &RunRecord) -> f64 {
    record.intervals.last().map_or(record.seconds, |last| last.at_s + last.seconds)
}

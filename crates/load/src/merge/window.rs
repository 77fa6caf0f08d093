//! The time that all generators were measuring.

use tlslab_contract::record::{CommonWindow, RunRecord};

/// How far a slice may reach out of the window: what seconds since 1970 in 64 bits do not tell apart.
const BLUR_S: f64 = 2e-6;

/// The window, and what was completed in the slices that lie in it; none where a record does not say
/// when it began.
pub fn common_window<'r>(
    records: impl Iterator<Item = &'r RunRecord> + Clone,
) -> Option<CommonWindow> {
    let (mut earliest, mut from, mut to) = (f64::MAX, f64::MIN, f64::MAX);
    for record in records.clone() {
        let start = record.started?.unix_s;
        earliest = earliest.min(start);
        from = from.max(start);
        to = to.min(start + record.seconds);
    }
    let (mut completed, mut connections_per_s) = (0, 0.0);
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
        if seconds > 0.0 {
            connections_per_s += number as f64 / seconds;
        }
    }
    let seconds = (to - from).max(0.0);
    let start_skew_s = from - earliest;
    Some(CommonWindow { from_unix_s: from, seconds, start_skew_s, completed, connections_per_s })
}

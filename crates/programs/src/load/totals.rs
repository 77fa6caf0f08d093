//! The running accounting of a measurement, as in events.

use serde_json::{Value, json};
use tlslab_load::watch::{BOUNDS, Buckets, Totals};

/// The accounting as JSON; `docs/reference/events.md` describes it.
pub fn totals_json(totals: &Totals) -> Value {
    let Totals { due, arrivals, completed, failed, unexpected, abandoned, .. } = totals;
    let Totals { requests, in_flight, cpu, times, .. } = totals;
    json!({
        "due": due,
        "arrivals": arrivals,
        "completed": completed,
        "failed": failed,
        "unexpected": unexpected,
        "abandoned": abandoned,
        "requests": requests,
        "in_flight": in_flight,
        "handshake": buckets(&times.handshake),
        "service": buckets(&times.service),
        "response": due.map(|_| buckets(&times.response)),
        "exchange": buckets(&times.exchange),
        "cpu": cpu,
    })
}

fn buckets(buckets: &Buckets) -> Value {
    json!({
        "bounds_s": BOUNDS.map(seconds),
        "counts": buckets.counts,
        "sum_s": seconds(buckets.sum),
        "count": buckets.count(),
    })
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_closed_loop_does_not_have_is_null() {
        let mut totals = Totals { arrivals: 3, completed: 1, in_flight: 1, ..Totals::default() };
        totals.failed.insert("reset".to_owned(), 1);
        totals.times.service.note(2_000_000);
        let value = totals_json(&totals);
        assert_eq!((&value["arrivals"], &value["failed"]["reset"]), (&json!(3), &json!(1)));
        assert_eq!((&value["response"], &value["due"]), (&Value::Null, &Value::Null));
        assert_eq!(value["cpu"]["user_us"], 0);
        let service = &value["service"];
        assert_eq!((&service["sum_s"], &service["count"]), (&json!(0.002), &json!(1)));
        assert_eq!((&service["bounds_s"][4], &service["counts"][4]), (&json!(0.0025), &json!(1)));
        totals.due = Some(5);
        totals.times.response.note(1);
        assert_eq!(totals_json(&totals)["response"]["counts"][0], 1);
    }
}

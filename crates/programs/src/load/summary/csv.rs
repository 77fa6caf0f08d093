//! The figures of a record, one per line, for spreadsheets.

use std::borrow::Cow;
use std::fmt::Write as _;

use tlslab_contract::record::{CLIENTS, HISTOGRAMS, OPEN_HISTOGRAMS, RunRecord, Summary};

use tlslab_wire::outcome::ABANDONED;

use super::tables::quantiles;
use crate::load::server::{ServerUsage, TICK_US};

/// Lines of `figure,unit,value`. The value is empty for a figure that was not measured.
pub fn csv(record: &RunRecord, server: Option<&ServerUsage>) -> String {
    let mut lines = Lines("figure,unit,value\n".to_owned());
    let rate = |number: u64| {
        (record.seconds > 0.0).then(|| format!("{:.3}", number as f64 / record.seconds))
    };
    let outcomes = &record.outcomes;
    lines.add("measurement", "s", Some(format!("{:.6}", record.seconds)));
    lines.add("connections_per_s", "1/s", rate(outcomes.completed));
    lines.add("requests_per_s", "1/s", rate(record.requests));
    lines.count("connections", outcomes.completed);
    lines.count("requests", record.requests);
    lines.add("responses.head", "B", Some(record.bytes.head.to_string()));
    lines.add("responses.body", "B", Some(record.bytes.body.to_string()));
    lines.add("responses_per_s", "B/s", rate(record.bytes.head + record.bytes.body));
    for (status, number) in &record.statuses {
        lines.count(&format!("status.{status}"), *number);
    }
    urls(record, &mut lines);
    troubles(record, &mut lines);
    latencies(record, &mut lines);
    lines.add("generator.user", "us", Some(record.cpu.user_us.to_string()));
    lines.add("generator.system", "us", Some(record.cpu.system_us.to_string()));
    let ticks = server.map(|usage| usage.ticks);
    lines.add("server.user", "us", ticks.map(|(user, _)| (user * TICK_US).to_string()));
    lines.add("server.system", "us", ticks.map(|(_, system)| (system * TICK_US).to_string()));
    let verdicts: Vec<_> = record.verdicts.iter().map(|verdict| name(verdict.code)).collect();
    lines.add("verdict", "", Some(verdicts.join(" ")));
    lines.0
}

/// The requests of each of several URLs, in the order of the specification.
fn urls(record: &RunRecord, lines: &mut Lines) {
    for (url, place) in record.urls.iter().zip(1..) {
        let figure = format!("url.{place}");
        lines.add(&figure, "", Some(url.path.clone()));
        lines.count(&format!("{figure}.requests"), url.requests);
        lines.count(&format!("{figure}.failed"), url.failed);
        if let Some(times) = &url.exchange {
            lines.times(&format!("{figure}.exchange"), times);
        }
    }
}

/// Failures by class, and unexpected handshakes by the fact that differed, each with its reasons;
/// with patience, what became of the users.
fn troubles(record: &RunRecord, lines: &mut Lines) {
    let outcomes = &record.outcomes;
    for (kind, counts) in [("failed", &outcomes.failed), ("unexpected", &outcomes.unexpected)] {
        for (class, number) in counts {
            lines.count(&format!("{kind}.{class}"), *number);
            for (place, counted) in outcomes.reasons_of(class).enumerate() {
                let figure = format!("{kind}.{class}.reason.{}", place + 1);
                lines.add(&figure, "", Some(counted.reason.clone()));
                lines.count(&format!("{figure}.connections"), counted.count);
            }
        }
    }
    let Some(users) = record.open_loop.and_then(|open_loop| open_loop.users) else { return };
    lines.count(ABANDONED, outcomes.abandoned);
    for (figure, number) in [
        ("arrived", users.arrived),
        ("answered_at_first", users.answered_at_first),
        ("answered_after_retry", users.answered_after_retry),
        ("gave_up", users.gave_up),
        ("left_waiting", users.left_waiting),
        ("failed", users.failed),
        ("unfinished", users.unfinished),
        ("retries", users.retries),
    ] {
        lines.count(&format!("users.{figure}"), number);
    }
}

/// The times in the text summary, then those of the other client, if two clients made connections.
fn latencies(record: &RunRecord, lines: &mut Lines) {
    let only = CLIENTS[usize::from(record.minimal_client > 0)];
    let shown = record.load_client().map_or(only, |(client, _)| client);
    lines.add("latencies.client", "", Some(shown.to_owned()));
    for name in HISTOGRAMS.iter().chain(&OPEN_HISTOGRAMS) {
        if let Some(summary) = record.load_summary(name) {
            lines.times(name, &summary);
        }
    }
    for (client, times) in record.clients.iter().filter(|(client, _)| *client != shown) {
        lines.count(&format!("clients.{client}.connections"), times.connections);
        for name in HISTOGRAMS.iter().chain(&OPEN_HISTOGRAMS) {
            if let Some(summary) = times.summaries.get(*name) {
                lines.times(&format!("clients.{client}.{name}"), summary);
            }
        }
    }
}

/// The lines written so far.
struct Lines(String);

impl Lines {
    fn add(&mut self, figure: &str, unit: &str, value: Option<String>) {
        let value = value.unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{},{unit},{}", field(figure), field(&value));
    }

    fn count(&mut self, figure: &str, number: u64) {
        self.add(figure, "1", Some(number.to_string()));
    }

    fn times(&mut self, name: &str, summary: &Summary) {
        self.count(&format!("{name}.n"), summary.n);
        let names = ["p50", "p90", "p99", "p999", "max"];
        for (quantile, value) in names.iter().zip(quantiles(summary)) {
            let value = value.map(|value| format!("{value:.6}"));
            self.add(&format!("{name}.{quantile}"), "ms", value);
        }
    }
}

/// A field, in quotation marks if it contains a delimiter (RFC 4180, section 2).
fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// The code of a verdict, as in the record.
fn name(code: tlslab_contract::record::VerdictCode) -> String {
    let name = serde_json::to_value(code).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

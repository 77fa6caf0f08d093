//! The figures of a record, a line for each, for spreadsheets.

use std::fmt::Write as _;

use tlslab_contract::record::{HISTOGRAMS, OPEN_HISTOGRAMS, RunRecord};

use super::tables::quantiles;
use crate::server::{ServerUsage, TICK_US};

/// `figure,unit,value`, in which a figure that was not measured has no value.
pub fn csv(record: &RunRecord, server: Option<&ServerUsage>) -> String {
    let mut text = "figure,unit,value\n".to_owned();
    let mut line = |figure: &str, unit: &str, value: Option<String>| {
        // Writing to a String cannot fail. No figure's name holds a comma or a quotation mark.
        let _ = writeln!(text, "{figure},{unit},{}", value.unwrap_or_default());
    };
    let rate = |number: u64| {
        (record.seconds > 0.0).then(|| format!("{:.3}", number as f64 / record.seconds))
    };
    let outcomes = &record.outcomes;
    line("measurement", "s", Some(format!("{:.6}", record.seconds)));
    line("connections_per_s", "1/s", rate(outcomes.completed));
    line("requests_per_s", "1/s", rate(record.requests));
    line("connections", "1", Some(outcomes.completed.to_string()));
    line("requests", "1", Some(record.requests.to_string()));
    for (kind, counts) in [("failed", &outcomes.failed), ("unexpected", &outcomes.unexpected)] {
        for (class, number) in counts {
            line(&format!("{kind}.{class}"), "1", Some(number.to_string()));
        }
    }
    for name in HISTOGRAMS.iter().chain(&OPEN_HISTOGRAMS) {
        let Some(summary) = record.summaries.get(*name) else { continue };
        line(&format!("{name}.n"), "1", Some(summary.n.to_string()));
        let names = ["p50", "p90", "p99", "p999", "max"];
        for (quantile, value) in names.iter().zip(quantiles(summary)) {
            line(&format!("{name}.{quantile}"), "ms", value.map(|value| format!("{value:.6}")));
        }
    }
    line("generator.user", "us", Some(record.cpu.user_us.to_string()));
    line("generator.system", "us", Some(record.cpu.system_us.to_string()));
    let ticks = server.map(|usage| usage.ticks);
    line("server.user", "us", ticks.map(|(user, _)| (user * TICK_US).to_string()));
    line("server.system", "us", ticks.map(|(_, system)| (system * TICK_US).to_string()));
    let verdicts: Vec<_> = record.verdicts.iter().map(|verdict| name(verdict.code)).collect();
    line("verdict", "", Some(verdicts.join(" ")));
    text
}

/// A verdict's code, as the record has it.
fn name(code: tlslab_contract::record::VerdictCode) -> String {
    let name = serde_json::to_value(code).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

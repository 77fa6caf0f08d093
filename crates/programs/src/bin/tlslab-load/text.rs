//! A record in short, for people.

use std::fmt::Write as _;

use tlslab_engine::record::{CountedName, HISTOGRAMS, RunRecord};

/// The record in a few lines.
pub fn summary(record: &RunRecord) -> String {
    let mut text = String::new();
    let completed = record.outcomes.completed;
    // A run that was interrupted before its measurement took no time.
    let rate = if record.seconds > 0.0 { completed as f64 / record.seconds } else { 0.0 };
    let per = |us: u64| us as f64 / completed.max(1) as f64;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} by {}, {:.2} s", record.address, record.backend, record.seconds);
    for counted in &record.facts {
        let f = &counted.facts;
        let _ = writeln!(
            text,
            "  {:>9}  TLS {} {} {} {} {}{}",
            counted.count,
            f.tls,
            f.suite,
            f.group,
            f.signature_scheme,
            f.kind,
            if f.client_authenticated { ", client authenticated" } else { "" }
        );
    }
    let _ = writeln!(text, "{completed} connections completed, {rate:.1}/s");
    for (class, count) in record.outcomes.failed.iter().chain(&record.outcomes.unexpected) {
        let _ = writeln!(text, "  {count} {class}");
    }
    for name in &record.server_names {
        let CountedName { name, completed, failed, unexpected } = name;
        let _ =
            writeln!(text, "  {completed:>9}  {name} ({failed} failed, {unexpected} unexpected)");
    }
    let _ = writeln!(
        text,
        "generator: {:.1} us/connection ({:.1} user, {:.1} system)",
        per(record.cpu.total_us()),
        per(record.cpu.user_us),
        per(record.cpu.system_us)
    );
    let _ = writeln!(text, "{:>12}  {:>9} {:>9} {:>9} {:>9}", "ms", "p50", "p90", "p99", "max");
    for name in HISTOGRAMS {
        let s = record.summaries[name];
        let _ = writeln!(
            text,
            "{name:>12}  {:9.3} {:9.3} {:9.3} {:9.3}",
            s.p50_ms, s.p90_ms, s.p99_ms, s.max_ms
        );
    }
    for note in &record.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for verdict in &record.verdicts {
        let _ = writeln!(text, "verdict: {}", verdict.message);
    }
    text
}

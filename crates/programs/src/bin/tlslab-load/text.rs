//! A record in short, for people.

use std::fmt::Write as _;

use tlslab_engine::outcome::Outcomes;
use tlslab_engine::record::{CountedName, HISTOGRAMS, OPEN_HISTOGRAMS, RunRecord, StepResult};

/// The record in a few lines.
pub fn summary(record: &RunRecord) -> String {
    let mut text = String::new();
    let completed = record.outcomes.completed;
    // A run that was interrupted before its measurement took no time.
    let rate = if record.seconds > 0.0 { completed as f64 / record.seconds } else { 0.0 };
    let (each, unit) = match record.requests {
        requests if requests > completed => (requests, "request"),
        _ => (completed, "connection"),
    };
    let per = |us: u64| us as f64 / each.max(1) as f64;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{} by {}, {:.2} s", record.address, record.backend, record.seconds);
    for counted in &record.facts {
        let f = &counted.facts;
        let _ = writeln!(
            text,
            "  {:>9}  TLS {} {} {} {} {}",
            counted.count,
            f.tls,
            f.suite,
            f.group,
            f.signature_scheme,
            f.kind_in_words()
        );
    }
    let _ = writeln!(text, "{completed} connections completed, {rate:.1}/s");
    if record.requests > completed && record.seconds > 0.0 {
        let rate = record.requests as f64 / record.seconds;
        let _ = writeln!(text, "{} requests answered, {rate:.1}/s", record.requests);
    }
    let kinds = &record.kinds;
    if kinds.resumed > 0 {
        let share = kinds.resumed_share() * 100.0;
        let _ = writeln!(text, "  {} resumed ({share:.2} %), {} full", kinds.resumed, kinds.full);
    }
    text.push_str(&troubles(&record.outcomes));
    for name in &record.server_names {
        let CountedName { name, completed, failed, unexpected } = name;
        let _ =
            writeln!(text, "  {completed:>9}  {name} ({failed} failed, {unexpected} unexpected)");
    }
    let _ = writeln!(
        text,
        "generator: {:.1} us/{unit} ({:.1} user, {:.1} system)",
        per(record.cpu.total_us()),
        per(record.cpu.user_us),
        per(record.cpu.system_us)
    );
    if let Some(open_loop) = &record.open_loop {
        let _ = writeln!(
            text,
            "arrivals: {} due, {:.1}/s; {} started, {:.1}/s; {} blocked, {} still waiting",
            open_loop.arrivals,
            open_loop.offered_per_s,
            open_loop.started,
            open_loop.achieved_per_s,
            open_loop.blocked,
            open_loop.waiting_at_stop
        );
    }
    record.steps.iter().for_each(|step| text.push_str(&step_line(step)));
    let head = ["p50", "p90", "p99", "max"];
    let _ =
        writeln!(text, "{:>19}  {:>9} {:>9} {:>9} {:>9}", "ms", head[0], head[1], head[2], head[3]);
    for name in HISTOGRAMS.iter().chain(&OPEN_HISTOGRAMS) {
        let Some(s) = record.load_summary(name) else { continue };
        // Without resumption the handshake's time by kind says nothing new.
        if name.starts_with("handshake_") && record.kinds.resumed == 0 {
            continue;
        }
        let _ = writeln!(
            text,
            "{name:>19}  {:9.3} {:9.3} {:9.3} {:9.3}",
            s.p50_ms, s.p90_ms, s.p99_ms, s.max_ms
        );
    }
    if let Some((client, times)) = record.load_client() {
        let _ = writeln!(
            text,
            "times of {} connections of the {client} client{}",
            times.connections,
            others(record, client)
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

/// The most reasons of a class that are shown; the record has them all.
const REASONS: usize = 5;

/// What went wrong, by class, with the reasons behind it.
fn troubles(outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for (class, count) in outcomes.failed.iter().chain(&outcomes.unexpected) {
        let _ = writeln!(text, "  {count} {class}");
        for counted in outcomes.reasons_of(class).take(REASONS) {
            let example = counted.examples.iter().find(|example| !example.words.is_empty());
            let words = example.map(|example| format!(": {}", example.words)).unwrap_or_default();
            let _ = writeln!(text, "    {} {}{words}", counted.count, counted.reason);
        }
        let more = outcomes.reasons_of(class).count().saturating_sub(REASONS);
        if more > 0 {
            let _ = writeln!(text, "    and {more} more reasons, in the record");
        }
    }
    text
}

/// What is left out of the times: another client's connections, and how long they took.
fn others(record: &RunRecord, client: &str) -> String {
    let others = record.clients.iter().filter(|(name, _)| *name != client);
    let said = others.map(|(name, times)| {
        let handshake = times.summaries["handshake"];
        format!(
            "; {} of the {name}'s are apart: handshake p50 {:.3}, max {:.3}",
            times.connections, handshake.p50_ms, handshake.max_ms
        )
    });
    said.collect()
}

/// One step of a measurement in steps: its level, and what came of it.
fn step_line(step: &StepResult) -> String {
    let level = match step.rate {
        Some(rate) => format!("{rate}/s"),
        None => format!("{} connections", step.connections),
    };
    let each = |count: u64| if step.seconds > 0.0 { count as f64 / step.seconds } else { 0.0 };
    let troubles: u64 = step.failed.values().chain(step.unexpected.values()).sum();
    let name = if step.rate.is_some() { "response" } else { "service" };
    let times = &step.summaries[name];
    format!(
        "step {level}: {:.1} connections/s, {:.1} requests/s, {troubles} failed, {name} p50 {:.3} \
         p99 {:.3} ms\n",
        each(step.completed),
        each(step.requests),
        times.p50_ms,
        times.p99_ms
    )
}

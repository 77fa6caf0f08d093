//! The tables of a summary, as data.

use std::collections::BTreeMap;

use tlslab_contract::record::{
    CountedName, CountedUrl, Place, RunRecord, StepResult, Summary, busiest, places,
};
use tlslab_contract::spec::{RequestsPerConnection, RunSpec};
use tlslab_tls::plain::NAME as WITHOUT_TLS;
use tlslab_wire::outcome::ABANDONED;
use tlslab_wire::wording::{counted, decimal, grouped, plain};

use super::table::{Lead, Table};
use super::{histogram, unit};
use crate::load::server::{ServerUsage, TICK_US};

/// The text in place of a missing value.
const NOTHING: &str = "-";

/// The times to show, in the order of a connection's life: the histogram, its name for people, and
/// its definition.
const LATENCIES: [(&str, &str, &str); 10] = [
    ("start_delay", "start delay", "due until really started"),
    ("connect", "connect", "TCP connection"),
    ("handshake", "handshake", "TLS handshake, from the TCP connection on"),
    ("handshake_full", "- full", "those of them with a full handshake"),
    ("handshake_resumed", "- resumed", "those of them that resumed a session"),
    ("first_byte", "first byte", "request until the first byte of its response"),
    ("exchange", "exchange", "request until the last byte of its response"),
    ("service", "service", "start of a connection until its last byte"),
    ("response_first_byte", "response, first byte", "due until the first byte of the response"),
    ("response", "response", "due until the last byte: what a user waits for"),
];

/// The kind of time that matters most in a run: from when a connection was due, in an open loop;
/// of a whole connection; or of a request, if connections stay open.
pub fn main_time(spec: &RunSpec) -> &'static str {
    match spec.requests_per_connection {
        _ if spec.load.rate.is_some() => "response",
        RequestsPerConnection::Unlimited => "exchange",
        RequestsPerConnection::Count(_) => "service",
    }
}

/// All tables that apply to this record.
pub fn all(record: &RunRecord, server: Option<&ServerUsage>) -> Vec<Table> {
    let tables = [
        hosts(record),
        steps(record),
        Some(latencies(record)),
        histogram::table(record),
        urls(record),
        troubles(record),
        names(record),
        Some(handshakes(record)),
        Some(processor(record, server)),
    ];
    tables.into_iter().flatten().filter(|table| !table.rows.is_empty()).collect()
}

fn latencies(record: &RunRecord) -> Table {
    let head = ["p50", "p90", "p99", "p99.9", "max", ""];
    let mut table = Table::new("latency in ms", Lead::Name, head);
    for (name, shown, what) in LATENCIES {
        let Some(summary) = self::shown(record, name) else { continue };
        // Without resumption the handshake times by kind add nothing.
        let is_of_kind = name.starts_with("handshake_") && record.kinds.resumed == 0;
        let is_of_requests = matches!(name, "first_byte" | "exchange");
        if is_of_kind || is_of_requests && record.spec.handshake_only {
            continue;
        }
        let mut row = vec![shown.to_owned()];
        row.extend(quantiles(&summary).map(|value| figure(value, 3)));
        let users = record.open_loop.and_then(|open_loop| open_loop.users);
        let censored = users.filter(|users| users.gave_up > 0 && name.starts_with("response"));
        row.push(what.to_owned() + censored.map_or("", |_| "; of those who gave up: until then"));
        table.rows.push(row);
    }
    table
}

/// The times of a run that the summary shows: of a run without TLS all but those of handshakes.
fn shown(record: &RunRecord, name: &str) -> Option<Summary> {
    let has_none = record.backend == WITHOUT_TLS && name.starts_with("handshake");
    record.load_summary(name).filter(|_| !has_none)
}

/// The lowest number of values for each quantile, as in the lab's reports: 8 / (1 - p). With fewer,
/// the interval has no upper end, and p99.9 of 200 values is merely the largest.
const NEEDED: [u64; 4] = [16, 80, 800, 8_000];

/// The quantiles to show, and the largest value; `None` for a quantile of too few values.
pub fn quantiles(summary: &Summary) -> [Option<f64>; 5] {
    let Summary { p50_ms, p90_ms, p99_ms, p999_ms, max_ms, .. } = *summary;
    let [p50, p90, p99, p999] = NEEDED.map(|needed| summary.n >= needed);
    [
        p50.then_some(p50_ms),
        p90.then_some(p90_ms),
        p99.then_some(p99_ms),
        p999.then_some(p999_ms),
        (summary.n > 0).then_some(max_ms),
    ]
}

/// The reason why quantiles are left out, if any of the times shown has too few values.
pub fn too_few(record: &RunRecord) -> Option<String> {
    let mut shown = LATENCIES.iter().filter_map(|(name, ..)| shown(record, name));
    shown.any(|summary| (1..NEEDED[3]).contains(&summary.n)).then(|| {
        "note: a quantile is - with too few values: p50 needs 16, p90 80, p99 800, p99.9 8,000"
            .to_owned()
    })
}

/// The highest number of reasons shown per class; the record contains all.
const REASONS: usize = 5;

/// Failures by class, and unexpected handshakes by the fact that differed, each with its reasons.
fn troubles(record: &RunRecord) -> Option<Table> {
    let outcomes = &record.outcomes;
    let ended = outcomes.ended();
    let mut table = Table::new("failures", Lead::Figure, ["of all", ""]);
    let row = |name: String, number: u64| {
        let share = 100.0 * number as f64 / ended.max(1) as f64;
        vec![grouped(number), format!("{share:.2} %"), name]
    };
    let by_count = |counts: &BTreeMap<String, u64>, prefix: &str| -> Vec<Vec<String>> {
        let mut counts: Vec<_> = counts.iter().collect();
        counts.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
        let rows = counts.into_iter().flat_map(|(name, number)| {
            let class = row(format!("{prefix}{name}"), *number);
            let reasons = outcomes.reasons_of(name).take(REASONS).map(|counted| {
                let example = counted.examples.iter().find(|example| !example.words.is_empty());
                let words = example.map(|example| format!(": {}", example.words));
                row(format!("  {}{}", counted.reason, words.unwrap_or_default()), counted.count)
            });
            std::iter::once(class).chain(reasons).collect::<Vec<_>>()
        });
        rows.collect()
    };
    table.rows = by_count(&outcomes.failed, "");
    table.rows.extend(by_count(&outcomes.unexpected, "unexpected "));
    let abandoned = (outcomes.abandoned > 0).then(|| {
        row(format!("{ABANDONED}: the user's patience ended (not a failure)"), outcomes.abandoned)
    });
    table.rows.extend(abandoned);
    (!table.rows.is_empty()).then_some(table)
}

/// The highest number of URLs shown, most requested first; the record contains all.
const URLS: usize = 20;

/// The requests of each of several URLs.
fn urls(record: &RunRecord) -> Option<Table> {
    let mut urls: Vec<_> = record.urls.iter().collect();
    urls.sort_by_key(|url| std::cmp::Reverse(url.requests + url.failed));
    let head = ["requests/s", "failed", "p50 ms", "p99 ms", "URL (times of its requests)"];
    let mut table = Table::new("requests", Lead::Figure, head);
    for CountedUrl { path, requests, failed, exchange, .. } in urls.iter().take(URLS) {
        let rate = (record.seconds > 0.0).then(|| *requests as f64 / record.seconds);
        let [p50, _, p99, ..] = exchange.as_ref().map_or([None; 5], quantiles);
        table.rows.push(vec![
            grouped(*requests),
            figure(rate, 1),
            grouped(*failed),
            figure(p50, 3),
            figure(p99, 3),
            path.clone(),
        ]);
    }
    if let Some(more) = urls.len().checked_sub(URLS + 1) {
        let left: u64 = urls[URLS..].iter().map(|url| url.requests).sum();
        let mut row = vec![NOTHING.to_owned(); 5];
        row[0] = grouped(left);
        row.push(format!("{} more: see the record", grouped(more as u64 + 1)));
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn names(record: &RunRecord) -> Option<Table> {
    let mut table = Table::new("completed", Lead::Figure, ["failed", "unexpected", "server name"]);
    for CountedName { name, completed, failed, unexpected, .. } in &record.server_names {
        let [completed, failed, unexpected] = [*completed, *failed, *unexpected].map(grouped);
        table.rows.push(vec![completed, failed, unexpected, name.clone()]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn handshakes(record: &RunRecord) -> Table {
    let mut table = Table::new("handshakes", Lead::Figure, [""]);
    for counted in record.facts.iter().filter(|_| record.backend != WITHOUT_TLS) {
        let f = &counted.facts;
        let name = format!(
            "TLS {} {} {} {} {}",
            f.tls,
            f.suite,
            f.group,
            f.signature_scheme,
            f.kind_in_words()
        );
        table.rows.push(vec![grouped(counted.count), name]);
    }
    let resumed = record.kinds.resumed;
    if resumed > 0 {
        // A handshake of another kind than the one asked for is unexpected.
        let asked = resumed + record.outcomes.unexpected.get("kind").unwrap_or(&0);
        let share = 100.0 * resumed as f64 / asked as f64;
        let name = format!("resumed an earlier session ({share:.2} % of those that were to)");
        table.rows.push(vec![grouped(resumed), name]);
    }
    table
}

/// Processor time of both sides: of the generator's workers, and of the server's processes if they
/// are on this machine.
fn processor(record: &RunRecord, server: Option<&ServerUsage>) -> Table {
    let (number, unit) = unit(&record.spec, record);
    let each = format!("µs/{unit}");
    let head = [each.as_str(), "user", "system", "busy", ""];
    let mut table = Table::new("processor time", Lead::Name, head);
    let mut row =
        |name: String, [user_us, system_us]: [u64; 2], busy: Option<f64>, what: String| {
            let per = |us: u64| (number > 0).then(|| us as f64 / number as f64);
            let times = [user_us + system_us, user_us, system_us].map(|us| figure(per(us), 1));
            table.rows.push([vec![name], times.to_vec(), vec![percent(busy), what]].concat());
        };
    let mut workers = counted(record.spec.threads, "worker thread");
    if record.kinds.refill_connections > 0 {
        let beside = counted(record.kinds.refill_connections, "full handshake");
        workers += &format!("; {beside} beside the load included");
    }
    if let Some(lost) = record.places().iter().filter_map(Place::lost).reduce(f64::max) {
        workers +=
            &format!("; ready without a processor {} % of the time", decimal(lost * 100.0, 1));
    }
    let cpu = [record.cpu.user_us, record.cpu.system_us];
    row("generator".to_owned(), cpu, record.busy, workers);
    if let Some(ServerUsage { name, processes, ticks: (user, system) }) = server {
        // The kernel counts in ticks; fewer than ten are not significant.
        if user + system >= 10 {
            let what =
                format!("{} that {}", counted(*processes as u64, "process"), verb(*processes));
            let times = [user * TICK_US, system * TICK_US];
            let us = (times[0] + times[1]) as f64;
            let busy = (record.seconds > 0.0).then(|| us / (record.seconds * 1e6));
            row(format!("server ({name})"), times, busy, what);
        }
    }
    table
}

fn percent(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn verb(processes: usize) -> &'static str {
    if processes == 1 { "listens there" } else { "listen there" }
}

/// The generators of a merged record: rate, failures and processor of each.
fn hosts(record: &RunRecord) -> Option<Table> {
    let head = ["connections/s", "completed", "failed", "busy", "starts after ms", ""];
    let mut table = Table::new("generator", Lead::Name, head);
    let starts = || record.hosts.iter().filter_map(|host| host.started);
    let first = starts().map(|start| start.unix_s).min_by(f64::total_cmp);
    for host in &record.hosts {
        let rate = (host.seconds > 0.0).then(|| host.outcomes.completed as f64 / host.seconds);
        let busy = busiest(&places(&host.workers, &host.supply));
        let after = host.started.zip(first).map(|(start, first)| (start.unix_s - first) * 1e3);
        table.rows.push(vec![
            host.name.clone(),
            figure(rate, 1),
            grouped(host.outcomes.completed),
            grouped(host.outcomes.troubled()),
            percent(busy),
            figure(after, 3),
            counted(host.connections, "connection"),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn steps(record: &RunRecord) -> Option<Table> {
    let head = ["connections/s", "requests/s", "failed", "p50 ms", "p99 ms", ""];
    let mut table = Table::new("step", Lead::Name, head);
    table.rows.extend(record.steps.iter().map(step));
    (!table.rows.is_empty()).then_some(table)
}

/// One step of a measurement in steps: its level and its results.
fn step(step: &StepResult) -> Vec<String> {
    let level = match step.rate {
        Some(rate) => format!("{} connections/s", plain(rate)),
        None => counted(step.connections, "connection"),
    };
    let each = |count: u64| (step.seconds > 0.0).then(|| count as f64 / step.seconds);
    let troubles: u64 = step.failed.values().chain(step.unexpected.values()).sum();
    let name = if step.rate.is_some() { "response" } else { "service" };
    let [p50, _, p99, ..] = step.summaries.get(name).map_or([None; 5], quantiles);
    vec![
        level,
        figure(each(step.completed), 1),
        figure(each(step.requests), 1),
        grouped(troubles),
        figure(p50, 3),
        figure(p99, 3),
        format!("{name} time"),
    ]
}

/// A number with N decimals; a dash for `None`.
pub fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| decimal(value, decimals))
}

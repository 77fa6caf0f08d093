//! The text summary of a record: the rate of interest first, then response and service times,
//! failures, processor time, and the verdict.

mod advice;
mod csv;
mod histogram;
mod table;
mod tables;

use std::fmt::Write as _;
use std::io;

use terminal_size::{Width, terminal_size_of};
use tlslab_contract::record::{ConfirmedBy, OpenLoop, RoundTrips, RunRecord, Users, VerdictCode};
use tlslab_contract::spec::{RequestsPerConnection, RunSpec};
use tlslab_tls::plain::NAME as WITHOUT_TLS;
use tlslab_wire::wording::{counted, decimal, grouped, scaled};

use self::advice::what_to_do;
pub use self::csv::csv;
use self::tables::figure;
pub use self::tables::main_time;
use crate::load::server::ServerUsage;

/// The lowest width of a summary in columns.
const FEWEST: usize = 80;

/// The width in columns if standard output is not a terminal.
const ELSEWHERE: usize = 100;

/// What a summary shows beside the record.
#[derive(Debug, Default)]
pub struct Aside {
    /// The server's use of its processors, if known.
    pub server: Option<ServerUsage>,
    /// How the number of connections results, if no option gave it.
    pub default_connections: Option<String>,
}

/// The summary for a terminal, in its width or the width of COLUMNS.
pub fn text(record: &RunRecord, aside: &Aside) -> String {
    let given = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into());
    text_within(given.or_else(terminal).unwrap_or(ELSEWHERE), record, aside)
}

/// The summary with tables of N columns. Sentences are not folded: a terminal folds them, and a
/// program can search for them.
fn text_within(columns: usize, record: &RunRecord, aside: &Aside) -> String {
    let mut text = headline(record, aside);
    for table in tables::all(record, aside.server.as_ref()) {
        text.push('\n');
        text.push_str(&table.text(columns.max(FEWEST)));
    }
    text.push('\n');
    closing(record).iter().for_each(|line| line_of(&mut text, line));
    text
}

/// The summary in Markdown.
pub fn markdown(record: &RunRecord, aside: &Aside) -> String {
    let mut text = String::new();
    let lines = headline(record, aside);
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.for_each(|line| line_of(&mut text, &format!("- {line}")));
    for table in tables::all(record, aside.server.as_ref()) {
        text.push('\n');
        text.push_str(&table.markdown());
    }
    text.push('\n');
    closing(record).iter().for_each(|line| line_of(&mut text, &format!("- {line}")));
    text
}

fn line_of(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

/// The kind of load, and the rates, first the rate of interest.
fn headline(record: &RunRecord, aside: &Aside) -> String {
    let spec = &record.spec;
    let mut text = String::new();
    let client = match &*record.backend {
        WITHOUT_TLS => "without TLS".to_owned(),
        library => format!("by {library}"),
    };
    line_of(&mut text, &format!("{} at {} {client}", spec.url, record.address));
    line_of(&mut text, &load(record, aside));
    text.push('\n');
    let connections = (record.outcomes.completed, "connection", "completed");
    let requests = (record.requests, "request", "answered");
    let rates = match spec.requests_per_connection {
        _ if spec.handshake_only => vec![connections],
        RequestsPerConnection::Count(1) => vec![connections],
        RequestsPerConnection::Count(_) => vec![requests, connections],
        RequestsPerConnection::Unlimited => vec![requests],
    };
    for (number, name, done) in rates {
        let rate = figure((record.seconds > 0.0).then(|| number as f64 / record.seconds), 1);
        line_of(&mut text, &format!("{rate:>12} {name}s/s  {} {done}", counted(number, name)));
    }
    transfer(record).into_iter().for_each(|line| line_of(&mut text, &line));
    statuses(record).into_iter().for_each(|line| line_of(&mut text, &line));
    if spec.handshake_only && record.confirmed_by.total() > 0 {
        line_of(&mut text, &confirmed(record.confirmed_by));
    }
    if record.backend == WITHOUT_TLS {
        let trips: Vec<_> = record.round_trips.full.keys().map(|trips| trips.to_string()).collect();
        let line = format!("{:>12} round trips to the first byte: {}", "", trips.join(", "));
        line_of(&mut text, &line);
    } else if record.round_trips.connections() > 0 {
        line_of(&mut text, &round_trips(&record.round_trips, spec.handshake_only));
    }
    if let Some(common) = &record.common {
        let rate = figure(common.connections_per_s, 1);
        let length = figure(Some(common.seconds), 2);
        let words = "in the time that all generators were measuring";
        line_of(&mut text, &format!("{rate:>12} connections/s  {words}, {length} s"));
    }
    if spec.requests_per_connection == RequestsPerConnection::Unlimited {
        let ended = record.outcomes.completed;
        let also = if ended > 0 { format!("; {} ended", grouped(ended)) } else { String::new() };
        let kept = counted(spec.connections, "connection");
        line_of(&mut text, &format!("{:>12} {kept} kept open{also}", ""));
    }
    if let Some(open_loop) = &record.open_loop {
        line_of(&mut text, &arrivals(open_loop));
        open_loop.users.iter().for_each(|fared| line_of(&mut text, &users(fared)));
    }
    text
}

/// The kind and the length of the load.
fn load(record: &RunRecord, aside: &Aside) -> String {
    let spec = &record.spec;
    let loop_of = if spec.load.rate.is_some() { "open loop, at most " } else { "" };
    let why = aside.default_connections.as_ref().map(|words| format!(" ({words})"));
    let seconds = figure((record.seconds > 0.0).then_some(record.seconds), 2);
    format!(
        "{loop_of}{} at once{}, {}, {seconds} s",
        counted(spec.connections, "connection"),
        why.unwrap_or_default(),
        counted(spec.threads, "worker thread")
    )
}

/// The bytes of the responses, by second and in all; without requests those of the connections.
fn transfer(record: &RunRecord) -> Option<String> {
    let bytes = &record.bytes;
    let sized = |bytes: u64| {
        let (number, unit) = scaled(bytes as f64);
        format!("{} {unit}", decimal(number, if unit == "B" { 0 } else { 1 }))
    };
    let (total, words) = match bytes.head + bytes.body {
        0 => {
            let words = format!("{} received, {} sent", sized(bytes.received), sized(bytes.sent));
            (bytes.received, words)
        }
        total => {
            let words =
                format!("{} of responses, {} of it bodies", sized(total), sized(bytes.body));
            (total, words)
        }
    };
    let (rate, unit) = (record.seconds > 0.0).then(|| scaled(total as f64 / record.seconds))?;
    (total > 0).then(|| format!("{:>12} {unit}/s  {words}", decimal(rate, 1)))
}

/// The responses by status.
fn statuses(record: &RunRecord) -> Option<String> {
    let counts = record.statuses.iter().map(|(status, count)| (status, grouped(*count)));
    let counts: Vec<_> = counts.map(|(status, count)| format!("{status} {count}")).collect();
    let line = format!("{:>12} responses by status: {}", "", counts.join("; "));
    (!counts.is_empty()).then_some(line)
}

/// The signs by which the server confirmed handshakes without a request.
fn confirmed(by: ConfirmedBy) -> String {
    let ConfirmedBy { server_finished, close_notify, ticket, .. } = by;
    let signs = [
        (server_finished, "by the server's Finished"),
        (close_notify, "by its close_notify"),
        (ticket, "by a ticket alone"),
    ];
    let signs = signs.into_iter().filter(|(count, _)| *count > 0);
    let signs: Vec<_> = signs.map(|(count, by)| format!("{} {by}", grouped(count))).collect();
    format!("{:>12} confirmed: {}", "", signs.join(", "))
}

/// Round trips by kind of handshake: `3 (full), 2 (resumed)`. If those of a kind differ, each number
/// has its connections.
fn round_trips(counted: &RoundTrips, handshake_only: bool) -> String {
    let mut parts = Vec::new();
    for (kind, counts) in [("full", &counted.full), ("resumed", &counted.resumed)] {
        for (number, count) in counts {
            let of =
                if counts.len() > 1 { format!(": {}", grouped(*count)) } else { String::new() };
            parts.push(format!("{number} ({kind}{of})"));
        }
    }
    let until = if handshake_only { "confirmation" } else { "first byte" };
    format!("{:>12} round trips to the {until}: {}", "", parts.join(", "))
}

/// The accounting of an open loop's arrivals.
fn arrivals(open_loop: &OpenLoop) -> String {
    let OpenLoop { arrivals, started, blocked, waiting_at_stop, .. } = *open_loop;
    let mut line = format!(
        "{:>12} arrivals/s were due ({}), {} connections/s were started ({})",
        figure(Some(open_loop.offered_per_s), 1),
        grouped(arrivals),
        figure(Some(open_loop.achieved_per_s), 1),
        grouped(started)
    );
    if blocked > 0 {
        line += &format!("; {} found all connections in use and waited", grouped(blocked));
    }
    if waiting_at_stop > 0 {
        line += &format!("; {} still waited at the end", grouped(waiting_at_stop));
    }
    line
}

/// How the users of an open loop with patience fared.
fn users(users: &Users) -> String {
    let decided = users.decided();
    let share = (decided > 0).then(|| 100.0 * users.answered() as f64 / decided as f64);
    let mut line = format!(
        "{:>12} % of {} answered in the end: {} at the first attempt, {} after a retry; {} gave up",
        figure(share, 2),
        counted(decided, "user"),
        grouped(users.answered_at_first),
        grouped(users.answered_after_retry),
        grouped(users.gave_up)
    );
    for (number, words) in [
        (users.left_waiting, "of them found all connections in use"),
        (users.failed, "failed"),
        (users.unfinished, "more still waited at the end"),
        (users.retries, "of the connections were retries"),
    ] {
        if number > 0 {
            line += &format!("; {} {words}", grouped(number));
        }
    }
    line
}

/// The notes, then the verdicts with their reasons.
fn closing(record: &RunRecord) -> Vec<String> {
    let notes = record.notes.iter().map(|note| format!("note: {note}"));
    let notes = whose_times(record).into_iter().chain(tables::too_few(record)).chain(notes);
    let verdicts = record.verdicts.iter().map(|verdict| {
        let begins = match verdict.code {
            VerdictCode::Valid | VerdictCode::Interrupted => "",
            VerdictCode::ClientSaturated | VerdictCode::ClientDelayed => "lower bound: ",
            _ => "not valid: ",
        };
        let advice = what_to_do(record, verdict.code).map(|words| format!("; {words}"));
        format!("{begins}{}{}", verdict.message, advice.unwrap_or_default())
    });
    notes.chain(verdicts).collect()
}

/// States whose times are shown if two clients made connections, and gives the other client's
/// times.
fn whose_times(record: &RunRecord) -> Option<String> {
    let (client, times) = record.load_client()?;
    let mut line = format!(
        "note: latencies of the {client} client ({})",
        counted(times.connections, "connection")
    );
    for (name, times) in record.clients.iter().filter(|(name, _)| *name != client) {
        let [p50, .., max] = tables::quantiles(&times.summaries["handshake"]);
        line += &format!(
            "; {} of the {name} client are apart: handshake p50 {} ms, max {} ms",
            counted(times.connections, "connection"),
            figure(p50, 3),
            figure(max, 3)
        );
    }
    Some(line)
}

/// The divisor of processor time: requests if a connection carries several, otherwise connections.
fn unit(spec: &RunSpec, record: &RunRecord) -> (u64, &'static str) {
    match spec.requests_per_connection {
        _ if spec.handshake_only => (record.outcomes.completed, "connection"),
        RequestsPerConnection::Count(1) => (record.outcomes.completed, "connection"),
        _ => (record.requests, "request"),
    }
}

#[cfg(test)]
pub(super) mod tests;

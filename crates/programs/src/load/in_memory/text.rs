//! The record of a measurement in memory, as text for people.

use std::fmt::Write as _;

use tlslab_microbench::in_memory::{BulkResult, HandshakeResult, InMemoryRecord};
use tlslab_wire::wording::{counted, decimal, grouped};

/// The share of time on a processor below which other programs disturbed the measurement.
const UNDISTURBED: f64 = 0.95;

const MEGABYTE: f64 = 1e6;

/// The record in a few lines. Writing to a String cannot fail.
pub fn summary(record: &InMemoryRecord) -> String {
    let mut text = String::new();
    let threads = match record.spec.threads {
        1 => "1 thread".to_owned(),
        more => format!("{more} threads"),
    };
    let _ = writeln!(text, "{} in memory, {threads}", record.backend);
    if let Some(found) = &record.handshakes {
        handshakes(&mut text, found);
    }
    if !record.bulk.is_empty() {
        bulk(&mut text, &record.bulk);
    }
    for verdict in &record.verdicts {
        let _ = writeln!(text, "{}", verdict.message);
    }
    text
}

fn handshakes(text: &mut String, found: &HandshakeResult) {
    let facts = &found.facts;
    let _ = writeln!(
        text,
        "  TLS {} {} {} {} {}, client {}",
        facts.tls,
        facts.suite,
        facts.group,
        facts.signature_scheme,
        facts.kind,
        facts.client_signature_scheme
    );
    let outcomes = &found.outcomes;
    let _ = writeln!(
        text,
        "{} of {} completed in {} s, {}/s",
        counted(outcomes.completed, "handshake"),
        grouped(outcomes.attempts),
        decimal(found.seconds, 2),
        decimal(found.handshakes_per_s, 0)
    );
    let _ = writeln!(text, "{:>12}  {:>9}", "", "µs of CPU per handshake");
    for (name, cost) in [("client", found.client.cpu_us), ("server", found.server.cpu_us)] {
        let _ = writeln!(text, "{name:>12}  {cost:9.1}");
    }
    let _ = writeln!(text, "{:>12}  {:9.1}", "all", found.cpu_us);
    let service = found.summaries["service"];
    let _ = writeln!(text, "{:>12}  {:>9} {:>9} {:>9} {:>9}", "ms", "p50", "p90", "p99", "max");
    let _ = writeln!(
        text,
        "{:>12}  {:9.3} {:9.3} {:9.3} {:9.3}",
        "service", service.p50_ms, service.p90_ms, service.p99_ms, service.max_ms
    );
    let flights: Vec<_> =
        found.flights.iter().map(|f| format!("{} {}", f.from, decimal(f.bytes, 0))).collect();
    let _ = writeln!(text, "flights in bytes: {}", flights.join(", "));
    for node in &found.signatures {
        let failed: u64 = node.failed.values().sum();
        let (name, made, failed) = (&node.node, grouped(node.signatures), grouped(failed));
        let _ = writeln!(text, "signatures by {name}: {made}, failed: {failed}");
    }
    if let Some(signing) = found.summaries.get("signing") {
        let _ = writeln!(
            text,
            "{:>12}  {:9.3} {:9.3} {:9.3} {:9.3}",
            "signing", signing.p50_ms, signing.p90_ms, signing.p99_ms, signing.max_ms
        );
    }
    // With a key outside the process, a thread waits for the key.
    if found.on_processor < UNDISTURBED && found.signatures.is_empty() {
        let _ = writeln!(
            text,
            "note: other programs were served too (a thread had {:.0} % of its time): the rate is \
             a lower bound",
            found.on_processor * 100.0
        );
    }
}

fn bulk(text: &mut String, lines: &[BulkResult]) {
    let _ = writeln!(
        text,
        "{:45} {:>8} {:>8} {:>10} {:>10} {:>10}",
        "MB per second of CPU (of time: through)", "record", "way", "seal", "open", "through"
    );
    for line in lines {
        let way = format!("{:?}", line.direction).to_lowercase();
        let _ = writeln!(
            text,
            "{:45} {:>8} {:>8} {:>10.0} {:>10.0} {:>10.0}",
            line.suite,
            line.record_size,
            way,
            line.seal.bytes_per_cpu_s / MEGABYTE,
            line.open.bytes_per_cpu_s / MEGABYTE,
            line.bytes_per_s / MEGABYTE
        );
    }
}

//! Events on standard error: JSON lines for programs, a line a second for people.

use std::io::{self, Write};
use std::net::SocketAddr;

use serde_json::{Value, json};
use tlslab_load::check::Checked;
use tlslab_load::trace::Trace;
use tlslab_load::watch::{Observer, Percentiles, Progress, Totals};
use tlslab_wire::wording::{decimal, grouped};

use crate::load::server::{ServerProcesses, ServerUsage};
use crate::load::totals::totals_json;

/// The engine's name for the phase that is measured.
const MEASURE: &str = "measure";

/// Reports the progress of a run.
#[derive(Debug)]
pub struct Reporter {
    json: bool,
    quiet: bool,
    /// Whether each second is reported, so that a missing report is significant.
    beats: bool,
    trace: Option<Trace>,
    server: Option<ServerProcesses>,
    /// The server's processor time at the start of the measurement.
    before: Option<(u64, u64)>,
    usage: Option<ServerUsage>,
}

impl Reporter {
    /// JSON lines if `events`, otherwise text; no text if `quiet`.
    pub fn new(events: bool, quiet: bool) -> Self {
        let (trace, server, before, usage) = (None, None, None, None);
        Self { json: events, quiet, beats: false, trace, server, before, usage }
    }

    /// Enables a report for each second of the run, in all phases.
    pub fn report_life(&mut self) {
        self.beats = true;
    }

    /// Takes the trace of the run's connections, after its end.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    /// Enables readings of the server's processor time, if its processes are on this machine.
    pub fn watch_server(&mut self, address: SocketAddr) {
        self.server = ServerProcesses::listening_on(address);
    }

    /// Takes the server's usage during the measurement, after its end.
    pub fn take_usage(&mut self) -> Option<ServerUsage> {
        self.usage.take()
    }

    /// Reads the server's processor time at the start and the end of the measurement.
    fn sample(&mut self, phase: &str) {
        let Some(server) = &self.server else { return };
        if phase == MEASURE {
            self.before = server.ticks();
        } else if let Some(before) = self.before.take() {
            self.usage = server.usage_since(before);
        }
    }

    fn event(&self, value: &Value) {
        self.line(&value.to_string());
    }

    /// A closed standard error does not end the run: the record is the result.
    fn line(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl Observer for Reporter {
    fn preflight(&mut self, checked: &Checked) {
        if self.json {
            self.event(&json!({
                "event": "preflight",
                "facts": checked.preflight.facts,
                "address": checked.permit.address.to_string(),
                "backend": checked.backend.name(),
            }));
        }
    }

    fn phase(&mut self, phase: &'static str, at: u64) {
        self.sample(phase);
        if self.json {
            self.event(&json!({ "event": "phase", "phase": phase, "at_ns": at }));
        }
    }

    fn progress(&mut self, progress: Progress) {
        if self.json {
            self.event(&event(&progress));
        } else if !self.quiet {
            self.line(&line(&progress));
        }
    }

    fn alive(&mut self, at: u64) {
        if self.beats {
            self.event(&json!({ "event": "alive", "now_ns": at }));
        }
    }

    fn ended(&mut self, totals: Totals, seconds: f64) {
        if self.json {
            let totals = totals_json(&totals);
            self.event(&json!({ "event": "ended", "at_s": seconds, "totals": totals }));
        }
    }

    fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }
}

fn event(progress: &Progress) -> Value {
    let times = |times: Option<Percentiles>| {
        times.map(|t| json!({ "n": t.n, "p50_ms": t.p50_ms, "p99_ms": t.p99_ms }))
    };
    json!({
        "event": "progress",
        "at_s": progress.at_s,
        "completed": progress.completed,
        "failed": progress.failed,
        "left_s": progress.left_s,
        "offered_per_s": progress.offered_per_s,
        "started_per_s": progress.started_per_s,
        "connections_per_s": progress.connections_per_s,
        "requests_per_s": progress.requests_per_s,
        "in_flight": progress.in_flight,
        "waiting": progress.waiting,
        "service": times(progress.service),
        "response": times(progress.response),
        "exchange": times(progress.exchange),
        "totals": totals_json(&progress.totals),
    })
}

/// One line for people; times are those of the last second.
fn line(progress: &Progress) -> String {
    let Progress { at_s, connections_per_s, requests_per_s, in_flight, failed, .. } = *progress;
    let [connections, requests] = [connections_per_s, requests_per_s].map(|rate| decimal(rate, 0));
    let (in_flight, failed) = (grouped(in_flight), grouped(failed));
    let mut line = format!(
        "{at_s:4.0} s  {connections:>8} connections/s  {requests:>8} requests/s  \
         {in_flight:>5} in flight  {failed} failed"
    );
    if progress.waiting > 0 {
        line.push_str(&format!("  {} waiting", grouped(progress.waiting)));
    }
    let kinds = [
        ("service", progress.service),
        ("response", progress.response),
        ("exchange", progress.exchange.filter(|_| progress.service.is_none())),
    ];
    for (name, times) in kinds {
        if let Some(Percentiles { p50_ms, p99_ms, .. }) = times {
            line.push_str(&format!("  {name} p50 {p50_ms:.2} p99 {p99_ms:.2} ms"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_times_that_there_are() {
        let times = Some(Percentiles { n: 100, p50_ms: 1.0, p99_ms: 12.345 });
        let mut progress = Progress {
            at_s: 3.0,
            completed: 300,
            failed: 2,
            left_s: Some(7.0),
            offered_per_s: None,
            started_per_s: 101.0,
            connections_per_s: 100.0,
            requests_per_s: 200.0,
            in_flight: 7,
            waiting: 0,
            service: times,
            response: None,
            exchange: times,
            totals: Totals { completed: 300, ..Totals::default() },
        };
        let words = line(&progress);
        assert!(words.ends_with("7 in flight  2 failed  service p50 1.00 p99 12.35 ms"), "{words}");
        (progress.waiting, progress.response) = (5, times);
        let words = line(&progress);
        assert!(
            words.contains("  5 waiting  service") && words.contains("  response p50"),
            "{words}"
        );
        let event = event(&progress);
        assert_eq!(
            (&event["response"]["n"], &event["totals"]["completed"]),
            (&json!(100), &json!(300))
        );
    }
}

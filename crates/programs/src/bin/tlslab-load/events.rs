//! Events on standard error: JSON lines for programs, a line a second for people.

use std::io::{self, Write};

use serde_json::{Value, json};
use tlslab_engine::check::Checked;
use tlslab_engine::trace::Trace;
use tlslab_engine::watch::{Observer, Progress};

/// Tells how a run goes.
#[derive(Debug)]
pub struct Reporter {
    json: bool,
    quiet: bool,
    trace: Option<Trace>,
}

impl Reporter {
    /// `events`: JSON lines. Otherwise text, unless the record goes to a program anyway.
    pub fn new(events: bool, record_is_json: bool) -> Self {
        Self { json: events, quiet: record_is_json, trace: None }
    }

    /// The instants of the run's connections, once it is over.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    fn event(&self, value: &Value) {
        self.line(&value.to_string());
    }

    /// A reader that is gone does not end the run: the record is what counts.
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
        if self.json {
            self.event(&json!({ "event": "phase", "phase": phase, "at_ns": at }));
        }
    }

    fn progress(&mut self, progress: Progress) {
        let Progress { at_s, completed, failed, connections_per_s } = progress;
        if self.json {
            self.event(&json!({
                "event": "progress",
                "at_s": at_s,
                "completed": completed,
                "failed": failed,
                "connections_per_s": connections_per_s,
            }));
        } else if !self.quiet {
            self.line(&format!(
                "{at_s:4.0} s  {connections_per_s:9.0} connections/s  {failed} failed"
            ));
        }
    }

    fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }
}

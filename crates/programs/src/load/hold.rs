//! `hold`: connections held idle, and their memory.

use std::io::{self, Write as _};
use std::sync::atomic::Ordering;

use serde_json::json;
use tlslab_contract::spec::{HttpVersion, RunSpec, SpecError};
use tlslab_load::check::check;
use tlslab_load::hold::{HoldRecord, Level, Plan, hold};
use tlslab_wire::wording::{counted, decimal, grouped};

use crate::load::ending::{AGAINST, Ending, INTERRUPTED};
use crate::load::problem::Problem;
use crate::load::{interrupt_flag, print_json, trust};

/// The form of the output.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Whether to print the record as JSON instead of a table.
    pub json: bool,
    /// Whether to write events as JSON lines to standard error.
    pub events: bool,
}

/// Holds connections and prints the results. `problem` converts the error of a specification.
pub fn run(
    plan: &Plan,
    spec: RunSpec,
    output: Output,
    problem: impl Fn(&SpecError) -> Problem,
) -> Result<Ending, Problem> {
    let interrupt = interrupt_flag()?;
    // The limit of open files is checked for the highest level.
    let connections = plan.levels.last().copied().unwrap_or(1);
    let spec = RunSpec { connections, ..spec }.checked().map_err(|error| problem(&error))?;
    if spec.spec().http.version == HttpVersion::Http2 {
        return Err(Problem::usage("hold needs HTTP/1.1; leave --http 2 out".to_owned()));
    }
    let trust = trust::anchors(&spec.spec().tls.trust)?;
    let refused = |error| Problem::of_run(error, &spec);
    let checked = check(&spec, trust).map_err(refused)?;
    interrupt.store(false, Ordering::SeqCst);
    let record = hold(&spec, &checked, plan, &mut |level| report(output, level), &interrupt)?;
    if output.json {
        print_json(&record)?;
    } else {
        write!(io::stdout(), "{}", text(&record))?;
    }
    Ok(ending(&record, !output.json))
}

/// A closed standard error does not end the run: the record is the result.
fn report(output: Output, level: &Level) {
    if output.events {
        let event = json!({ "event": "held", "level": level });
        let _ = writeln!(io::stderr(), "{event}");
    } else if !output.json {
        let _ = writeln!(io::stderr(), "{} held", counted(level.connections, "connection"));
    }
}

fn text(record: &HoldRecord) -> String {
    let mut text = format!("{} by {}\n", record.address, record.backend);
    text += &format!("{:>12} {:>14} {:>18}\n", "connections", "memory KiB", "KiB per connection");
    let empty = record.empty.anonymous;
    for level in &record.levels {
        let kib = level.memory.anonymous as f64 / 1024.0;
        let more = level.memory.anonymous.saturating_sub(empty) as f64 / 1024.0;
        let each = more / level.connections.max(1) as f64;
        let (connections, kib) = (grouped(level.connections), decimal(kib, 0));
        text += &format!("{connections:>12} {kib:>14} {:>18}\n", decimal(each, 2));
    }
    let (alive, lost) = (grouped(record.alive), grouped(record.lost));
    text += &format!("{alive} answered again, {lost} lost\n");
    for (class, count) in &record.failed {
        text += &format!("  {} {class}\n", grouped(*count));
    }
    text
}

fn ending(record: &HoldRecord, for_people: bool) -> Ending {
    let (code, reason) = match record {
        HoldRecord { interrupted: true, .. } => (INTERRUPTED, "interrupted"),
        HoldRecord { alive, attempts, .. } if alive == attempts => (0, "every connection lasted"),
        _ => (AGAINST, "connections were lost, see above"),
    };
    Ending::new(code, reason, for_people)
}

//! `--hold`: connections held idle, and what they cost in memory.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tlslab_contract::spec::{HttpVersion, RunSpec};
use tlslab_load::check::check;
use tlslab_load::hold::{HoldRecord, Level, hold};

use crate::arguments::Arguments;
use crate::problem::Problem;
use crate::{print_json, trust};

/// Holds connections and prints what was found.
pub fn run(arguments: &Arguments, interrupt: &AtomicBool) -> Result<ExitCode, Problem> {
    let plan = arguments.hold.plan()?;
    // The limit on files is checked for as many connections as there will be.
    let connections = plan.levels.last().copied().unwrap_or(1);
    let spec = RunSpec { connections, ..arguments.spec()? }
        .checked()
        .map_err(|error| arguments.problem(&error))?;
    if spec.spec().http.version == HttpVersion::Http2 {
        return Err(Problem::usage(
            "--hold goes with HTTP/1.1 only; leave --http 2 out".to_owned(),
        ));
    }
    let trust = trust::anchors(&spec.spec().tls.trust)?;
    let checked = check(&spec, trust)?;
    interrupt.store(false, Ordering::SeqCst);
    let record = hold(&spec, &checked, &plan, &mut |level| tell(arguments, level), interrupt)?;
    if arguments.json() {
        print_json(&record)?;
    } else {
        write!(io::stdout(), "{}", text(&record))?;
    }
    Ok(exit_code(&record))
}

/// A reader that is gone does not end the run: the record is what counts.
fn tell(arguments: &Arguments, level: &Level) {
    if arguments.events {
        let event = json!({ "event": "held", "level": level });
        let _ = writeln!(io::stderr(), "{event}");
    } else if !arguments.json() {
        let _ = writeln!(io::stderr(), "{} connections held", level.connections);
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
        text += &format!("{:>12} {kib:>14.0} {each:>18.2}\n", level.connections);
    }
    text += &format!("{} answered again, {} lost\n", record.alive, record.lost);
    for (class, count) in &record.failed {
        text += &format!("  {count} {class}\n");
    }
    text
}

fn exit_code(record: &HoldRecord) -> ExitCode {
    match record {
        HoldRecord { interrupted: true, .. } => ExitCode::from(130),
        HoldRecord { alive, attempts, .. } if alive == attempts => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

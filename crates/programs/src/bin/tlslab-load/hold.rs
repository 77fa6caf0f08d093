//! `--hold`: connections held idle, and what they cost in memory.

use std::io::{self, Write as _};
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tlslab_engine::check::check;
use tlslab_engine::clock::MILLISECOND;
use tlslab_engine::hold::{HoldRecord, Level, Plan, hold};
use tlslab_engine::spec::{HttpVersion, RunSpec};

use crate::arguments::{Arguments, milliseconds, time};
use crate::problem::Problem;
use crate::{print_json, trust};

/// The flags of this mode.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connections at rest")]
pub struct Flags {
    /// Hold so many connections idle, one request made on each, and print what they cost in memory;
    /// several levels in rising order: 1000,5000,10000
    #[arg(
        long = "hold",
        value_name = "N,...",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = [
            "connections", "threads", "duration", "count", "warmup", "requests_per_connection",
            "handshake_only", "preflight", "cpu", "rate", "step", "think", "trace",
            "keylog",
        ]
    )]
    levels: Vec<u32>,

    /// How long --hold rests at each level
    #[arg(long, value_parser = time, default_value = "1s", value_name = "TIME", requires = "levels")]
    dwell: Duration,

    /// Addresses of this machine to connect from, in turn: 127.0.0.2,127.0.0.3
    #[arg(
        long = "source",
        value_name = "ADDRESS,...",
        value_delimiter = ',',
        help_heading = "Target"
    )]
    pub sources: Vec<IpAddr>,
}

impl Flags {
    /// Whether connections are to be held.
    pub fn is_asked_for(&self) -> bool {
        !self.levels.is_empty()
    }

    fn plan(&self) -> Result<Plan, Problem> {
        if !self.levels.is_sorted_by(|a, b| a < b) {
            return Err(Problem::usage("--hold: the levels have to rise".to_owned()));
        }
        Ok(Plan { levels: self.levels.clone(), dwell: milliseconds(self.dwell) * MILLISECOND })
    }
}

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

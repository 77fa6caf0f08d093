//! Writes the trace of a run: one line of CSV for each connection.

use std::io::{self, Write};

use tlslab_load::trace::{Trace, TracedConnection};
use tlslab_wire::outcome::{ABANDONED, Outcome};
use tlslab_wire::wording::{counted, grouped};

use crate::load::output::OutputFile;
use crate::load::problem::Problem;

/// The column names. Instants are nanoseconds of CLOCK_MONOTONIC; empty if the event did not occur.
const HEADER: &str = "connection,local_port,intended_ns,started_ns,established_ns,secured_ns,\
                      answered_ns,ended_ns,outcome";

/// The file of a trace, opened before the run so that no measurement is wasted.
#[derive(Debug)]
pub struct TraceFile {
    path: String,
    file: OutputFile,
}

impl TraceFile {
    /// Checks that the path can be written, and changes nothing.
    pub fn open(path: &str) -> Result<Self, Problem> {
        Ok(Self { path: path.to_owned(), file: OutputFile::open(path)? })
    }

    /// Writes the connections, numbered in order of their start. Reports on standard error how many
    /// did not fit into the trace.
    pub fn write(self, trace: &Trace) -> Result<(), Problem> {
        let Self { path, file } = self;
        if trace.left_out > 0 {
            let kept = counted(trace.connections.len() as u64, "connection");
            let left_out = grouped(trace.left_out);
            let words =
                format!("tlslab-load: '{path}' has room for {kept}; {left_out} are left out");
            // A closed standard error does not end the run.
            let _ = writeln!(io::stderr(), "{words}");
        }
        file.write(|out| {
            writeln!(out, "{HEADER}")?;
            for (number, connection) in trace.connections.iter().enumerate() {
                writeln!(out, "{}", row(number, connection))?;
            }
            Ok(())
        })
    }
}

fn row(number: usize, c: &TracedConnection) -> String {
    let port = u64::from(c.local_port);
    let reached = [port, c.intended, c.started, c.established, c.secured, c.answered, c.ended]
        .map(|value| if value == 0 { String::new() } else { value.to_string() });
    let outcome = match c.outcome {
        None => "in_flight_at_stop".to_owned(),
        Some(Outcome::Completed) => "completed".to_owned(),
        Some(Outcome::Failed(failure)) => failure.to_string(),
        Some(Outcome::Unexpected(fact)) => format!("unexpected_{fact}"),
        Some(Outcome::Abandoned) => ABANDONED.to_owned(),
    };
    format!("{number},{},{outcome}", reached.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::outcome::{Failure, Step};

    #[test]
    fn instants_that_were_not_reached_are_empty() {
        let connection = TracedConnection {
            local_port: 40_000,
            intended: 0,
            started: 5,
            established: 7,
            secured: 0,
            answered: 0,
            ended: 9,
            outcome: Some(Outcome::Failed(Failure::Closed(Step::Handshake))),
        };
        assert_eq!(row(3, &connection), "3,40000,,5,7,,,9,closed_handshake");
        assert_eq!(row(0, &connection).matches(',').count(), HEADER.matches(',').count());
    }
}

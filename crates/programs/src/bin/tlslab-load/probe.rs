//! `--probe`: what a server accepts, for programs and for people.

mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use tlslab_probe::probe;

use crate::arguments::Arguments;
use crate::problem::Problem;
use crate::{print_json, trust};

/// Probes and prints what was found.
pub fn carry_out(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let spec = arguments.probe_spec()?.checked().map_err(|error| arguments.problem(&error))?;
    let trust = trust::anchors_of_probe(&spec.spec().trust)?;
    let record = probe(&spec, trust)?;
    if arguments.json() {
        print_json(&record)?;
    } else {
        io::stdout().write_all(text::table(&record).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

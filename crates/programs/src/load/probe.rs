//! `probe`: the parameters that a server accepts, for programs and for people.

mod text;

use std::io::{self, Write};

use tlslab_contract::spec::SpecError;
use tlslab_probe::{ProbeSpec, probe};

use crate::load::ending::Ending;
use crate::load::problem::Problem;
use crate::load::{interrupt_flag, print_json, trust};

/// Probes and prints the findings. `problem` converts the error of a specification.
pub fn carry_out(
    spec: ProbeSpec,
    json: bool,
    problem: impl Fn(&SpecError) -> Problem,
) -> Result<Ending, Problem> {
    // An interrupted probe has no result worth keeping: the flag stays set, so a signal ends the
    // program.
    let _interrupt = interrupt_flag()?;
    let spec = spec.checked().map_err(|error| problem(&error))?;
    let trust = trust::anchors_of_probe(&spec.spec().trust)?;
    let record = probe(&spec, trust)?;
    if json {
        print_json(&record)?;
    } else {
        io::stdout().write_all(text::table(&record).as_bytes())?;
    }
    Ok(Ending::new(0, "probed", !json))
}

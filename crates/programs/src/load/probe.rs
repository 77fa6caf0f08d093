//! `probe`: the parameters that a server accepts, for programs and for people.

mod text;

use std::io::{self, Write};

use rustls_native_certs::load_native_certs;
use schemars::schema_for;
use tlslab_contract::spec::{SpecError, Trust};
use tlslab_probe::{ProbeError, ProbeRecord, ProbeSpec, probe};
use tlslab_tls::TrustAnchors;

use crate::load::arguments::Arguments;
use crate::load::arguments::probe::ProbeCommand;
use crate::load::ending::Ending;
use crate::load::problem::Problem;
use crate::load::{interrupt_flag, print_json, trust};

/// Runs the mode `probe`.
pub fn by_command(command: &ProbeCommand) -> Result<Ending, Problem> {
    carry_out(command.spec()?, command.json, |error| command.problem(error))
}

/// Runs the option `--probe`.
pub fn by_flags(arguments: &Arguments) -> Result<Ending, Problem> {
    carry_out(arguments.probe_spec()?, arguments.json(), |error| arguments.problem(error))
}

/// The JSON Schemas of the specification and of the record.
pub fn schemas() -> Result<[schemars::Schema; 2], Problem> {
    Ok([schema_for!(ProbeSpec), schema_for!(ProbeRecord)])
}

/// Probes and prints the findings. `problem` converts the error of a specification.
fn carry_out(
    spec: ProbeSpec,
    json: bool,
    problem: impl Fn(&SpecError) -> Problem,
) -> Result<Ending, Problem> {
    // An interrupted probe has no result worth keeping: the flag stays set, so a signal ends the
    // program.
    let _interrupt = interrupt_flag()?;
    let spec = spec.checked().map_err(|error| problem(&error))?;
    let record = probe(&spec, anchors(&spec.spec().trust)?)?;
    if json {
        print_json(&record)?;
    } else {
        io::stdout().write_all(text::table(&record).as_bytes())?;
    }
    Ok(Ending::new(0, "probed", !json))
}

/// The trust anchors of a probe, which may have none: it only reports a chain that is not accepted.
fn anchors(trust: &Trust) -> Result<TrustAnchors, Problem> {
    match trust {
        Trust::System => {
            let found = load_native_certs().certs;
            Ok(TrustAnchors::Certificates(found.iter().map(|c| c.as_ref().to_vec()).collect()))
        }
        other => trust::anchors(other),
    }
}

impl From<ProbeError> for Problem {
    fn from(error: ProbeError) -> Self {
        let problem = Self::of_class(&error.class(), error.to_string(), false);
        match error {
            ProbeError::NoTls { .. } => problem.with_remedy(NO_TLS),
            ProbeError::StartTls { .. } => problem.with_remedy(NO_STARTTLS),
            _ => problem,
        }
    }
}

/// The remedy for a server that does not answer in TLS.
const NO_TLS: &str = "check that the port speaks TLS; a site that goes by its name needs --sni NAME; \
                      smtp, imap, pop3, postgres and ldap need --starttls SERVICE";

/// The remedy for a server that does not turn to TLS.
const NO_STARTTLS: &str = "check the port and the service of --starttls; leave it out where TLS \
                           begins at once";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shown::assert_shown;

    #[test]
    fn remedies_name_options_of_a_probe() {
        [NO_TLS, NO_STARTTLS].iter().for_each(|remedy| assert_shown(remedy, "probe"));
    }
}

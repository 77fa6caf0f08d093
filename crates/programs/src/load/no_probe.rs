//! `probe` in a build without OpenSSL, which makes its handshakes.

use crate::load::arguments::Arguments;
use crate::load::arguments::probe::ProbeCommand;
use crate::load::ending::Ending;
use crate::load::problem::Problem;

/// Refuses the mode `probe`.
pub fn by_command(_: &ProbeCommand) -> Result<Ending, Problem> {
    Err(Problem::without_openssl("probe"))
}

/// Refuses the option `--probe`.
pub fn by_flags(_: &Arguments) -> Result<Ending, Problem> {
    Err(Problem::without_openssl("probe"))
}

/// Refuses the JSON Schemas.
pub fn schemas() -> Result<[schemars::Schema; 2], Problem> {
    Err(Problem::without_openssl("probe"))
}

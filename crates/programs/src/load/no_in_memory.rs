//! `in-memory` in a build without OpenSSL, one of its two libraries.

use std::ffi::OsString;

use clap::Args;

use crate::load::ending::Ending;
use crate::load::problem::Problem;

/// The command line, whatever is on it.
#[derive(Debug, Args)]
pub struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

/// Refuses the mode.
pub fn run(_: Arguments) -> Result<Ending, Problem> {
    Err(Problem::without_openssl("in-memory"))
}

/// Refuses the JSON Schema.
pub fn schema() -> Result<schemars::Schema, Problem> {
    Err(Problem::without_openssl("in-memory"))
}

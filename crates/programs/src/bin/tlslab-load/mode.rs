//! The program's modes: each has a command line of its own.

use std::process::ExitCode;

use clap::Parser;

use crate::problem::Problem;

/// Whether the command line has the flag that stands for a mode.
pub fn is(flag: &str) -> bool {
    std::env::args_os().any(|argument| argument == flag)
}

/// Reads the command line of a mode and runs it; whether problems are to be told as JSON too.
pub fn run<A: Parser>(
    mode: impl FnOnce(A) -> Result<ExitCode, Problem>,
) -> (bool, Result<ExitCode, Problem>) {
    let json = is("--json") || is("--preflight");
    match A::try_parse() {
        Ok(arguments) => (json, mode(arguments)),
        Err(error) if error.use_stderr() => (json, Err(error.into())),
        Err(help_or_version) => help_or_version.exit(),
    }
}

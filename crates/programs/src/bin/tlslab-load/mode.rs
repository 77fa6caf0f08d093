//! The program's modes: each has a command line of its own.

use std::process::ExitCode;

use crate::problem::Problem;

/// Whether the command line has the flag that stands for a mode.
pub fn is(flag: &str) -> bool {
    std::env::args_os().any(|argument| argument == flag)
}

/// Whether the command line asks for JSON by its long name.
fn is_json_format() -> bool {
    let words: Vec<_> = std::env::args_os().collect();
    words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json") || is("--format=json")
}

/// Runs a mode with its command line as it was read; whether problems are to be told as JSON too.
pub fn run<A>(
    arguments: Result<A, clap::Error>,
    mode: impl FnOnce(A) -> Result<ExitCode, Problem>,
) -> (bool, Result<ExitCode, Problem>) {
    let json = is("--json") || is("--preflight") || is_json_format();
    match arguments {
        Ok(arguments) => (json, mode(arguments)),
        Err(error) if error.use_stderr() => (json, Err(error.into())),
        Err(help_or_version) => help_or_version.exit(),
    }
}

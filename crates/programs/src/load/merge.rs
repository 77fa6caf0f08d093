//! `tlslab-load merge`: merges the records of several generators.

use std::fs;
use std::path::Path;

use clap::Args;
use serde::de::DeserializeOwned;
use tlslab_contract::record::RunRecord;
use tlslab_load::merge::{HostFindings, MergeError, Named, merge};

use crate::load::arguments::Format;
use crate::load::deliver;
use crate::load::ending::Ending;
use crate::load::fail_if::Condition;
use crate::load::output::OutputFile;
use crate::load::problem::Problem;
use crate::load::summary::Aside;

/// The command line of `merge`.
#[derive(Debug, Args)]
pub struct MergeCommand {
    /// Record of each generator, as written by --output or --json. NAME=FILE names the generator;
    /// by default it has the name of the file
    #[arg(required = true, value_name = "[NAME=]FILE")]
    records: Vec<String>,

    /// Report on a host that was lost in the run and left no record (repeatable)
    #[arg(long, value_name = "FILE")]
    lost: Vec<String>,

    /// Kernels, speeds and clocks of the hosts, by name
    #[arg(long, value_name = "FILE")]
    found: Option<String>,

    /// Write the merged record as JSON to this file, with any --format
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    /// Format of standard output
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json"
    )]
    format: Format,

    /// Print the merged record as JSON; same as --format json
    #[arg(long)]
    json: bool,

    /// End with exit code 1 if this holds for all generators together: p99>50ms, rate<1000,
    /// requests<5000, failed>0, failed>1% (repeatable; see --help of a load)
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Condition>,
}

impl MergeCommand {
    /// Findings about hosts that are not in the records.
    fn findings(&self) -> Result<HostFindings, Problem> {
        let lost = self.lost.iter().map(|file| parsed(file, "an account of a lost host"));
        let found = self.found.as_deref().map(|file| parsed(file, "an account of hosts by name"));
        let lost = lost.collect::<Result<_, _>>()?;
        Ok(HostFindings { lost, found: found.transpose()?.unwrap_or_default() })
    }
}

/// Merges the records; the exit code follows the merged verdicts, as for a single run. A single
/// record that is merged already is printed.
///
/// # Errors
/// A record cannot be read, or the records belong to different loads.
pub fn carry_out(command: &MergeCommand) -> Result<Ending, Problem> {
    let parts: Vec<Named> =
        command.records.iter().map(|word| read(word)).collect::<Result<_, _>>()?;
    let output = command.output.as_deref().map(OutputFile::open).transpose()?;
    let nothing_to_add = command.lost.is_empty() && command.found.is_none();
    let record = match &parts[..] {
        [Named { record, .. }] if nothing_to_add && !record.hosts.is_empty() => record.clone(),
        parts => merge(parts, &command.findings()?).map_err(|error| problem(&error))?,
    };
    let format = if command.json { Format::Json } else { command.format };
    deliver(&record, &Aside::default(), format, output, &command.fail_if)
}

/// Reads the record that an argument `NAME=FILE` or `FILE` names.
fn read(word: &str) -> Result<Named, Problem> {
    let (name, file) = match word.split_once('=') {
        Some((name, file)) if !name.contains('/') => (name.to_owned(), file),
        _ => (stem(word), word),
    };
    let record: RunRecord = parsed(file, "a record of a run")?;
    Ok(Named { name, record })
}

/// Reads a JSON file. `what` names the expected content in the error.
fn parsed<T: DeserializeOwned>(file: &str, what: &str) -> Result<T, Problem> {
    let text = fs::read_to_string(file)
        .map_err(|error| Problem::usage(format!("cannot read '{file}': {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::usage(format!("'{file}' is not {what}: {error}")))
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| file.to_owned())
}

fn problem(error: &MergeError) -> Problem {
    Problem::usage(error.to_string())
}

//! The program `tlslab-load`.

mod arguments;
mod barrier;
mod certificate;
mod ending;
mod events;
mod fail_if;
mod hold;
#[cfg_attr(not(feature = "openssl"), path = "no_in_memory.rs")]
mod in_memory;
mod keylog;
mod merge;
mod mode;
mod output;
mod primitives;
#[cfg_attr(not(feature = "openssl"), path = "no_probe.rs")]
mod probe;
mod problem;
mod server;
#[cfg(test)]
mod shown;
mod summary;
mod totals;
mod trace;
mod trust;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tlslab_contract::record::RunRecord;
use tlslab_load::check::{Checked, check_logged};
use tlslab_load::run::{run, run_from};
use tlslab_system::memory::without_huge_pages;

use self::arguments::{Arguments, Format};
use self::barrier::Barrier;
use self::ending::Ending;
use self::events::Reporter;
use self::fail_if::Condition;
use self::mode::CommandLine;
use self::output::OutputFile;
use self::problem::Problem;
use self::summary::Aside;
use self::trace::TraceFile;

/// Runs the command line.
pub fn main() -> ExitCode {
    without_huge_pages();
    let result = match CommandLine::read() {
        Ok(CommandLine { mode: Some(mode), .. }) => mode.carry_out(),
        Ok(CommandLine { mode: None, load }) => measure(&load),
        Err(error) if error.use_stderr() => Err(error.into()),
        Err(help_or_version) => help_or_version.exit(),
    };
    match result {
        Ok(ending) => ending.conclude(),
        Err(problem) => {
            // If standard output is closed as well, there is nowhere to report to.
            let _ = problem.report(mode::asks_for_json());
            problem.exit_code()
        }
    }
}

/// Makes a load, or the action that an option requests instead.
fn measure(arguments: &Arguments) -> Result<Ending, Problem> {
    match instead_of_load(arguments)? {
        Some(ending) => Ok(ending),
        None => load(arguments),
    }
}

/// The action that an option requests instead of a load: a mode by its older option, or output
/// about the program itself. `None` without such an option.
fn instead_of_load(arguments: &Arguments) -> Result<Option<Ending>, Problem> {
    if let Some(format) = arguments.print_schema {
        return mode::print_schema(format).map(Some);
    }
    if let Some(shell) = arguments.completion {
        crate::print_completion::<CommandLine>(shell)?;
        return Ok(Some(Ending::SILENT));
    }
    if arguments.man {
        crate::print_manual::<CommandLine>()?;
        return Ok(Some(Ending::SILENT));
    }
    if arguments.probe.asked() {
        return probe::by_flags(arguments).map(Some);
    }
    if arguments.print_spec {
        return print_spec(arguments).map(Some);
    }
    if arguments.hold.is_asked_for() {
        let output = hold::Output { json: arguments.json(), events: arguments.events };
        let problem = |error: &_| arguments.problem(error);
        return hold::run(&arguments.hold.plan()?, arguments.spec()?, output, problem).map(Some);
    }
    Ok(None)
}

/// Makes a load, and prints and writes its record. The record comes first: a file that cannot be
/// written then costs no measurement.
fn load(arguments: &Arguments) -> Result<Ending, Problem> {
    let interrupt = interrupt_flag()?;
    let spec = arguments.spec()?.checked().map_err(|error| arguments.problem(&error))?;
    let trust = trust::anchors(&spec.spec().tls.trust)?;
    let mut reporter =
        Reporter::new(arguments.events, arguments.json() && !arguments.load.progress);
    let log = keylog::open(arguments.keylog.as_deref())?;
    let refused = |error| Problem::of_run(error, &spec);
    let checked = check_logged(&spec, trust, log.clone()).map_err(refused)?;
    interrupt.store(false, Ordering::SeqCst);
    if arguments.preflight {
        log.map_or(Ok(()), |log| log.finish())?;
        print_json(&preflight(&checked))?;
        return Ok(Ending::SILENT);
    }
    let trace = arguments.load.trace.as_deref().map(TraceFile::open).transpose()?;
    let output = arguments.output.as_deref().map(OutputFile::open).transpose()?;
    if checked.permit.address.ip().is_loopback() && arguments.format() != Format::Json {
        reporter.watch_server(checked.permit.address);
    }
    let record = if arguments.barrier {
        reporter.report_life();
        run_from(&spec, &checked, &mut reporter, &interrupt, &mut Barrier)?
    } else {
        run(&spec, &checked, &mut reporter, &interrupt)?
    };
    let server = reporter.take_usage();
    let default_connections = arguments.default_connections(&spec.spec().load);
    let aside = Aside { server, default_connections };
    let conditions = &arguments.load.fail_if;
    let ending = deliver(&record, &aside, arguments.format(), output, conditions);
    let traced =
        trace.zip(reporter.take_trace()).map_or(Ok(()), |(file, trace)| file.write(&trace));
    let logged = log.map_or(Ok(()), |log| log.finish());
    let ending = ending?;
    traced?;
    logged?;
    Ok(ending)
}

/// Writes a record to its file, if it has one, prints it in this format, and checks conditions. A
/// record that cannot be written is also printed as JSON, so that it is not lost.
fn deliver(
    record: &RunRecord,
    aside: &Aside,
    format: Format,
    output: Option<OutputFile>,
    conditions: &[Condition],
) -> Result<Ending, Problem> {
    let line = json_line(record)?;
    let stored = output.map_or(Ok(()), |file| file.write(|out| out.write_all(line.as_bytes())));
    let ending = print_record(record, aside, format);
    if stored.is_err() && format != Format::Json {
        // The error of the file is reported.
        let _ = io::stdout().write_all(line.as_bytes());
    }
    let failures = conditions.iter().filter_map(|condition| condition.failure(record));
    stored.and(ending).map(|ending| ending.failed_by(failures, format != Format::Json))
}

/// Prints a record in this format, with what is known beside it. The exit code follows from the
/// record's verdicts.
fn print_record(record: &RunRecord, aside: &Aside, format: Format) -> Result<Ending, Problem> {
    let shown = match format {
        Format::Json => json_line(record)?,
        Format::Text => summary::text(record, aside),
        Format::Markdown => summary::markdown(record, aside),
        Format::Csv => summary::csv(record, aside.server.as_ref()),
    };
    io::stdout().write_all(shown.as_bytes())?;
    Ok(Ending::of(&record.verdicts, format != Format::Json))
}

/// Prints the specification that the options result in.
fn print_spec(arguments: &Arguments) -> Result<Ending, Problem> {
    let spec = arguments.spec()?.checked().map_err(|error| arguments.problem(&error))?;
    if spec.spec().tls.client_identity.is_some() {
        let words = "--print-spec does not print a client's private key; leave --client-key out";
        return Err(Problem::usage(words.to_owned()));
    }
    print_json(spec.spec())?;
    Ok(Ending::SILENT)
}

fn preflight(checked: &Checked) -> serde_json::Value {
    json!({
        "schema": "tlslab.preflight/1",
        "address": checked.permit.address.to_string(),
        "backend": checked.backend.name(),
        "preflight": checked.preflight,
    })
}

/// SIGINT and SIGTERM set the flag, which ends the run early. While the flag is set, they end the
/// program at once. So the flag is set as long as there is no run whose record could be kept.
fn interrupt_flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(true));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

fn print_json(value: &impl serde::Serialize) -> io::Result<()> {
    io::stdout().write_all(json_line(value)?.as_bytes())
}

fn json_line(value: &impl serde::Serialize) -> io::Result<String> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(line)
}

//! The modes of the program, each with its own command line. A load is one of them.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::RunSpec;
use tlslab_load::hold::HoldRecord;
use tlslab_microbench::primitives::PrimitivesRecord;

use crate::load::arguments::hold::HoldCommand;
use crate::load::arguments::load::with_ramp_joined;
use crate::load::arguments::probe::ProbeCommand;
use crate::load::arguments::{Arguments, Schema, problem_in_options};
use crate::load::ending::Ending;
use crate::load::merge::MergeCommand;
use crate::load::problem::Problem;
use crate::load::{hold, in_memory, merge, primitives, print_json, probe};

/// The options of a load in the short help (`-h`). `--help` shows all options.
const USUAL: [&str; 25] = [
    "connections",
    "threads",
    "duration",
    "count",
    "warmup",
    "rate",
    "cpu",
    "http",
    "requests_per_connection",
    "handshake_only",
    "headers",
    "tls",
    "suite",
    "group",
    "sigalg",
    "sni",
    "ca",
    "insecure",
    "lean",
    "resume",
    "client_cert",
    "client_key",
    "allow",
    "json",
    "output",
];

/// Opens TLS connections to one server and measures them.
///
/// Loads loopback addresses, and other hosts only with --allow. Exit status: 0 done and valid, 1
/// done but a verdict failed, 2 wrong usage, 3 could not run, 130 interrupted.
#[derive(Debug, Parser)]
#[command(
    name = "tlslab-load",
    version = crate::VERSION,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct CommandLine {
    /// A mode. Without a mode: `run`.
    #[command(subcommand)]
    pub mode: Option<Mode>,

    /// The command line of a load.
    #[command(flatten)]
    pub load: Arguments,
}

/// The modes of the program.
#[derive(Debug, Subcommand)]
pub enum Mode {
    /// Open connections to a server and measure them; the word `run` is optional
    Run(Box<Arguments>),
    /// Find out what a server accepts, without load
    Probe(Box<ProbeCommand>),
    /// Merge the records of one load by several generators into one record
    Merge(MergeCommand),
    /// Hold idle connections, each after one request, and measure their memory
    Hold(Box<HoldCommand>),
    /// Measure a TLS client and server in one process, without sockets
    InMemory(Box<in_memory::Arguments>),
    /// Measure the cost of each TLS primitive on this machine
    Primitives(primitives::Arguments),
    /// Print the JSON Schema of a format
    Schema(SchemaCommand),
}

/// The command line of `schema`.
#[derive(Debug, Args)]
pub struct SchemaCommand {
    /// Format whose schema to print
    #[arg(value_enum, value_name = "FORMAT")]
    format: Schema,
}

impl CommandLine {
    /// Reads the command line of the process.
    ///
    /// # Errors
    /// The command line is wrong, or requests help or the version.
    pub fn read() -> Result<Self, clap::Error> {
        Self::of(std::env::args_os().collect())
    }

    fn of(mut words: Vec<OsString>) -> Result<Self, clap::Error> {
        // Modes were options once. An option may stand anywhere.
        for (flag, mode) in [("--in-memory", "in-memory"), ("--primitives", "primitives")] {
            if let Some(place) = words.iter().position(|word| word == flag) {
                words.remove(place);
                words.insert(1, mode.into());
            }
        }
        let words = with_ramp_joined(words.into_iter());
        let read = Self::from_arg_matches(&Self::parser().try_get_matches_from(words)?)?;
        read.with_mode_first()
    }

    /// Refuses the name of a mode after options. It would be read as one of several URLs.
    fn with_mode_first(self) -> Result<Self, clap::Error> {
        let command = Self::command();
        let [first, _, ..] = &*self.load.urls.urls else { return Ok(self) };
        if command.find_subcommand(first).is_none() {
            return Ok(self);
        }
        let words = format!("a mode comes before all options: tlslab-load {first} ...");
        Err(clap::Error::raw(ErrorKind::UnknownArgument, words))
    }

    fn parser() -> clap::Command {
        // A negative number is then an invalid value instead of an unknown option.
        let values = |arg: clap::Arg| {
            let takes_value = arg.get_long().is_some() && arg.get_action().takes_values();
            arg.allow_negative_numbers(takes_value)
        };
        let brief = |arg: clap::Arg| {
            let is_shown = arg.is_positional() || USUAL.contains(&arg.get_id().as_str());
            arg.hide_short_help(!is_shown)
        };
        Self::command()
            .mut_args(values)
            .mut_subcommands(|mode| mode.mut_args(values))
            .mut_args(brief)
            .mut_subcommand("run", |run| run.mut_args(brief))
    }
}

impl Mode {
    /// Runs this mode.
    ///
    /// # Errors
    /// The command line is wrong, or no measurement was possible.
    pub fn carry_out(self) -> Result<Ending, Problem> {
        match self {
            Self::Run(arguments) => crate::load::measure(&arguments),
            Self::Probe(command) => probe::by_command(&command),
            Self::Merge(command) => merge::carry_out(&command),
            Self::Hold(command) => {
                let output = hold::Output { json: command.json, events: command.events };
                hold::run(&command.plan()?, command.spec()?, output, problem_in_options)
            }
            Self::InMemory(arguments) => in_memory::run(*arguments),
            Self::Primitives(arguments) => primitives::run(arguments),
            Self::Schema(command) => print_schema(command.format),
        }
    }
}

/// Prints the JSON Schema of a format.
pub fn print_schema(format: Schema) -> Result<Ending, Problem> {
    print_json(&match format {
        Schema::Spec => schemars::schema_for!(RunSpec),
        Schema::Record => schemars::schema_for!(RunRecord),
        Schema::Hold => schemars::schema_for!(HoldRecord),
        Schema::InMemory => in_memory::schema()?,
        Schema::Primitives => schemars::schema_for!(PrimitivesRecord),
        Schema::ProbeSpec => probe::schemas()?[0].clone(),
        Schema::Probe => probe::schemas()?[1].clone(),
    })?;
    Ok(Ending::SILENT)
}

/// True if problems are to be reported as JSON. The command line may be too faulty to be parsed.
pub fn asks_for_json() -> bool {
    let words: Vec<_> = std::env::args_os().collect();
    let is = |flag: &str| words.iter().any(|word| word == flag);
    let pair = words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    is("--json") || is("--preflight") || is("--format=json") || pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<CommandLine, clap::Error> {
        CommandLine::of([&["tlslab-load"], words].concat().iter().map(OsString::from).collect())
    }

    #[test]
    fn a_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn the_short_help_has_the_usual_options_and_the_long_one_all() {
        for mode in [&[][..], &["run"]] {
            let help = |flag| of(&[mode, &[flag]].concat()).unwrap_err().to_string();
            let (short, long) = (help("-h"), help("--help"));
            let is_option = |line: &&str| line.trim_start().starts_with('-');
            // Plus -h, and in the program's own help -V.
            assert!(short.lines().filter(is_option).count() <= USUAL.len() + 2, "{short}");
            assert!(short.lines().count() < 80, "{short}");
            assert!(short.contains("--lean") && !short.contains("--dh-bits"), "{short}");
            assert!(long.contains("--lean") && long.contains("--dh-bits"), "{long}");
        }
    }

    #[test]
    fn a_load_needs_no_word() {
        assert!(of(&["-c", "5", "localhost:1"]).unwrap().mode.is_none());
        let Some(Mode::Run(run)) = of(&["run", "-c", "5", "localhost:1"]).unwrap().mode else {
            panic!("no run");
        };
        assert_eq!(
            run.spec().unwrap(),
            of(&["-c", "5", "localhost:1"]).unwrap().load.spec().unwrap()
        );
    }

    #[test]
    fn flags_that_were_modes_still_are() {
        for words in [&["--in-memory", "-t", "2"][..], &["-t", "2", "--in-memory"]] {
            assert!(matches!(of(words).unwrap().mode, Some(Mode::InMemory(_))), "{words:?}");
        }
        assert!(matches!(of(&["--primitives"]).unwrap().mode, Some(Mode::Primitives(_))));
        assert!(of(&["--hold", "3", "localhost:1"]).unwrap().load.hold.is_asked_for());
    }

    #[test]
    fn a_word_and_a_flag_of_a_mode_mean_the_same() {
        let flags = ["--probe", "h", "--probe-only", "alpn", "--probe-rate", "7", "--insecure"];
        let old = of(&flags).unwrap().load.probe_spec().unwrap();
        let words = ["probe", "h", "--only", "alpn", "--rate", "7", "--insecure"];
        let Some(Mode::Probe(probe)) = of(&words).unwrap().mode else { panic!("no probe") };
        assert_eq!(probe.spec().unwrap(), old);
        let Some(Mode::Hold(hold)) = of(&["hold", "3,8", "localhost:1"]).unwrap().mode else {
            panic!("no hold");
        };
        let old = of(&["--hold", "3,8", "localhost:1"]).unwrap().load;
        assert_eq!(hold.plan().unwrap(), old.hold.plan().unwrap());
        assert_eq!(hold.spec().unwrap(), old.spec().unwrap());
    }

    #[test]
    fn a_mode_behind_options_is_no_url() {
        let error = of(&["--json", "hold", "1", "localhost:1"]).unwrap_err().to_string();
        assert!(error.contains("before all options: tlslab-load hold ..."), "{error}");
        assert!(of(&["localhost:1/a", "localhost:1/b"]).is_ok());
    }

    #[test]
    fn modes_do_not_mix() {
        for words in [&["probe", "h", "-c", "5"][..], &["hold", "5"], &["schema"]] {
            assert!(of(words).is_err(), "{words:?}");
        }
    }
}

//! The command line of `tlslab-load`, and the specification that it stands for.

pub mod hold;
mod http;
pub mod load;
mod names;
#[cfg_attr(not(feature = "openssl"), path = "no_probe.rs")]
pub mod probe;
mod resumption;
mod shape;
mod tls;
mod urls;

use std::fs;
use std::io::{BufRead as _, Read as _};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use serde::de::DeserializeOwned;
use tlslab_contract::spec::{
    Deadlines, RequestsPerConnection, RunSpec, SPEC_SCHEMA, SpecError, Stop,
};

use self::load::LoadArguments;
use self::probe::ProbeArguments;
use self::shape::ShapeArguments;
use self::tls::TlsArguments;
use self::urls::UrlArguments;
use crate::load::problem::Problem;

/// The command line of a load.
#[derive(Debug, Parser)]
#[command(name = "tlslab-load run")]
pub struct Arguments {
    #[command(flatten)]
    pub urls: UrlArguments,

    /// Read the whole specification (JSON) from this file, or from standard input with -
    #[arg(long, value_name = "FILE|-")]
    spec: Option<String>,

    /// Worker threads
    #[arg(short, long, default_value_t = 1, value_name = "N", help_heading = "Load")]
    threads: u32,

    /// How long to measure: 500ms, 10s, 2m [default: 10s, or what a ramp or --step asks for]
    #[arg(short, long, value_parser = time, value_name = "TIME", conflicts_with = "count", help_heading = "Load")]
    duration: Option<Duration>,

    /// How many connections to measure, instead of a time
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load")]
    count: Option<u64>,

    /// Load before the measurement begins
    #[arg(long, value_parser = time, default_value = "0s", value_name = "TIME", help_heading = "Load")]
    warmup: Duration,

    /// Requests on each connection: a number, or 'unlimited'
    #[arg(long, value_parser = requests, default_value = "1", value_name = "N|unlimited", help_heading = "Requests")]
    requests_per_connection: RequestsPerConnection,

    /// Close each connection once the handshake is done, without a request
    #[arg(long, help_heading = "Requests")]
    handshake_only: bool,

    #[command(flatten)]
    shape: ShapeArguments,

    #[command(flatten)]
    http: http::HttpArguments,

    #[command(flatten)]
    pub load: LoadArguments,

    #[command(flatten)]
    tls: TlsArguments,

    /// Processors to pin the workers to: 1 or 0,2-3
    #[arg(long, value_parser = processors, value_name = "LIST", help_heading = "Load")]
    cpu: Option<Processors>,

    #[command(flatten)]
    pub hold: hold::Flags,

    /// A host that may be loaded although it is not a loopback address (repeatable)
    #[arg(long, value_name = "HOST", help_heading = "Target")]
    allow: Vec<String>,

    /// For a public host beyond 1,000 connections/s or 60 s: it serves /.well-known/tlslab-TOKEN
    #[arg(long, value_name = "TOKEN", help_heading = "Target")]
    proof: Option<String>,

    /// The time that each step of a connection may take [default: 10s; 5s for all steps of a probe]
    #[arg(long, value_parser = time, value_name = "TIME", help_heading = "Target")]
    timeout: Option<Duration>,

    /// Append the secrets of all connections to this file, in the format of SSLKEYLOGFILE, so that a
    /// packet capture can be decrypted. This flag alone turns it on; no environment variable does
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub keylog: Option<String>,

    /// How to print the result: text and markdown for people, the record as JSON, figures as CSV
    #[arg(
        long,
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        conflicts_with = "json",
        help_heading = "Output"
    )]
    format: Format,

    /// Print the record, as JSON, and nothing else on standard output: short for --format json
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the record, as JSON, to this file, whatever is printed
    #[arg(short, long, value_name = "FILE", help_heading = "Output",
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema"])]
    pub output: Option<String>,

    /// Print events to standard error, as JSON lines
    #[arg(long, help_heading = "Output")]
    pub events: bool,

    /// Get ready, print the event `ready`, and start the load at the instant that a line on standard
    /// input gives: {"start_at_ns":N,"unix_s":U}. N is that instant by this host's CLOCK_MONOTONIC, U
    /// the same by the wall clock of the record. With --spec - the specification is the line before
    #[arg(long, help_heading = "Output", requires_all = ["json", "events"],
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema"])]
    pub barrier: bool,

    /// Print the specification that the options stand for, as JSON, and stop
    #[arg(long, help_heading = "Output",
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema", "barrier"])]
    pub print_spec: bool,

    /// Make one verified connection, print what was negotiated as JSON, and stop
    #[arg(long)]
    pub preflight: bool,

    /// What server to probe
    #[command(flatten)]
    pub probe: ProbeArguments,

    /// Print the JSON Schema of a wire format and stop
    #[arg(long, hide = true, value_enum, value_name = "FORMAT")]
    pub print_schema: Option<Schema>,

    /// Print the completions of a shell (bash, zsh, fish) and stop
    #[arg(long, value_enum, value_name = "SHELL", help_heading = "Output")]
    pub completion: Option<Shell>,

    /// Print the manual page, as roff, and stop
    #[arg(long, help_heading = "Output")]
    pub man: bool,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, in a terminal.
    Text,
    /// The record.
    Json,
    /// The figures, a line for each.
    Csv,
    /// For people, as tables in Markdown.
    Markdown,
}

/// The wire formats that have a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Schema {
    /// The specification of a run.
    Spec,
    /// The record of a run.
    Record,
    /// The record of `hold`.
    Hold,
    /// The record of `in-memory`.
    InMemory,
    /// The record of `primitives`.
    Primitives,
    /// The specification of a probe.
    ProbeSpec,
    /// The record of a probe.
    Probe,
}

/// What is wrong with a specification that was given in options.
pub fn problem_in_options(error: &SpecError) -> Problem {
    Problem::usage(names::in_options(&error.to_string()))
}

impl Arguments {
    /// How the result is to be printed.
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Whether the result is printed as JSON.
    pub fn json(&self) -> bool {
        self.format() == Format::Json
    }

    /// The specification that was given, in JSON or in flags.
    pub fn spec(&self) -> Result<RunSpec, Problem> {
        let mut spec = match &self.spec {
            Some(source) if source == "-" && self.barrier => parsed(&spec_line()?)?,
            Some(source) => read_spec(source)?,
            None => self.spec_of_flags()?,
        };
        self.load.complete(&mut spec.load);
        Ok(spec)
    }

    /// The specification of a probe that was given, in JSON or in flags.
    #[cfg(feature = "openssl")]
    pub fn probe_spec(&self) -> Result<tlslab_probe::ProbeSpec, Problem> {
        if let Some(source) = &self.spec {
            let spec: tlslab_probe::ProbeSpec = read_spec(source)?;
            let target = self.probe.target();
            return if target.is_empty() || target == spec.target {
                Ok(spec)
            } else {
                Err(Problem::usage(format!(
                    "the target '{target}' differs from that of --spec; leave it out"
                )))
            };
        }
        let (name, trust) = (self.tls.name(), self.tls.trust()?);
        Ok(self.probe.spec(self.timeout, name, trust, self.allow.clone()))
    }

    /// What is wrong with a specification, in the words that it was given in.
    pub fn problem(&self, error: &SpecError) -> Problem {
        if self.spec.is_some() {
            Problem::usage(error.to_string())
        } else {
            problem_in_options(error)
        }
    }

    fn spec_of_flags(&self) -> Result<RunSpec, Problem> {
        let mut http = self.http.spec()?;
        let url = self.urls.spec(&mut http)?;
        let load = self.load.spec(self.duration)?;
        let length = self.duration.or(self.load.length(&load)?).unwrap_or(LENGTH);
        let step = milliseconds(self.timeout.unwrap_or(STEP)) as u32;
        let deadlines =
            Deadlines { connect_ms: step, handshake_ms: step, first_byte_ms: step, body_ms: step };
        Ok(RunSpec {
            schema: SPEC_SCHEMA.to_owned(),
            url,
            connect_to: self.urls.connect_to.clone(),
            connections: self.load.connections.most(),
            threads: self.threads,
            cpus: self.cpu.clone().unwrap_or_default().0,
            warmup_ms: milliseconds(self.warmup),
            stop: match self.count {
                Some(count) => Stop::Count(count),
                None => Stop::DurationMs(milliseconds(length)),
            },
            requests_per_connection: self.requests_per_connection,
            handshake_only: self.handshake_only,
            close: self.shape.close(),
            finished: self.shape.finished(),
            http,
            load,
            tls: self.tls.spec()?,
            deadlines,
            sources: self.hold.sources.clone(),
            allow: self.allow.clone(),
            proof: self.proof.clone(),
            generators: 1,
            portion: None,
        })
    }
}

/// The most bytes that a specification may have; its PEM text is the bulk of it.
const SPEC_LIMIT: u64 = 4 * 1024 * 1024;

fn read_spec<T: DeserializeOwned>(source: &str) -> Result<T, Problem> {
    let text = if source == "-" {
        let mut text = String::new();
        std::io::stdin().take(SPEC_LIMIT).read_to_string(&mut text).map_err(unreadable)?;
        text
    } else {
        read_file(source)?
    };
    parsed(&text)
}

/// A specification that further lines follow.
fn spec_line() -> Result<String, Problem> {
    let mut line = String::new();
    std::io::stdin().lock().take(SPEC_LIMIT).read_line(&mut line).map_err(unreadable)?;
    Ok(line)
}

#[allow(clippy::needless_pass_by_value, reason = "what map_err takes")]
fn unreadable(error: std::io::Error) -> Problem {
    Problem::usage(format!("cannot read the specification: {error}"))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|e| Problem::usage(format!("specification: {e}")))
}

fn read_file(path: &str) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|e| Problem::usage(format!("cannot read '{path}': {e}")))
}

/// A time in whole milliseconds.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How long a measurement takes by default.
const LENGTH: Duration = Duration::from_secs(10);
/// The time that each step of a load's connection may take, unless another is given.
const STEP: Duration = Duration::from_secs(10);

/// The longest time that can be asked for: a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Reads a time: `500ms`, `10s`, `2m`.
pub fn time(text: &str) -> Result<Duration, String> {
    let wanted = || format!("'{text}' is not a time; write 500ms, 10s or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wanted())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wanted()),
    };
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wanted())?;
    if time > LONGEST { Err(format!("'{text}' is longer than a day")) } else { Ok(time) }
}

fn requests(text: &str) -> Result<RequestsPerConnection, String> {
    match text {
        "unlimited" => Ok(RequestsPerConnection::Unlimited),
        number => number
            .parse()
            .map(RequestsPerConnection::Count)
            .map_err(|_| format!("'{text}' is neither a number nor 'unlimited'")),
    }
}

/// A list of processors, as taskset takes it.
#[derive(Debug, Clone, Default)]
pub struct Processors(pub Vec<usize>);

/// Reads a list of processors: `0,2-3`.
pub fn processors(text: &str) -> Result<Processors, String> {
    let wanted = || format!("'{text}' is not a list of processors; write 1 or 0,2-3");
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().map_err(|_| wanted())?;
        let last: usize = last.parse().map_err(|_| wanted())?;
        if first > last || last >= 1024 {
            return Err(wanted());
        }
        list.extend(first..=last);
    }
    Ok(Processors(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_contract::spec::{Authenticate, BodyCheck, ClientChoice, HttpVersion, KeyShare};
    use tlslab_wire::names::Group;

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "5x", "-1s", "1e9h", "48h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processors_are_listed_and_ranged() {
        assert_eq!(processors("0,2-3").unwrap().0, [0, 2, 3]);
        for wrong in ["", "a", "3-1", "0-", "0-99999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn flags_make_a_specification() {
        let flags = ["tlslab-load", "-c", "8", "--lean", "--group", "P-384", "https://localhost/"];
        let spec = Arguments::try_parse_from(flags).unwrap().spec().unwrap();
        assert_eq!((spec.connections, spec.tls.groups), (8, vec![Group::P384]));
        assert_eq!(spec.tls.authenticate, Authenticate::Sampled);
        assert_eq!(spec.tls.key_share, KeyShare::Reused);
        assert_eq!(spec.tls.client, ClientChoice::Auto);
        assert_eq!(spec.stop, Stop::DurationMs(10_000));
        let flags = ["tlslab-load", "--client", "library", "https://localhost/"];
        let spec = Arguments::try_parse_from(flags).unwrap().spec().unwrap();
        assert_eq!(spec.tls.client, ClientChoice::Library);
    }

    #[test]
    fn http2_is_a_flag_with_its_streams() {
        let flags = ["tlslab-load", "--http", "2", "--streams", "8", "--requests-per-connection"];
        let flags = flags.into_iter().chain(["unlimited", "--check-body", "hash", "https://a/"]);
        let http = Arguments::try_parse_from(flags).unwrap().spec().unwrap().http;
        assert_eq!((http.version, http.streams), (HttpVersion::Http2, 8));
        assert_eq!(http.check_body, BodyCheck::Hash);
    }

    #[test]
    fn an_unknown_group_is_an_error_that_names_the_known_ones() {
        let flags = ["tlslab-load", "--group", "P-257", "https://localhost/"];
        let error = Arguments::try_parse_from(flags).unwrap_err().to_string();
        assert!(
            error.contains("unknown group 'P-257' (did you mean 'P-256'?); known: X25519, P-256"),
            "{error}"
        );
    }
}

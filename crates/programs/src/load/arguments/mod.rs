//! The command line of `tlslab-load`, and its conversion to a specification.

mod default_connections;
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
use tlslab_contract::spec::load::LoadSpec;
use tlslab_contract::spec::{
    Deadlines, RequestsPerConnection, RunSpec, SPEC_SCHEMA, SpecError, Stop,
};

use self::default_connections::DefaultConnections;
use self::load::{Connections, LoadArguments};
use self::probe::ProbeArguments;
use self::shape::ShapeArguments;
use self::tls::TlsArguments;
use self::urls::UrlArguments;
use crate::load::problem::Problem;
use crate::values::{Processors, milliseconds, processors, time};

/// The command line of a load.
#[derive(Debug, Parser)]
#[command(name = "tlslab-load run")]
pub struct Arguments {
    #[command(flatten)]
    pub urls: UrlArguments,

    /// Read the whole specification, as JSON, from this file; - is standard input
    #[arg(long, value_name = "FILE|-")]
    spec: Option<String>,

    /// Number of worker threads
    #[arg(short, long, default_value_t = 1, value_name = "N", help_heading = "Load")]
    threads: u32,

    /// Length of the measurement: 500ms, 10s, 2m [default: 10s, or that of the ramp or steps]
    #[arg(short, long, value_parser = time, value_name = "TIME", conflicts_with = "count",
        help_heading = "Load")]
    duration: Option<Duration>,

    /// Number of connections to measure, instead of a time
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load")]
    count: Option<u64>,

    /// Length of the warm-up, which is not counted
    #[arg(long, value_parser = time, default_value = "0s", value_name = "TIME",
        help_heading = "Load")]
    warmup: Duration,

    /// Number of requests on each connection, or 'unlimited'
    #[arg(long, value_parser = requests, default_value = "1", value_name = "N|unlimited",
        help_heading = "Requests")]
    requests_per_connection: RequestsPerConnection,

    /// Close each connection after the handshake, without a request
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

    /// Host to load although its address is not loopback (repeatable)
    #[arg(long, value_name = "HOST", help_heading = "Target")]
    allow: Vec<String>,

    /// Token of the page /.well-known/tlslab-TOKEN. A public host must serve this page before a
    /// load of more than 1,000 connections/s or 60 s
    #[arg(long, value_name = "TOKEN", help_heading = "Target")]
    proof: Option<String>,

    /// Time limit of each step of a connection: connect, handshake, first byte, body [default: 10s;
    /// in a probe 5s for all steps together]
    #[arg(long, value_parser = time, value_name = "TIME", help_heading = "Target")]
    timeout: Option<Duration>,

    /// Append the secrets of all connections to this file, in the format of SSLKEYLOGFILE, to
    /// decrypt a packet capture. The environment variable of that name has no effect
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub keylog: Option<String>,

    /// Format of standard output: the summary as text or Markdown, the record as JSON, or figures
    /// as CSV
    #[arg(
        long,
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        conflicts_with = "json",
        help_heading = "Output"
    )]
    format: Format,

    /// Print the record as JSON, and nothing else, to standard output; same as --format json
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the record as JSON to this file, with any --format
    #[arg(short, long, value_name = "FILE", help_heading = "Output",
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema", "print_spec"])]
    pub output: Option<String>,

    /// Print events to standard error, one JSON object per line
    #[arg(long, help_heading = "Output")]
    pub events: bool,

    /// Prepare the load, print the event `ready`, read {"start_at_ns":N,"unix_s":U} from standard
    /// input, and start the load at N of this host's CLOCK_MONOTONIC. U is the same instant as Unix
    /// time, for the record. With --spec - the specification is the line before
    #[arg(long, help_heading = "Output", requires_all = ["json", "events"],
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema"])]
    pub barrier: bool,

    /// Print the specification that results from the options, as JSON, and exit
    #[arg(long, help_heading = "Output",
        conflicts_with_all = ["probe", "levels", "preflight", "print_schema", "barrier"])]
    pub print_spec: bool,

    /// Make one verified connection, print the negotiated facts as JSON, and exit
    #[arg(long)]
    pub preflight: bool,

    /// The options of a probe
    #[command(flatten)]
    pub probe: ProbeArguments,

    /// Print the JSON Schema of a format and exit
    #[arg(long, hide = true, value_enum, value_name = "FORMAT")]
    pub print_schema: Option<Schema>,

    /// Print the completion script of a shell (bash, zsh, fish, elvish, powershell) and exit
    #[arg(long, value_enum, value_name = "SHELL", help_heading = "Output")]
    pub completion: Option<Shell>,

    /// Print the manual page, as roff, and exit
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
    /// The figures, one per line.
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

/// The usage error for an invalid specification that was given in options.
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

    /// The specification, from JSON or from flags.
    pub fn spec(&self) -> Result<RunSpec, Problem> {
        let mut spec = match &self.spec {
            Some(source) if source == "-" && self.barrier => parsed(&spec_line()?)?,
            Some(source) => read_spec(source)?,
            None => self.spec_of_flags()?,
        };
        self.load.complete(&mut spec.load);
        Ok(spec)
    }

    /// The number of connections that the options give, or the default.
    fn connections(&self, load: &LoadSpec) -> u32 {
        let of_hold = self.hold.is_asked_for().then_some(1);
        let given = self.load.connections.as_ref().map(Connections::most).or(of_hold);
        given.unwrap_or_else(|| DefaultConnections::new(self.threads, load, self.count).number)
    }

    /// How the number of connections results, if no option gives it.
    pub fn default_connections(&self, load: &LoadSpec) -> Option<String> {
        let is_given = self.spec.is_some() || self.load.connections.is_some();
        (!is_given).then(|| DefaultConnections::new(self.threads, load, self.count).words)
    }

    /// The specification of a probe, from JSON or from flags.
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

    /// The usage error for an invalid specification. It names JSON fields or options, as the user
    /// gave them.
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
            connections: self.connections(&load),
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

/// The largest size of a specification in bytes. Most of it is PEM text.
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

/// The specification in the first line of standard input. Further lines follow.
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

/// The default length of a measurement.
const LENGTH: Duration = Duration::from_secs(10);
/// The default time limit of each step of a connection, in a load.
const STEP: Duration = Duration::from_secs(10);

fn requests(text: &str) -> Result<RequestsPerConnection, String> {
    match text {
        "unlimited" => Ok(RequestsPerConnection::Unlimited),
        number => number
            .parse()
            .map(RequestsPerConnection::Count)
            .map_err(|_| format!("'{text}' is neither a number nor 'unlimited'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_contract::spec::{Authenticate, BodyCheck, ClientChoice, HttpVersion, KeyShare};
    use tlslab_wire::names::Group;

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

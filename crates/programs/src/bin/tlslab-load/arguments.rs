//! The command line of `tlslab-load`, and the specification that it stands for.

mod probe;

use std::fs;
use std::io::Read as _;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde::de::DeserializeOwned;
use tlslab_engine::names::{CipherSuite, Group, SignatureScheme, TlsVersion};
use tlslab_engine::probe::ProbeSpec;
use tlslab_engine::spec::{
    Authenticate, BackendChoice, Deadlines, KeyShare, RequestsPerConnection, RunSpec, SPEC_SCHEMA,
    Stop, TlsSpec, Trust,
};

use self::probe::ProbeArguments;
use crate::problem::Problem;

/// Opens TLS connections to one server and measures them.
///
/// Only loopback addresses are loaded, and hosts given with --allow. Exit status: 0 done and valid,
/// 1 done but a verdict failed, 2 wrong usage, 3 could not run, 130 interrupted.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Arguments {
    /// What to load: https://HOST:PORT/PATH
    #[arg(
        required_unless_present_any = ["spec", "print_schema", "probe"],
        conflicts_with = "spec"
    )]
    url: Option<String>,

    /// Read the whole specification (JSON) from this file, or from standard input with -
    #[arg(long, value_name = "FILE|-")]
    spec: Option<String>,

    /// Connections in flight at once
    #[arg(short, long, default_value_t = 1, value_name = "N")]
    connections: u32,

    /// Worker threads
    #[arg(short, long, default_value_t = 1, value_name = "N")]
    threads: u32,

    /// How long to measure: 500ms, 10s, 2m [default: 10s]
    #[arg(short, long, value_parser = time, value_name = "TIME", conflicts_with = "count")]
    duration: Option<Duration>,

    /// How many connections to measure, instead of a time
    #[arg(short = 'n', long, value_name = "COUNT")]
    count: Option<u64>,

    /// Load before the measurement begins
    #[arg(long, value_parser = time, default_value = "0s", value_name = "TIME")]
    warmup: Duration,

    /// Requests on each connection: a number, or 'unlimited'
    #[arg(long, value_parser = requests, default_value = "1", value_name = "N|unlimited")]
    requests_per_connection: RequestsPerConnection,

    /// Close each connection once the handshake is done, without a request
    #[arg(long)]
    handshake_only: bool,

    /// Protocol version to offer (repeatable): 1.2, 1.3
    #[arg(long, value_name = "VERSION")]
    tls: Vec<TlsVersion>,

    /// Cipher suite to offer (repeatable), by IANA's or OpenSSL's name
    #[arg(long, value_name = "SUITE")]
    suite: Vec<CipherSuite>,

    /// Key-exchange group to force (repeatable): X25519, P-256, X25519MLKEM768, ...
    #[arg(long, value_name = "GROUP")]
    group: Vec<Group>,

    /// Signature scheme to accept (repeatable): ecdsa_secp256r1_sha256, ...
    #[arg(long, value_name = "SCHEME")]
    sigalg: Vec<SignatureScheme>,

    /// Name for SNI and the certificate check, instead of the URL's host
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<String>,

    /// Do not check the server's chain and name; the handshake signature is still verified
    #[arg(long)]
    insecure: bool,

    /// TLS library: auto, rustls, openssl
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    backend: BackendName,

    /// Verify the server on every connection, or on the first of each worker and 1 in 128
    #[arg(long, value_enum, default_value = "every", value_name = "HOW")]
    authenticate: AuthenticateName,

    /// Draw a key share for every connection, or use one again
    #[arg(long, value_enum, default_value = "fresh", value_name = "HOW")]
    key_share: KeyShareName,

    /// Short for --authenticate sampled --key-share reused: half the client's cost, the same
    /// work for the server
    #[arg(long, conflicts_with_all = ["authenticate", "key_share"])]
    lean: bool,

    /// Processors to pin the workers to: 1 or 0,2-3
    #[arg(long, value_parser = processors, value_name = "LIST")]
    cpu: Option<Processors>,

    /// A host that may be loaded although it is not a loopback address (repeatable)
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,

    /// For a public host beyond 1,000 connections/s or 60 s: it serves /.well-known/tlslab-TOKEN
    #[arg(long, value_name = "TOKEN")]
    proof: Option<String>,

    /// The time that each step of a connection may take [default: 10s; 5s for all steps of a probe]
    #[arg(long, value_parser = time, value_name = "TIME")]
    timeout: Option<Duration>,

    /// Print the record, as JSON, and nothing else on standard output
    #[arg(long)]
    pub json: bool,

    /// Print events to standard error, as JSON lines
    #[arg(long)]
    pub events: bool,

    /// Make one verified connection, print what was negotiated as JSON, and stop
    #[arg(long)]
    pub preflight: bool,

    /// What server to probe
    #[command(flatten)]
    pub probe: ProbeArguments,

    /// Print the JSON Schema of a wire format and stop
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub print_schema: Option<Schema>,
}

/// The wire formats that have a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Schema {
    /// What goes in: the specification of a run.
    Spec,
    /// What comes out: the record of a run.
    Record,
    /// What goes into a probe.
    ProbeSpec,
    /// What comes out of a probe.
    Probe,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BackendName {
    Auto,
    Rustls,
    Openssl,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AuthenticateName {
    Every,
    Sampled,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyShareName {
    Fresh,
    Reused,
}

impl Arguments {
    /// The specification that was given, in JSON or in flags.
    pub fn spec(&self) -> Result<RunSpec, Problem> {
        match &self.spec {
            Some(source) => read_spec(source),
            None => self.spec_of_flags(),
        }
    }

    /// The specification of a probe that was given, in JSON or in flags.
    pub fn probe_spec(&self) -> Result<ProbeSpec, Problem> {
        if let Some(source) = &self.spec {
            let spec: ProbeSpec = read_spec(source)?;
            let target = self.probe.target();
            return if target.is_empty() || target == spec.target {
                Ok(spec)
            } else {
                Err(Problem::usage("--probe takes its target from --spec".to_owned()))
            };
        }
        let (name, allow) = (self.sni.clone(), self.allow.clone());
        Ok(self.probe.spec(self.timeout, name, self.trust()?, allow))
    }

    fn trust(&self) -> Result<Trust, Problem> {
        Ok(match &self.ca {
            Some(file) => Trust::Pem(read_file(file)?),
            None if self.insecure => Trust::Anyone,
            None => Trust::System,
        })
    }

    fn spec_of_flags(&self) -> Result<RunSpec, Problem> {
        let step = milliseconds(self.timeout.unwrap_or(STEP)) as u32;
        let deadlines =
            Deadlines { connect_ms: step, handshake_ms: step, first_byte_ms: step, body_ms: step };
        Ok(RunSpec {
            schema: SPEC_SCHEMA.to_owned(),
            url: self.url.clone().unwrap_or_default(),
            connections: self.connections,
            threads: self.threads,
            cpus: self.cpu.clone().unwrap_or_default().0,
            warmup_ms: milliseconds(self.warmup),
            stop: match (self.count, self.duration) {
                (Some(count), _) => Stop::Count(count),
                (None, Some(duration)) => Stop::DurationMs(milliseconds(duration)),
                (None, None) => Stop::DurationMs(10_000),
            },
            requests_per_connection: self.requests_per_connection,
            handshake_only: self.handshake_only,
            tls: self.tls_spec()?,
            deadlines,
            allow: self.allow.clone(),
            proof: self.proof.clone(),
        })
    }

    fn tls_spec(&self) -> Result<TlsSpec, Problem> {
        let (authenticate, key_share) = match (self.lean, self.authenticate, self.key_share) {
            (true, _, _) => (Authenticate::Sampled, KeyShare::Reused),
            (false, authenticate, key_share) => (authenticate.into(), key_share.into()),
        };
        Ok(TlsSpec {
            versions: self.tls.clone(),
            suites: self.suite.clone(),
            groups: self.group.clone(),
            signature_schemes: self.sigalg.clone(),
            backend: match self.backend {
                BackendName::Auto => BackendChoice::Auto,
                BackendName::Rustls => BackendChoice::Rustls,
                BackendName::Openssl => BackendChoice::Openssl,
            },
            authenticate,
            key_share,
            server_name: self.sni.clone(),
            trust: self.trust()?,
        })
    }
}

impl From<AuthenticateName> for Authenticate {
    fn from(name: AuthenticateName) -> Self {
        match name {
            AuthenticateName::Every => Self::Every,
            AuthenticateName::Sampled => Self::Sampled,
        }
    }
}

impl From<KeyShareName> for KeyShare {
    fn from(name: KeyShareName) -> Self {
        match name {
            KeyShareName::Fresh => Self::Fresh,
            KeyShareName::Reused => Self::Reused,
        }
    }
}

/// Whether the command line asks for JSON, when it cannot be read as a whole.
pub fn ask_for_json() -> bool {
    std::env::args_os().any(|argument| argument == "--json" || argument == "--preflight")
}

/// The most bytes that a specification may have; its PEM text is the bulk of it.
const SPEC_LIMIT: u64 = 4 * 1024 * 1024;

fn read_spec<T: DeserializeOwned>(source: &str) -> Result<T, Problem> {
    let text = if source == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(SPEC_LIMIT)
            .read_to_string(&mut text)
            .map_err(|e| Problem::usage(format!("cannot read the specification: {e}")))?;
        text
    } else {
        read_file(source)?
    };
    serde_json::from_str(&text).map_err(|e| Problem::usage(format!("specification: {e}")))
}

fn read_file(path: &str) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|e| Problem::usage(format!("cannot read '{path}': {e}")))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The time that each step of a load's connection may take, unless another is given.
const STEP: Duration = Duration::from_secs(10);

/// The longest time that can be asked for: a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

fn time(text: &str) -> Result<Duration, String> {
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
struct Processors(Vec<usize>);

fn processors(text: &str) -> Result<Processors, String> {
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
        assert_eq!(spec.stop, Stop::DurationMs(10_000));
    }

    #[test]
    fn an_unknown_group_is_an_error_that_names_the_known_ones() {
        let flags = ["tlslab-load", "--group", "P-257", "https://localhost/"];
        let error = Arguments::try_parse_from(flags).unwrap_err().to_string();
        assert!(error.contains("unknown group 'P-257'; known: X25519, P-256"), "{error}");
    }
}

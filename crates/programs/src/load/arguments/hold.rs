//! The flags of `hold` and of its older form `--hold`.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use tlslab_contract::spec::load::LoadSpec;
use tlslab_contract::spec::{
    Close, Deadlines, Finished, RequestsPerConnection, RunSpec, SPEC_SCHEMA, Stop,
};
use tlslab_load::hold::Plan;
use tlslab_system::clock::MILLISECOND;

use super::STEP;
use super::http::RequestArguments;
use super::tls::TlsArguments;
use crate::load::problem::Problem;
use crate::values::{milliseconds, time};

/// The command line of `hold`.
#[derive(Debug, Args)]
pub struct HoldCommand {
    /// Number of connections to hold, or several levels in rising order: 1000,5000,10000
    #[arg(
        value_name = "N,...",
        value_delimiter = ',',
        required = true,
        // One word, so that the URL may follow anywhere.
        action = clap::ArgAction::Set,
        num_args = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    levels: Vec<u32>,

    /// URL to request: https://HOST:PORT/PATH or HOST:PORT
    #[arg(value_name = "URL")]
    url: String,

    /// Time to hold the connections of each level; memory is read in the middle
    #[arg(long, value_parser = time, default_value = "1s", value_name = "TIME")]
    dwell: Duration,

    /// Local addresses to connect from, in turn: 127.0.0.2,127.0.0.3
    #[arg(long = "source", value_name = "ADDRESS,...", value_delimiter = ',')]
    sources: Vec<IpAddr>,

    /// Host to load although its address is not loopback (repeatable)
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,

    /// Time limit of each step of a connection: connect, handshake, first byte, body
    #[arg(long, value_parser = time, default_value = "10s", value_name = "TIME")]
    timeout: Duration,

    /// Print the record as JSON, and nothing else, to standard output
    #[arg(long)]
    pub json: bool,

    /// Print events to standard error, one JSON object per line
    #[arg(long)]
    pub events: bool,

    #[command(flatten)]
    request: RequestArguments,

    #[command(flatten)]
    tls: TlsArguments,
}

impl HoldCommand {
    /// The plan of these levels. They must rise.
    pub fn plan(&self) -> Result<Plan, Problem> {
        plan(&self.levels, self.dwell)
    }

    /// The specification of the connections.
    pub fn spec(&self) -> Result<RunSpec, Problem> {
        let step = milliseconds(self.timeout) as u32;
        Ok(RunSpec {
            schema: SPEC_SCHEMA.to_owned(),
            url: self.url.clone(),
            connect_to: None,
            connections: 1,
            threads: 1,
            cpus: Vec::new(),
            warmup_ms: 0,
            stop: Stop::DurationMs(milliseconds(STEP)),
            requests_per_connection: RequestsPerConnection::default(),
            handshake_only: false,
            close: Close::default(),
            finished: Finished::default(),
            http: self.request.spec()?,
            load: LoadSpec::default(),
            tls: self.tls.spec()?,
            deadlines: Deadlines {
                connect_ms: step,
                handshake_ms: step,
                first_byte_ms: step,
                body_ms: step,
            },
            sources: self.sources.clone(),
            allow: self.allow.clone(),
            proof: None,
            generators: 1,
            portion: None,
        })
    }
}

fn plan(levels: &[u32], dwell: Duration) -> Result<Plan, Problem> {
    if !levels.is_sorted_by(|a, b| a < b) {
        return Err(Problem::usage("hold: the levels must rise, as in 1000,5000".to_owned()));
    }
    Ok(Plan { levels: levels.to_vec(), dwell: milliseconds(dwell) * MILLISECOND })
}

/// The flags of the older form, beside those of a load.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// Hold N idle connections, each after one request, and print their memory; or several levels
    /// in rising order: 1000,5000,10000
    #[arg(
        long = "hold",
        hide = true,
        value_name = "N,...",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = [
            "connections", "threads", "duration", "count", "warmup", "requests_per_connection",
            "handshake_only", "preflight", "cpu", "rate", "step", "think", "trace",
            "keylog",
        ]
    )]
    levels: Vec<u32>,

    /// With --hold: time to hold the connections of each level; memory is read in the middle
    #[arg(
        long,
        hide = true,
        value_parser = time,
        default_value = "1s",
        value_name = "TIME",
        requires = "levels"
    )]
    dwell: Duration,

    /// Local addresses to connect from, in turn: 127.0.0.2,127.0.0.3
    #[arg(
        long = "source",
        value_name = "ADDRESS,...",
        value_delimiter = ',',
        help_heading = "Target"
    )]
    pub sources: Vec<IpAddr>,
}

impl Flags {
    /// Whether the mode `hold` is requested.
    pub fn is_asked_for(&self) -> bool {
        !self.levels.is_empty()
    }

    /// The plan of these levels. They must rise.
    pub fn plan(&self) -> Result<Plan, Problem> {
        plan(&self.levels, self.dwell)
    }
}

//! The flags of connections that are held idle.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use tlslab_load::hold::Plan;
use tlslab_system::clock::MILLISECOND;

use super::{milliseconds, time};
use crate::problem::Problem;

/// The flags of this mode.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Idle connections")]
pub struct Flags {
    /// Hold so many connections idle, one request made on each, and print what they cost in memory;
    /// several levels in rising order: 1000,5000,10000
    #[arg(
        long = "hold",
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

    /// How long --hold rests at each level
    #[arg(long, value_parser = time, default_value = "1s", value_name = "TIME", requires = "levels")]
    dwell: Duration,

    /// Addresses of this machine to connect from, in turn: 127.0.0.2,127.0.0.3
    #[arg(
        long = "source",
        value_name = "ADDRESS,...",
        value_delimiter = ',',
        help_heading = "Target"
    )]
    pub sources: Vec<IpAddr>,
}

impl Flags {
    /// Whether connections are to be held.
    pub fn is_asked_for(&self) -> bool {
        !self.levels.is_empty()
    }

    /// The levels, which have to rise.
    pub fn plan(&self) -> Result<Plan, Problem> {
        if !self.levels.is_sorted_by(|a, b| a < b) {
            return Err(Problem::usage("--hold: the levels have to rise".to_owned()));
        }
        Ok(Plan { levels: self.levels.clone(), dwell: milliseconds(self.dwell) * MILLISECOND })
    }
}

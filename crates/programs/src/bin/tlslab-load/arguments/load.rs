//! The flags that say how load is made over time, and what is told of it.

use clap::Args;
use tlslab_engine::spec::load::LoadSpec;

/// Connections that a trace holds at most: 72 bytes each while the run goes on.
const TRACE_LIMIT: u32 = 1_000_000;

/// How load is made over time.
#[derive(Debug, Args)]
pub struct LoadArguments {
    /// Write the instants of each connection of the measurement to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,
}

impl LoadArguments {
    /// The part of the specification that these flags stand for.
    pub fn spec(&self) -> LoadSpec {
        LoadSpec::default()
    }

    /// What a specification lacks for these flags, wherever it comes from.
    pub fn complete(&self, load: &mut LoadSpec) {
        if self.trace.is_some() && load.trace == 0 {
            load.trace = TRACE_LIMIT;
        }
    }
}

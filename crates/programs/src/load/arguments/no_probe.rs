//! The flags of `probe`, and of `--probe`, in a build without OpenSSL: any are taken and refused.

use std::ffi::OsString;

use clap::Args;

/// The command line of `probe`, whatever is on it.
#[derive(Debug, Args)]
pub struct ProbeCommand {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

/// The option `--probe`.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["urls", "urls_file", "preflight"])]
    probe: Option<String>,
}

impl ProbeArguments {
    /// Whether a probe is asked for.
    pub fn asked(&self) -> bool {
        self.probe.is_some()
    }
}

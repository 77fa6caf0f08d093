//! Flags for the TCP segments of the end of a handshake and of the close.

use clap::{Args, ValueEnum};
use tlslab_contract::spec::{Close, Finished};

/// How connections end their handshake and close: the defaults save work, the other values do what
/// ordinary clients do.
#[derive(Debug, Args)]
pub struct ShapeArguments {
    /// How a connection is closed: by a TCP reset, which leaves no TIME_WAIT behind, or, as
    /// browsers do, by a close_notify and a FIN (some 28,000 connections a minute from each
    /// --source address)
    #[arg(long, value_enum, default_value = "reset", value_name = "reset|fin")]
    close: CloseName,

    /// When the client's Finished is sent: in one segment with the first request, or in its own
    #[arg(long, value_enum, default_value = "with-request", value_name = "with-request|separate")]
    finished: FinishedName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CloseName {
    Reset,
    Fin,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FinishedName {
    WithRequest,
    Separate,
}

impl ShapeArguments {
    pub fn close(&self) -> Close {
        match self.close {
            CloseName::Reset => Close::Reset,
            CloseName::Fin => Close::Fin,
        }
    }

    pub fn finished(&self) -> Finished {
        match self.finished {
            FinishedName::WithRequest => Finished::WithRequest,
            FinishedName::Separate => Finished::Separate,
        }
    }
}

//! The TCP segments of the end of a handshake and of the close: the defaults save work, the other values
//! do what ordinary clients do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection is closed once it has all that it asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Close {
    /// By a TCP reset, which leaves no TIME_WAIT behind: a generator that closed first would run out
    /// of local ports after some 28,000 connections a minute.
    #[default]
    Reset,
    /// By a close_notify and a FIN, as browsers and curl do.
    Fin,
}

/// When the client's Finished leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finished {
    /// In one segment with the first request.
    #[default]
    WithRequest,
    /// In a segment of its own, ahead of the first request, as most libraries send it.
    Separate,
}

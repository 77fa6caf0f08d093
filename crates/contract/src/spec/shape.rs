//! TCP segments at the end of a handshake and at the close. The defaults save work; the other
//! values match ordinary clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection is closed after its last response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Close {
    /// TCP reset. Leaves no TIME_WAIT: a generator that closes with FIN first runs out of local
    /// ports at some 28,000 connections a minute.
    #[default]
    Reset,
    /// close_notify and FIN, as browsers and curl do.
    Fin,
}

/// When the client's Finished is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finished {
    /// In one segment with the first request.
    #[default]
    WithRequest,
    /// In a segment of its own before the first request, as most libraries do.
    Separate,
}

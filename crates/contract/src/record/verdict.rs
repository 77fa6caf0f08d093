//! The verdicts of a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statement about a run that its reader must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What is the matter.
    pub code: VerdictCode,
    /// The same in words, with the figures.
    pub message: String,
}

/// The kinds of verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictCode {
    /// Nothing is the matter.
    Valid,
    /// A worker was busy nearly all the time: rates are lower bounds.
    ClientSaturated,
    /// More connections than the limit had another handshake than the one asked for.
    Unexpected,
    /// More connections than the limit failed.
    Failures,
    /// Time in flight differs from the times that connections took (Little's law).
    LittlesLaw,
    /// An open loop started its connections later than intended.
    LateArrivals,
    /// An open loop did not start as many connections as it should have.
    RateNotAchieved,
    /// Another share of the connections resumed than was asked for.
    ResumeRatio,
    /// The server stopped answering before the end of the measurement.
    Stalled,
    /// No connection completed.
    NothingCompleted,
    /// The generators of a merged record did not measure at the same time.
    NotSimultaneous,
    /// A generator of a merged record was lost: what it did after its last report is not known.
    HostLost,
    /// The clock of a generator of a merged record moved against the others'.
    ClockMoved,
    /// The run was interrupted before its end.
    Interrupted,
}

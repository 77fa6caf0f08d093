//! The verdicts of a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statement about whether the numbers of a run may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The kind of verdict.
    pub code: VerdictCode,
    /// The verdict as a sentence, with the figures.
    pub message: String,
}

/// The kinds of verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictCode {
    /// No fault was found.
    Valid,
    /// A worker was busy nearly all the time: the measured rates are lower bounds.
    ClientSaturated,
    /// Workers were ready and did not run for a share of the time that could matter, or were
    /// stopped: the measured rates are lower bounds.
    ClientDelayed,
    /// Workers were ready and did not run for much of the time, or the machine was suspended: the
    /// figures may not be used.
    ClientStarved,
    /// More connections than the limit had an unexpected handshake.
    Unexpected,
    /// More connections than the limit failed.
    Failures,
    /// Time in flight disagrees with the sum of the connections' times (Little's law).
    LittlesLaw,
    /// An open loop started connections later than intended.
    LateArrivals,
    /// An open loop started fewer connections than were due, or fewer ended: the server's queue grew.
    RateNotAchieved,
    /// The share of resumed connections differs from the requested share.
    ResumeRatio,
    /// The server stopped answering before the end of the measurement, or left connections without
    /// an answer while it answered others.
    Stalled,
    /// No connection completed.
    NothingCompleted,
    /// The generators of a merged record did not measure at the same time.
    NotSimultaneous,
    /// A generator of a merged record was lost: its work after the last report is unknown.
    HostLost,
    /// The clock of a generator moved relative to the others' clocks.
    ClockMoved,
    /// The run was interrupted before its end.
    Interrupted,
}

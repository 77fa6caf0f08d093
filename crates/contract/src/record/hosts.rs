//! What a record has of each of several generators: who took part, by which clocks, and who was lost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuTime, Environment, OpenLoop, Verdict, WorkerUsage};
use crate::accounting::Outcomes;
use crate::spec::RunSpec;

/// When a measurement began, by two clocks of the generator's machine, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartTime {
    /// Since 1970 in UTC (CLOCK_REALTIME), exact to a microsecond of what the clock showed.
    pub unix_s: f64,
    /// By the clock that all of a record's times are read from (CLOCK_MONOTONIC).
    pub monotonic_s: f64,
}

/// One generator's part of a merged record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostPart {
    /// The name that it was merged under.
    pub name: String,
    /// Its machine.
    pub environment: Environment,
    /// The address that it connected to.
    pub address: String,
    /// When its measurement began.
    pub started: Option<StartTime>,
    /// The length of its measurement in seconds.
    pub seconds: f64,
    /// The most connections that it had in flight.
    pub connections: u32,
    /// Its accounting.
    pub outcomes: Outcomes,
    /// Requests that were answered.
    pub requests: u64,
    /// Its workers' processor time.
    pub cpu: CpuTime,
    /// Each of its workers.
    pub workers: Vec<WorkerUsage>,
    /// In an open loop: what became of its arrivals.
    pub open_loop: Option<OpenLoop>,
    /// What the engine said of its run, and what became apparent of the host.
    pub verdicts: Vec<Verdict>,
    /// How much later its measurement began than the first generator's, in seconds, by the clock that
    /// the starts are given in.
    #[serde(default)]
    pub start_skew_s: Option<f64>,
    /// What whoever led the generators found out about the host.
    #[serde(default)]
    pub found: Option<HostFound>,
    /// Of a host that was lost in the run: why, and the last that is known of it.
    #[serde(default)]
    pub lost: Option<Lost>,
}

/// What whoever leads several generators finds out about a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFound {
    /// The identity of its running kernel: hosts with the same one share processors and clocks.
    pub boot_id: Option<String>,
    /// The handshakes a second that its processors made in memory, before the load.
    pub handshakes_per_s: Option<f64>,
    /// Its clock, against the leader's.
    pub clock: Option<HostClock>,
}

/// A host's CLOCK_MONOTONIC against the leader's, from round trips: the one that took the least time
/// decides, and its uncertainty is half of that time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostClock {
    /// The host's clock minus the leader's before the start, in seconds.
    pub offset_s: f64,
    /// How far that may be off, in seconds.
    pub uncertainty_s: f64,
    /// How much faster the host's clock ran than the leader's, in millionths.
    pub drift_ppm: f64,
    /// How far that may be off.
    pub drift_uncertainty_ppm: f64,
    /// By how much the offset left every straight line at least in the run, in seconds: beyond what a
    /// steady drift and the uncertainties explain.
    pub moved_s: f64,
    /// How often the offset was read.
    pub readings: u32,
}

/// What is known of a host that was lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// How it was noticed.
    pub reason: String,
    /// When, in seconds since the measurement began; negative before it.
    pub at_s: f64,
    /// What it reported last.
    #[serde(default)]
    pub totals: LastTotals,
}

/// What a generator that was lost had reported since the start of its measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LastTotals {
    /// Connections started.
    pub arrivals: u64,
    /// Connections completed.
    pub completed: u64,
    /// Failed connections by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections whose handshake was not the one asked for.
    pub unexpected: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Connections under way.
    pub in_flight: u64,
}

/// A generator that was lost in a run, as `tlslab-load merge --lost` reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostHost {
    /// The host's name.
    pub host: String,
    /// Its share of the load.
    pub spec: RunSpec,
    /// What is known of it.
    #[serde(flatten)]
    pub lost: Lost,
}

/// The time in which all generators of a merged record were measuring. Slices that reach out of it are
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonWindow {
    /// Its start, in seconds since 1970, by the generators' clocks.
    pub from_unix_s: f64,
    /// Its length in seconds; 0 if there is none.
    pub seconds: f64,
    /// How far the starts are apart, in seconds.
    pub start_skew_s: f64,
    /// Connections completed in it.
    pub completed: u64,
    /// The same by second: the sum of the generators' own rates. None where a generator has no slice
    /// in the window.
    pub connections_per_s: Option<f64>,
}

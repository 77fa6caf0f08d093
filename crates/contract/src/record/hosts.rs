//! The parts of several generators in a merged record: hosts, their clocks, and lost hosts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuTime, Environment, OpenLoop, Place, Supply, Verdict, WorkerUsage, places};
use crate::accounting::Outcomes;
use crate::spec::RunSpec;

/// The start of a measurement by two clocks of the generator's machine, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartTime {
    /// Seconds since 1970 UTC (CLOCK_REALTIME), with a precision of one microsecond.
    pub unix_s: f64,
    /// CLOCK_MONOTONIC, the clock of all times in a record.
    pub monotonic_s: f64,
}

/// One generator's part of a merged record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostPart {
    /// The name of the generator in the merge.
    pub name: String,
    /// The machine of the generator.
    pub environment: Environment,
    /// The address that the generator connected to.
    pub address: String,
    /// The start of the generator's measurement.
    pub started: Option<StartTime>,
    /// The length of the measurement in seconds.
    pub seconds: f64,
    /// The generator's limit of connections in flight.
    pub connections: u32,
    /// The accounting of the generator's connections.
    pub outcomes: Outcomes,
    /// Answered requests on this generator's connections.
    pub requests: u64,
    /// Processor time of the generator's workers.
    pub cpu: CpuTime,
    /// Processor time and length of the measurement of each worker.
    pub workers: Vec<WorkerUsage>,
    /// What the machine let the generator use.
    #[serde(default)]
    pub supply: Supply,
    /// In an open loop: the accounting of the arrivals.
    pub open_loop: Option<OpenLoop>,
    /// The verdicts of the engine on this run, and those that the merge adds about the host.
    pub verdicts: Vec<Verdict>,
    /// Delay of this measurement's start after the earliest generator's start, in seconds, by the
    /// clock of the start times.
    #[serde(default)]
    pub start_skew_s: Option<f64>,
    /// Observations of the leader about the host.
    #[serde(default)]
    pub found: Option<HostFound>,
    /// If the host was lost during the run: the reason and its last report.
    #[serde(default)]
    pub lost: Option<Lost>,
}

/// The places of all generators' workers. Those on one processor of one machine share a place;
/// without an observation of its machine, a generator is taken to have one of its own.
pub fn places_of(hosts: &[HostPart]) -> Vec<Place> {
    let mut machines: BTreeMap<(bool, &str), (Vec<WorkerUsage>, Supply)> = BTreeMap::new();
    for host in hosts {
        let boot_id = host.found.as_ref().and_then(|found| found.boot_id.as_deref());
        let machine = boot_id.map_or((false, host.name.as_str()), |boot_id| (true, boot_id));
        let (workers, supply) = machines.entry(machine).or_default();
        workers.extend_from_slice(&host.workers);
        // Generators of one control group report the same throttling.
        let throttled_s = [supply.throttled_s, host.supply.throttled_s].into_iter().flatten();
        supply.throttled_s = throttled_s.reduce(f64::max);
        supply.processors = supply.processors.max(host.supply.processors);
    }
    machines.values().flat_map(|(workers, supply)| places(workers, supply)).collect()
}

/// Observations about a host by the leader, the process that starts several generators.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFound {
    /// The boot ID of the running kernel. Hosts with the same boot ID share processors and clocks.
    pub boot_id: Option<String>,
    /// In-memory handshakes a second of the host's processors, measured before the load.
    pub handshakes_per_s: Option<f64>,
    /// The host's clock relative to the leader's.
    pub clock: Option<HostClock>,
}

/// A host's CLOCK_MONOTONIC relative to the leader's, estimated from round trips. The shortest
/// round trip gives the estimate; its uncertainty is half of that round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostClock {
    /// The host's clock minus the leader's before the start, in seconds.
    pub offset_s: f64,
    /// Uncertainty of `offset_s`, in seconds.
    pub uncertainty_s: f64,
    /// Rate of the host's clock minus the rate of the leader's, in parts per million.
    pub drift_ppm: f64,
    /// Uncertainty of `drift_ppm`, in parts per million.
    pub drift_uncertainty_ppm: f64,
    /// Smallest deviation of the offset from any straight line during the run, in seconds, beyond
    /// what constant drift and the uncertainties explain.
    pub moved_s: f64,
    /// Number of readings of the offset.
    pub readings: u32,
}

/// The last state of a lost host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// How the loss was detected.
    pub reason: String,
    /// Time of the loss in seconds since the start of the measurement; negative before the start.
    pub at_s: f64,
    /// The last report of the host.
    #[serde(default)]
    pub totals: LastTotals,
}

/// The last report of a lost generator: counts since the start of its measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LastTotals {
    /// Connections started.
    pub arrivals: u64,
    /// Connections completed.
    pub completed: u64,
    /// Failed connections by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections with an unexpected handshake.
    pub unexpected: u64,
    /// Abandoned connections.
    pub abandoned: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Connections in flight.
    pub in_flight: u64,
}

/// A lost generator, in the format that `tlslab-load merge --lost` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostHost {
    /// The host's name.
    pub host: String,
    /// The part of the load that was assigned to the host.
    pub spec: RunSpec,
    /// The reason and the last report.
    #[serde(flatten)]
    pub lost: Lost,
}

/// The time during which all generators of a merged record were measuring. Slices that are not
/// wholly inside are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonWindow {
    /// Start of the window, in seconds since 1970, by the generators' clocks.
    pub from_unix_s: f64,
    /// Length of the window in seconds; 0 if there is none.
    pub seconds: f64,
    /// Time between the earliest and the latest start, in seconds.
    pub start_skew_s: f64,
    /// Connections completed in the window.
    pub completed: u64,
    /// Connections completed a second in the window: the sum of the generators' own rates. `None`
    /// if a generator has no slice in the window.
    pub connections_per_s: Option<f64>,
}

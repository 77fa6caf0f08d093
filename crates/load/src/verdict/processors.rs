//! The verdicts on the processors of the generator: whether the workers had time to spare, and
//! whether something kept them from running.

use super::Evidence;
use tlslab_contract::record::{self, Place, Supply, Verdict, VerdictCode, WorkerUsage, places};
use tlslab_wire::wording::{counted, decimal};

/// The processor share above which a worker of a closed loop limits the load.
pub(crate) const SATURATED: f64 = 0.95;

/// The processor share above which a worker of an open loop limits the load. Lower, because starts
/// are delayed long before the processor is fully used.
pub(crate) const SATURATED_OPEN: f64 = 0.8;

/// The shortest measurement, in seconds, with a meaningful processor share: the kernel may account
/// for processor time in ticks of up to 10 ms.
const BUSY_MEASURABLE: f64 = 0.1;

/// The share of lost time, in which workers were ready and did not run, from which figures are
/// bounds. Without a loss of this share every event would be earlier by at most this share of the
/// time: a closed loop's rate is at most 1 / (1 - share) times the measured one, a mean time at
/// least (1 - share) times. An undisturbed worker loses 0.4 to 1 %, from
/// the arrival of packets until it runs. 5 % exceeds what repeated runs differ by.
const LOST_MATTERS: f64 = 0.05;

/// The share from which the figures say more of what took the time than of the server: the true rate
/// may be a quarter higher.
const LOST_SPOILS: f64 = 0.2;

/// The places of the workers that measured for long enough to have meaningful shares.
fn measurable(evidence: &Evidence<'_>) -> Vec<Place> {
    let long = |worker: &&WorkerUsage| worker.seconds >= BUSY_MEASURABLE;
    let workers: Vec<_> = evidence.workers.iter().filter(long).cloned().collect();
    places(&workers, evidence.supply)
}

/// The share of the time left to it for which the busiest place computed, if known.
pub(super) fn busiest(evidence: &Evidence<'_>) -> Option<f64> {
    record::busiest(&measurable(evidence))
}

pub(super) fn saturated(evidence: &Evidence<'_>) -> Option<Verdict> {
    let places = measurable(evidence);
    let place = places.iter().max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
    let message = format!(
        "{} busy {} % of the time left to {}: the generator was the bottleneck, rates are lower \
         bounds",
        of_workers(place, "was", "were"),
        whole_percent(place.busy()),
        if place.workers == 1 { "it" } else { "them" },
    );
    let limit = if evidence.open_loop.is_some() { SATURATED_OPEN } else { SATURATED };
    (place.busy() >= limit).then_some(Verdict { code: VerdictCode::ClientSaturated, message })
}

/// The workers of a place with a verb: `a worker was`, `4 workers on processor 1 were`.
fn of_workers(place: &Place, one: &str, several: &str) -> String {
    match (place.workers, place.processor) {
        (1, _) => format!("a worker {one}"),
        (count, Some(processor)) => format!("{count} workers on processor {processor} {several}"),
        (count, None) => {
            format!(
                "{count} workers on {} {several}",
                counted(place.processors as u64, "processor")
            )
        }
    }
}

/// Time in which workers were ready and did not run, and stops.
pub(super) fn kept_off(evidence: &Evidence<'_>) -> Option<Verdict> {
    let suspended_s = evidence.supply.suspended_s;
    if suspended_s > 0.0 {
        let message = format!(
            "the machine was suspended for {} s during the measurement",
            decimal(suspended_s, 1)
        );
        return Some(Verdict { code: VerdictCode::ClientStarved, message });
    }
    time_lost(&measurable(evidence), evidence.supply)
}

/// The verdict on time that the workers of these places lost.
pub(crate) fn time_lost(places: &[Place], supply: &Supply) -> Option<Verdict> {
    let lost = |place: &Place| place.lost().unwrap_or(place.stopped);
    let place = places.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)))?;
    let share = lost(place);
    let code = match share {
        share if share >= LOST_SPOILS => VerdictCode::ClientStarved,
        share if share >= LOST_MATTERS || place.stopped > 0.0 => VerdictCode::ClientDelayed,
        _ => return None,
    };
    let effect = match code {
        VerdictCode::ClientDelayed => "rates are lower bounds, times upper bounds",
        _ => "the figures say more of what took the time than of the server",
    };
    let message = format!(
        "{} ready and did not run for {} % of the time ({}): {effect}",
        of_workers(place, "was", "were"),
        decimal(share * 100.0, 1),
        causes(place, supply),
    );
    Some(Verdict { code, message })
}

/// The parts of a place's lost time, as far as they are known.
fn causes(place: &Place, supply: &Supply) -> String {
    let percent = |share: f64| format!("{} %", decimal(share * 100.0, 1));
    let throttled = match (supply.throttled_s, supply.quota) {
        (Some(seconds), Some(quota)) if seconds > 0.0 => {
            format!(", its control group was throttled to {} processors", decimal(quota, 1))
        }
        _ => String::new(),
    };
    [
        place.queued.map(|share| format!("{} waiting for a processor{throttled}", percent(share))),
        (place.stolen > 0.0).then(|| format!("the hypervisor took {}", percent(place.stolen))),
        (place.stopped > 0.0).then(|| format!("{} stopped", percent(place.stopped))),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

/// A share in percent, rounded down: 94.9 % must not read as the limit of 95. At most 100 %,
/// because processor time in ticks may exceed the length of a short measurement.
pub(super) fn whole_percent(share: f64) -> f64 {
    (share.min(1.0) * 100.0).floor()
}

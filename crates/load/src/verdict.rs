//! The verdicts of a run: whether its figures may be used, and why not.

use std::collections::BTreeMap;

pub(crate) use self::processors::{SATURATED, SATURATED_OPEN, time_lost};
use self::processors::{busiest, kept_off, saturated, whole_percent};
use crate::recorder::Flight;
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    FlightTimes, Interval, Kinds, OpenLoop, Summary, Supply, Verdict, VerdictCode, WorkerUsage,
};
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_wire::wording::{counted, decimal, grouped};

mod processors;

/// The highest acceptable share of failed connections, and of unexpected ones.
const TROUBLE_LIMIT: f64 = 0.001;

/// The highest acceptable relative difference between service times and time in flight.
const LITTLES_LAW_LIMIT: f64 = 0.02;

/// Uncounted time per connection, in seconds: work between the reading of the clock and the
/// counting.
const CLOCK_BLUR_S: f64 = 5e-6;

/// A single preemption of a worker between the two, in seconds: one time slice of the kernel's
/// scheduler on a busy machine. It is counted for one of two connections only.
const PREEMPTION_S: f64 = 0.01;

/// The highest acceptable 99.9th percentile of start delay in an open loop, in milliseconds.
const LATE_LIMIT_MS: f64 = 1.0;

/// The lowest number of starts for a 99.9th percentile.
const LATE_N: u64 = 1_000;

/// The lowest number of starts of which one is at most 1 %.
const HUNDRED: u64 = 100;

/// The highest acceptable relative difference between the achieved rate and the offered load.
const RATE_LIMIT: f64 = 0.01;

/// The share of the offered load that may be missing from what ended in the later half of an open
/// loop.
const BEHIND_LIMIT: f64 = 0.05;

/// The shortest time without completions at the end of a measurement that indicates a stall, in
/// seconds.
const SILENCE_S: f64 = 1.0;

/// The shortest such time as a multiple of the longest connection before it.
const SILENCE_TIMES: f64 = 3.0;

/// The highest acceptable difference between the achieved and the requested share of resumption.
const RESUME_RATIO_LIMIT: f64 = 0.01;

/// The figures from which the verdicts follow.
#[derive(Debug)]
pub struct Evidence<'r> {
    /// The accounting.
    pub outcomes: &'r Outcomes,
    /// The summaries of the histograms.
    pub summaries: &'r BTreeMap<String, Summary>,
    /// The accounting of arrivals, in an open loop.
    pub open_loop: Option<OpenLoop>,
    /// Time that connections spent in flight.
    pub flight: Flight,
    /// Connections in flight when the measurement began.
    pub carried: u64,
    /// The workers' use of their processors.
    pub workers: &'r [WorkerUsage],
    /// What the machine let them use.
    pub supply: &'r Supply,
    /// The length of the measurement in seconds.
    pub seconds: f64,
    /// The measurement in slices.
    pub intervals: &'r [Interval],
    /// How long connections in flight at the end had waited for the server: the long waits.
    pub waits: &'r [Nanos],
    /// The constant number of connections in flight in a closed loop. `None` if the number changes:
    /// in steps, or at the end of a run by count.
    pub connections: Option<u32>,
    /// Whether the load of an open loop is the same throughout.
    pub is_steady: bool,
    /// Answered requests. With unlimited requests per connection, no connection may have ended.
    pub requests: u64,
    /// Completed connections by kind.
    pub kinds: Kinds,
    /// The requested share of resumption, in millionths.
    pub resume_millionths: u32,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

/// The verdicts of a run: only `valid` if no fault was found.
pub fn verdicts(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let mut found: Vec<Verdict> = [
        interrupted(evidence),
        nothing_completed(evidence),
        stalled(evidence).or_else(|| hanging(evidence)),
        troubles(evidence),
        unexpected(evidence),
        resume_ratio(evidence),
        saturated(evidence),
        kept_off(evidence),
        littles_law(evidence),
        late_arrivals(evidence),
        rate_not_achieved(evidence),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        found.push(Verdict { code: VerdictCode::Valid, message: valid(evidence) });
    }
    found
}

/// The message of the verdict `valid`.
fn valid(evidence: &Evidence<'_>) -> String {
    let generator = match busiest(evidence) {
        Some(share) => format!("the generator was {} % busy", whole_percent(share)),
        None => "the measurement was too short to say how busy the generator was".to_owned(),
    };
    let ended = evidence.outcomes.ended();
    let lost = ended - evidence.outcomes.completed;
    match (ended, lost) {
        // Connections that stay open end after the measurement.
        (0, _) => format!("valid: {generator}, and no connection failed"),
        (1, 0) => format!("valid: {generator}, and the one connection completed"),
        (_, 0) if evidence.requests > ended => {
            let requests = counted(evidence.requests, "request");
            let ended = counted(ended, "connection");
            format!("valid: {generator}, and none of {requests} and {ended} failed")
        }
        (_, 0) => {
            format!("valid: {generator}, and none of {} failed", counted(ended, "connection"))
        }
        _ => {
            let (lost, ended) = (grouped(lost), counted(ended, "connection"));
            format!("valid: {generator}, and {lost} of {ended} did not complete")
        }
    }
}

fn interrupted(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = format!("interrupted after {} s of measurement", decimal(evidence.seconds, 1));
    evidence.interrupted.then_some(Verdict { code: VerdictCode::Interrupted, message })
}

/// The server stopped answering before the end: connections were in flight, but none ended for
/// longer than any earlier connection took. Checked for a constant number of connections with one
/// request each.
fn stalled(evidence: &Evidence<'_>) -> Option<Verdict> {
    let Outcomes { in_flight_at_stop: waiting, completed, .. } = *evidence.outcomes;
    evidence.connections.filter(|_| waiting > 0 && evidence.requests <= completed)?;
    let last = evidence.intervals.iter().rev().find(|slice| slice.completed + slice.failed > 0)?;
    let silence = evidence.seconds - last.at_s - last.seconds;
    let longest = evidence.summaries["service"].max_ms / 1e3;
    let message = format!(
        "the server stopped answering: {} received nothing in the last {} s or more; the longest \
         earlier one took {} s. Latencies are those before the stop; the rate is averaged over the \
         whole measurement",
        counted(waiting, "connection"),
        decimal(silence, 1),
        decimal(longest, 3)
    );
    (silence >= SILENCE_S * 0.99 && silence >= SILENCE_TIMES * longest)
        .then_some(Verdict { code: VerdictCode::Stalled, message })
}

/// The server answered some connections and not others: at the end these had waited far longer than
/// any answer took. They are neither completed nor failed, so that no other figure shows them.
fn hanging(evidence: &Evidence<'_>) -> Option<Verdict> {
    // A connection without a request may wait for the server's answer to its end.
    let last = if evidence.requests == 0 { "service" } else { "exchange" };
    let steps = ["connect", "handshake", last];
    let longest_ms = steps.iter().filter_map(|name| evidence.summaries.get(*name));
    let longest = longest_ms.map(|summary| summary.max_ms).fold(0.0, f64::max) / 1e3;
    let waits = evidence.waits.iter().map(|wait| *wait as f64 / SECOND as f64);
    let waits: Vec<f64> = waits.filter(|wait| *wait >= SILENCE_TIMES * longest).collect();
    let message = format!(
        "the server left {} of {} in flight at the end without an answer for {} s or more; the \
         longest step of those that it answered took {} s. They are neither completed nor failed: \
         latencies are without them",
        grouped(waits.len() as u64),
        counted(evidence.outcomes.in_flight_at_stop, "connection"),
        decimal(waits.iter().copied().fold(f64::INFINITY, f64::min), 1),
        decimal(longest, 3)
    );
    (longest > 0.0 && exceeds(waits.len() as u64, evidence.outcomes))
        .then_some(Verdict { code: VerdictCode::Stalled, message })
}

fn nothing_completed(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = match evidence.outcomes.attempts {
        1 => "the one connection did not complete".to_owned(),
        attempts => format!("none of {} completed", counted(attempts, "connection")),
    };
    (evidence.outcomes.completed == 0 && evidence.requests == 0)
        .then_some(Verdict { code: VerdictCode::NothingCompleted, message })
}

fn troubles(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count = evidence.outcomes.failures();
    exceeds(count, evidence.outcomes).then(|| {
        let classes = listed(&evidence.outcomes.failed, evidence.outcomes);
        let ended = counted(evidence.outcomes.ended(), "connection");
        let message = format!("{} of {ended} failed: {classes}", grouped(count));
        Verdict { code: VerdictCode::Failures, message }
    })
}

fn unexpected(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count: u64 = evidence.outcomes.unexpected.values().sum();
    exceeds(count, evidence.outcomes).then(|| {
        let facts = listed(&evidence.outcomes.unexpected, evidence.outcomes);
        let ended = counted(evidence.outcomes.ended(), "handshake");
        let verb = if count == 1 { "was" } else { "were" };
        let count = grouped(count);
        let message = format!("{count} of {ended} {verb} not the one asked for: {facts}");
        Verdict { code: VerdictCode::Unexpected, message }
    })
}

/// The order of kinds is exact. The share among counted connections differs only by connections in
/// flight at the edges of the measurement and by those that did not complete.
fn resume_ratio(evidence: &Evidence<'_>) -> Option<Verdict> {
    let completed = evidence.outcomes.completed as f64;
    let asked = f64::from(evidence.resume_millionths) / 1e6;
    let achieved = evidence.kinds.resumed_share();
    let lost = evidence.outcomes.ended() - evidence.outcomes.completed;
    let edges = 2.0 * evidence.outcomes.in_flight_at_stop as f64 + lost as f64;
    let message = format!(
        "{:.1} % of the connections resumed an earlier session, {:.1} % were to",
        achieved * 100.0,
        asked * 100.0
    );
    ((achieved - asked).abs() * completed > RESUME_RATIO_LIMIT * completed + edges)
        .then_some(Verdict { code: VerdictCode::ResumeRatio, message })
}

fn exceeds(count: u64, outcomes: &Outcomes) -> bool {
    count as f64 > TROUBLE_LIMIT * outcomes.ended() as f64
}

/// The classes with their counts, each with its most frequent reason.
fn listed(counts: &std::collections::BTreeMap<String, u64>, outcomes: &Outcomes) -> String {
    let part = |(class, count): (&String, &u64)| {
        let all = grouped(*count);
        match outcomes.reasons_of(class).next() {
            Some(most) if most.count == *count => format!("{class} {all}: {}", most.reason),
            Some(most) => {
                format!("{class} {all}, {} of them: {}", grouped(most.count), most.reason)
            }
            None => format!("{class} {all}"),
        }
    };
    counts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Little's law as an identity: time in flight during the measurement = service times of the
/// completed connections + the other connections' time within the measurement. It holds in a ramp,
/// with connections that outlast the measurement, and with a server that stops answering.
fn littles_law(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = lost_times(evidence)
        .or_else(|| wrong_times(evidence))
        .or_else(|| lost_connections(evidence))?;
    Some(Verdict { code: VerdictCode::LittlesLaw, message })
}

/// Checks that each completed connection has a service time.
fn lost_times(evidence: &Evidence<'_>) -> Option<String> {
    let (times, completed) = (evidence.summaries["service"].n, evidence.outcomes.completed);
    (times != completed).then(|| {
        let (connections, times) =
            (counted(completed, "connection"), counted(times, "service time"));
        format!("{connections} completed, but the record has {times}")
    })
}

/// Compares the counted time in flight with the connections' own times. Only the times of completed
/// connections come from a histogram, so the comparison uses these instead of the sums.
fn wrong_times(evidence: &Evidence<'_>) -> Option<String> {
    let FlightTimes { within_s, before_s, troubled_s, unfinished_s } = evidence.flight.times();
    let service = evidence.summaries["service"];
    let found = service.n as f64 * service.mean_ms / 1000.0;
    let flown = within_s + before_s - troubled_s - unfinished_s;
    let workers = evidence.workers.len().max(1) as f64;
    let blur = CLOCK_BLUR_S * evidence.outcomes.attempts as f64 + PREEMPTION_S * workers;
    let message = format!(
        "completed connections were in flight for {} s in all, but their service times make {} s \
         (Little's law)",
        decimal(flown, 3),
        decimal(found, 3)
    );
    ((found - flown).abs() > LITTLES_LAW_LIMIT * flown.max(0.0) + blur).then_some(message)
}

/// Checks that a closed loop kept its number in flight. Not applicable if fewer were in flight at
/// the start of the measurement or if failures made slots pause.
fn lost_connections(evidence: &Evidence<'_>) -> Option<String> {
    let kept = evidence.connections.filter(|_| evidence.open_loop.is_none())?;
    let paused = evidence.outcomes.ended() != evidence.outcomes.completed;
    if paused || evidence.carried != u64::from(kept) || evidence.seconds <= 0.0 {
        return None;
    }
    let mean = evidence.flight.times().within_s / evidence.seconds;
    let limit = LITTLES_LAW_LIMIT + PREEMPTION_S / evidence.seconds;
    let message = format!(
        "{} to be kept in flight, {} on average",
        counted(kept, "connection"),
        decimal(mean, 1)
    );
    ((mean / f64::from(kept) - 1.0).abs() > limit).then_some(message)
}

fn late_arrivals(evidence: &Evidence<'_>) -> Option<Verdict> {
    let open_loop = evidence.open_loop?;
    let delay = evidence.summaries["start_delay"];
    let (late, late_ms) = match delay.n {
        // The largest of fewer than 100 values is their 99th percentile.
        n if n < HUNDRED => (format!("one of {}", counted(n, "connection")), delay.p99_ms),
        n if n < LATE_N => ("1 % of the connections".to_owned(), delay.p99_ms),
        _ => ("0.1 % of the connections".to_owned(), delay.p999_ms),
    };
    let OpenLoop { arrivals, blocked, .. } = open_loop;
    let why = if blocked > 0 {
        let (blocked, arrivals) = (grouped(blocked), counted(arrivals, "arrival"));
        format!("{blocked} of {arrivals} found no free slot (raise --connections)")
    } else {
        "the generator, or its processor, was busy with something else".to_owned()
    };
    let message = format!("{late} started {} ms late or more: {why}", decimal(late_ms, 1));
    (late_ms > LATE_LIMIT_MS).then_some(Verdict { code: VerdictCode::LateArrivals, message })
}

fn rate_not_achieved(evidence: &Evidence<'_>) -> Option<Verdict> {
    let open_loop = evidence.open_loop?;
    let message = late_starts(open_loop).or_else(|| growing_queue(evidence, open_loop))?;
    Some(Verdict { code: VerdictCode::RateNotAchieved, message })
}

/// The edges of the measurement explain a difference of one connection.
fn late_starts(open_loop: OpenLoop) -> Option<String> {
    let OpenLoop { arrivals, started, offered_per_s, achieved_per_s, .. } = open_loop;
    let missing = arrivals.abs_diff(started) as f64;
    let [achieved, offered] = [achieved_per_s, offered_per_s].map(|rate| decimal(rate, 1));
    (missing > 1.0 + RATE_LIMIT * arrivals as f64)
        .then(|| format!("{achieved} connections/s were started, {offered} were due"))
}

/// Connections begin as they are due whether or not the server keeps up: its queue shows in the
/// later half of the measurement, in which fewer end than were due. Not applicable where the load
/// changes, and where a connection takes half of the measurement or longer.
fn growing_queue(evidence: &Evidence<'_>, open_loop: OpenLoop) -> Option<String> {
    let half = evidence.is_steady.then_some(evidence.seconds / 2.0)?;
    let late = evidence.intervals.iter().filter(|slice| slice.at_s >= half);
    let (ended, seconds) = late.fold((0, 0.0), |(ended, seconds), slice| {
        (ended + slice.completed + slice.failed, seconds + slice.seconds)
    });
    let due = open_loop.offered_per_s * seconds;
    // Arrivals may be random (Poisson): three standard deviations of their number.
    let missing = due - ended as f64 > BEHIND_LIMIT * due + 3.0 * due.sqrt();
    let is_short = evidence.summaries["service"].p50_ms / 1e3 < half;
    (due >= HUNDRED as f64 && missing && is_short).then(|| {
        format!(
            "{} connections/s ended in the last {} s, {} were due: the server did not keep up, and \
             its queue grew; the times depend on how long the run was",
            decimal(ended as f64 / seconds, 1),
            decimal(seconds, 1),
            decimal(open_loop.offered_per_s, 1)
        )
    })
}

#[cfg(test)]
mod tests;

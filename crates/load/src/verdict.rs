//! Judges a run: the verdicts that the reader of a record must know before using its figures.

use std::collections::BTreeMap;

use crate::recorder::Flight;
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    FlightTimes, Interval, Kinds, OpenLoop, Summary, Verdict, VerdictCode, WorkerUsage,
};

/// The share of its processor above which a worker of a closed loop was the bottleneck.
pub(crate) const SATURATED: f64 = 0.95;

/// The same share for an open loop, whose starts are late long before it is busy all the time.
pub(crate) const SATURATED_OPEN: f64 = 0.8;

/// The shortest measurement, in seconds, over which a worker's processor time means something: the
/// kernel may account for it by ticks of up to 10 ms.
const BUSY_MEASURABLE: f64 = 0.1;

/// The share of failed connections, and of unexpected ones, up to which a run is good.
const TROUBLE_LIMIT: f64 = 0.001;

/// How far service times may differ from the time that their connections were in flight.
const LITTLES_LAW_LIMIT: f64 = 0.02;

/// What the accounting of a connection's time may miss, in seconds: what is done between the reading of
/// the clock and the counting.
const CLOCK_BLUR_S: f64 = 5e-6;

/// How long, in seconds, a worker may once be kept off its processor between the two: a turn of the
/// kernel's scheduler on a busy machine. It is counted for one connection and not for another.
const PREEMPTION_S: f64 = 0.01;

/// How late connections of an open loop may start, in milliseconds, but for one in a thousand.
const LATE_LIMIT_MS: f64 = 1.0;

/// The fewest starts for a 99.9th percentile.
const LATE_N: u64 = 1_000;

/// The fewest starts of which one is 1 % at most.
const HUNDRED: u64 = 100;

/// How far the achieved rate of an open loop may be from the offered one.
const RATE_LIMIT: f64 = 0.01;

/// How long, in seconds, nothing may come at the end of a measurement.
const SILENCE_S: f64 = 1.0;

/// The same, as a multiple of the longest connection until then.
const SILENCE_TIMES: f64 = 3.0;

/// How far the share of resumed connections may be from the one asked for.
const RESUME_RATIO_LIMIT: f64 = 0.01;

/// The evidence by which a run is judged.
#[derive(Debug)]
pub struct Evidence<'r> {
    /// The accounting.
    pub outcomes: &'r Outcomes,
    /// The histograms in short.
    pub summaries: &'r BTreeMap<String, Summary>,
    /// The accounting of arrivals, in an open loop.
    pub open_loop: Option<OpenLoop>,
    /// Time that connections spent in flight.
    pub flight: Flight,
    /// Connections in flight when the measurement began.
    pub carried: u64,
    /// The workers' use of their processors.
    pub workers: &'r [WorkerUsage],
    /// The length of the measurement in seconds.
    pub seconds: f64,
    /// The measurement in slices.
    pub intervals: &'r [Interval],
    /// Connections that a closed loop keeps in flight; `None` when that changes: in steps, or at the
    /// end of a run by count.
    pub connections: Option<u32>,
    /// Requests answered; with as many as fit on a connection, none may have come to its end.
    pub requests: u64,
    /// Completed connections by kind.
    pub kinds: Kinds,
    /// The share of them that was to resume an earlier session, in millionths.
    pub resume_millionths: u32,
    /// Whether the run was ended before its time.
    pub interrupted: bool,
}

/// The verdicts; only `valid` if there is no objection.
pub fn verdicts(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let mut found: Vec<Verdict> = [
        interrupted(evidence),
        nothing_completed(evidence),
        stalled(evidence),
        troubles(evidence),
        unexpected(evidence),
        resume_ratio(evidence),
        saturated(evidence),
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

/// Why a run is good, in a sentence.
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
            let requests = evidence.requests;
            format!(
                "valid: {generator}, and none of {requests} requests and {ended} connections failed"
            )
        }
        (_, 0) => format!("valid: {generator}, and none of {ended} connections failed"),
        _ => format!("valid: {generator}, and {lost} of {ended} connections did not complete"),
    }
}

/// A share in percent, without its decimals: 94.9 % is below a limit of 95. Processor time that the
/// kernel accounts for by ticks may exceed a short measurement.
fn whole_percent(share: f64) -> f64 {
    (share.min(1.0) * 100.0).floor()
}

/// A number with its noun: `1 connection`, `2 connections`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

fn interrupted(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = format!("interrupted after {:.1} s of measurement", evidence.seconds);
    evidence.interrupted.then_some(Verdict { code: VerdictCode::Interrupted, message })
}

/// Whether connections were in flight at the end, but for longer than any connection took before none
/// ended: the server has stopped answering, though nothing has failed yet. Reported for a constant
/// number of connections with one request each.
fn stalled(evidence: &Evidence<'_>) -> Option<Verdict> {
    let Outcomes { in_flight_at_stop: waiting, completed, .. } = *evidence.outcomes;
    evidence.connections.filter(|_| waiting > 0 && evidence.requests <= completed)?;
    let last = evidence.intervals.iter().rev().find(|slice| slice.completed + slice.failed > 0)?;
    let silence = evidence.seconds - last.at_s - last.seconds;
    let longest = evidence.summaries["service"].max_ms / 1e3;
    let message = format!(
        "the server stopped answering: {} got nothing to the end for the last {silence:.1} s or \
         more, the longest before took {longest:.3} s; rate and latencies are those of the time \
         before, averaged over all of it",
        counted(waiting, "connection")
    );
    (silence >= SILENCE_S * 0.99 && silence >= SILENCE_TIMES * longest)
        .then_some(Verdict { code: VerdictCode::Stalled, message })
}

fn nothing_completed(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = match evidence.outcomes.attempts {
        1 => "the one connection did not complete".to_owned(),
        attempts => format!("none of {attempts} connections completed"),
    };
    (evidence.outcomes.completed == 0 && evidence.requests == 0)
        .then_some(Verdict { code: VerdictCode::NothingCompleted, message })
}

fn troubles(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count = evidence.outcomes.failures();
    exceeds(count, evidence.outcomes).then(|| {
        let classes = listed(&evidence.outcomes.failed, evidence.outcomes);
        let ended = counted(evidence.outcomes.ended(), "connection");
        let message = format!("{count} of {ended} failed: {classes}");
        Verdict { code: VerdictCode::Failures, message }
    })
}

fn unexpected(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count = evidence.outcomes.unexpected.values().sum();
    exceeds(count, evidence.outcomes).then(|| {
        let facts = listed(&evidence.outcomes.unexpected, evidence.outcomes);
        let ended = counted(evidence.outcomes.ended(), "handshake");
        let verb = if count == 1 { "was" } else { "were" };
        let message = format!("{count} of {ended} {verb} not the one asked for: {facts}");
        Verdict { code: VerdictCode::Unexpected, message }
    })
}

/// The sequence of kinds is exact; the counted share can differ only by connections under way at the
/// edges of the measurement, and by those that did not complete.
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

/// Each class with its count, and with the most frequent of its reasons.
fn listed(counts: &std::collections::BTreeMap<String, u64>, outcomes: &Outcomes) -> String {
    let part = |(class, count): (&String, &u64)| match outcomes.reasons_of(class).next() {
        Some(most) if most.count == *count => format!("{class} {count}: {}", most.reason),
        Some(most) => format!("{class} {count}, {} of them: {}", most.count, most.reason),
        None => format!("{class} {count}"),
    };
    counts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The share of its processor that the busiest worker used, where that is known.
fn busiest(evidence: &Evidence<'_>) -> Option<f64> {
    let busy = |usage: &WorkerUsage| usage.cpu.total_us() as f64 / (usage.seconds * 1e6);
    let measurable = evidence.workers.iter().filter(|usage| usage.seconds >= BUSY_MEASURABLE);
    measurable.map(busy).reduce(f64::max)
}

fn saturated(evidence: &Evidence<'_>) -> Option<Verdict> {
    let busiest = busiest(evidence).unwrap_or_default();
    let message = format!(
        "a worker was busy {} % of the time: the generator was the bottleneck, rates are lower bounds",
        whole_percent(busiest)
    );
    let limit = if evidence.open_loop.is_some() { SATURATED_OPEN } else { SATURATED };
    (busiest >= limit).then_some(Verdict { code: VerdictCode::ClientSaturated, message })
}

/// Little's law as an identity: the time that connections spent in flight during the measurement is the
/// sum of the service times of those that completed, and of the other connections' time within the
/// measurement. It holds in a ramp, with connections that outlast the measurement, and with a server
/// that stops answering.
fn littles_law(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = lost_times(evidence)
        .or_else(|| wrong_times(evidence))
        .or_else(|| lost_connections(evidence))?;
    Some(Verdict { code: VerdictCode::LittlesLaw, message })
}

/// Each completed connection has a service time.
fn lost_times(evidence: &Evidence<'_>) -> Option<String> {
    let (times, completed) = (evidence.summaries["service"].n, evidence.outcomes.completed);
    (times != completed).then(|| {
        let (connections, times) =
            (counted(completed, "connection"), counted(times, "service time"));
        format!("{connections} completed, but the record has {times}")
    })
}

/// Compares the time counted in flight with the connections' own times. Only the times of completed
/// connections come from a histogram: so these are compared, not the sums.
fn wrong_times(evidence: &Evidence<'_>) -> Option<String> {
    let FlightTimes { within_s, before_s, troubled_s, unfinished_s } = evidence.flight.times();
    let service = evidence.summaries["service"];
    let found = service.n as f64 * service.mean_ms / 1000.0;
    let flown = within_s + before_s - troubled_s - unfinished_s;
    let workers = evidence.workers.len().max(1) as f64;
    let blur = CLOCK_BLUR_S * evidence.outcomes.attempts as f64 + PREEMPTION_S * workers;
    let message = format!(
        "completed connections were in flight for {flown:.3} s in all, but their service times make \
         {found:.3} s (Little's law)"
    );
    ((found - flown).abs() > LITTLES_LAW_LIMIT * flown.max(0.0) + blur).then_some(message)
}

/// A closed loop keeps the given number in flight, if it does so at the start of the measurement, and
/// unless failed connections make it pause.
fn lost_connections(evidence: &Evidence<'_>) -> Option<String> {
    let kept = evidence.connections.filter(|_| evidence.open_loop.is_none())?;
    let paused = evidence.outcomes.ended() != evidence.outcomes.completed;
    if paused || evidence.carried != u64::from(kept) || evidence.seconds <= 0.0 {
        return None;
    }
    let mean = evidence.flight.times().within_s / evidence.seconds;
    let limit = LITTLES_LAW_LIMIT + PREEMPTION_S / evidence.seconds;
    let message = format!(
        "{} to be kept in flight, {mean:.1} on average",
        counted(kept.into(), "connection")
    );
    ((mean / f64::from(kept) - 1.0).abs() > limit).then_some(message)
}

fn late_arrivals(evidence: &Evidence<'_>) -> Option<Verdict> {
    let open_loop = evidence.open_loop?;
    let delay = evidence.summaries["start_delay"];
    let (late, late_ms) = match delay.n {
        // The largest of so few is their 99th percentile.
        n if n < HUNDRED => (format!("one of {}", counted(n, "connection")), delay.p99_ms),
        n if n < LATE_N => ("1 % of the connections".to_owned(), delay.p99_ms),
        _ => ("0.1 % of the connections".to_owned(), delay.p999_ms),
    };
    let OpenLoop { arrivals, blocked, .. } = open_loop;
    let why = if blocked > 0 {
        format!("{blocked} of {arrivals} arrivals found no free slot (raise --connections)")
    } else {
        "the generator, or its processor, was busy with something else".to_owned()
    };
    let message = format!("{late} started {late_ms:.1} ms late or more: {why}");
    (late_ms > LATE_LIMIT_MS).then_some(Verdict { code: VerdictCode::LateArrivals, message })
}

/// One connection more or less is due to the edges of the measurement.
fn rate_not_achieved(evidence: &Evidence<'_>) -> Option<Verdict> {
    let OpenLoop { arrivals, started, offered_per_s, achieved_per_s, .. } = evidence.open_loop?;
    let missing = arrivals.abs_diff(started) as f64;
    let message =
        format!("{achieved_per_s:.1} connections/s were started, {offered_per_s:.1} were due");
    (missing > 1.0 + RATE_LIMIT * arrivals as f64)
        .then_some(Verdict { code: VerdictCode::RateNotAchieved, message })
}

#[cfg(test)]
mod tests;

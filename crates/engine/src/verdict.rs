//! What the reader of a record must know before using its numbers.

use crate::outcome::Outcomes;
use crate::record::{Kinds, Summary, Verdict, VerdictCode, WorkerUsage};

/// The share of its processor above which a worker was the bottleneck.
const SATURATED: f64 = 0.95;

/// The shortest measurement, in seconds, over which a worker's processor time means something: the
/// kernel may account for it by ticks of up to 10 ms.
const BUSY_MEASURABLE: f64 = 0.1;

/// The share of failed connections, and of unexpected ones, up to which a run is good.
const TROUBLE_LIMIT: f64 = 0.001;

/// How far connections in flight may differ from rate times service time.
const LITTLES_LAW_LIMIT: f64 = 0.02;

/// How far the share of resumed connections may be from the one asked for.
const RESUME_RATIO_LIMIT: f64 = 0.01;

/// What is judged.
#[derive(Debug)]
pub struct Evidence<'r> {
    /// The books.
    pub outcomes: &'r Outcomes,
    /// The service time of completed connections.
    pub service: Summary,
    /// The workers' use of their processors.
    pub workers: &'r [WorkerUsage],
    /// The length of the measurement in seconds.
    pub seconds: f64,
    /// Connections in flight at once.
    pub connections: u32,
    /// Requests answered; with as many as fit on a connection, none may have come to its end.
    pub requests: u64,
    /// Completed connections by kind.
    pub kinds: Kinds,
    /// The share of them that was to resume an earlier session, in millionths.
    pub resume_millionths: u32,
    /// Whether the run was ended before its time.
    pub interrupted: bool,
}

/// The verdicts, `valid` alone when nothing is the matter.
pub fn verdicts(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let mut found: Vec<Verdict> = [
        interrupted(evidence),
        nothing_completed(evidence),
        troubles(evidence),
        unexpected(evidence),
        resume_ratio(evidence),
        saturated(evidence),
        littles_law(evidence),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        let message = "nothing is the matter".to_owned();
        found.push(Verdict { code: VerdictCode::Valid, message });
    }
    found
}

fn interrupted(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = format!("interrupted after {:.1} s of measurement", evidence.seconds);
    evidence.interrupted.then_some(Verdict { code: VerdictCode::Interrupted, message })
}

fn nothing_completed(evidence: &Evidence<'_>) -> Option<Verdict> {
    let message = format!("none of {} connections completed", evidence.outcomes.attempts);
    (evidence.outcomes.completed == 0 && evidence.requests == 0)
        .then_some(Verdict { code: VerdictCode::NothingCompleted, message })
}

fn troubles(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count = evidence.outcomes.failures();
    exceeds(count, evidence.outcomes).then(|| {
        let classes = listed(&evidence.outcomes.failed);
        let message =
            format!("{count} of {} connections failed: {classes}", evidence.outcomes.ended());
        Verdict { code: VerdictCode::Failures, message }
    })
}

fn unexpected(evidence: &Evidence<'_>) -> Option<Verdict> {
    let count = evidence.outcomes.unexpected.values().sum();
    exceeds(count, evidence.outcomes).then(|| {
        let facts = listed(&evidence.outcomes.unexpected);
        let ended = evidence.outcomes.ended();
        let message = format!("{count} of {ended} handshakes were not the one asked for: {facts}");
        Verdict { code: VerdictCode::Unexpected, message }
    })
}

/// The sequence of kinds is exact; only connections under way at the edges of the measurement, and
/// those that did not complete, can shift what of it was counted.
fn resume_ratio(evidence: &Evidence<'_>) -> Option<Verdict> {
    let completed = evidence.outcomes.completed as f64;
    let asked = f64::from(evidence.resume_millionths) / 1e6;
    let achieved = evidence.kinds.resumed_share();
    let lost = evidence.outcomes.ended() - evidence.outcomes.completed;
    let edges = 2.0 * f64::from(evidence.connections) + lost as f64;
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

fn listed(counts: &std::collections::BTreeMap<String, u64>) -> String {
    let parts: Vec<_> = counts.iter().map(|(class, count)| format!("{class} {count}")).collect();
    parts.join(", ")
}

fn saturated(evidence: &Evidence<'_>) -> Option<Verdict> {
    let busy = |usage: &WorkerUsage| usage.cpu.total_us() as f64 / (usage.seconds * 1e6);
    let measurable = evidence.workers.iter().filter(|usage| usage.seconds >= BUSY_MEASURABLE);
    let busiest = measurable.map(busy).fold(0.0, f64::max);
    let message = format!(
        "a worker was busy {:.0} % of the time: the generator was the bottleneck, rates are lower bounds",
        busiest * 100.0
    );
    (busiest >= SATURATED).then_some(Verdict { code: VerdictCode::ClientSaturated, message })
}

/// Little's law for the closed loop: connections in flight = rate x service time.
///
/// Connections cut by the edges of the measurement blur the mean by about one service time, over
/// the root of their number; with little in the measurement nothing can be said.
fn littles_law(evidence: &Evidence<'_>) -> Option<Verdict> {
    let connections = f64::from(evidence.connections);
    let service_s = evidence.service.mean_ms / 1000.0;
    let troubled = evidence.outcomes.ended() != evidence.outcomes.completed;
    if troubled || service_s <= 0.0 || evidence.seconds < 10.0 * service_s {
        return None;
    }
    let implied = evidence.outcomes.completed as f64 / evidence.seconds * service_s;
    let blur = service_s / evidence.seconds / connections.sqrt();
    let off = (implied / connections - 1.0).abs();
    let message = format!(
        "{connections} connections were kept in flight, but rate x service time makes {implied:.1}"
    );
    (off > LITTLES_LAW_LIMIT + 3.0 * blur)
        .then_some(Verdict { code: VerdictCode::LittlesLaw, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CpuTime;

    fn judge(
        change: impl FnOnce(&mut Outcomes, &mut Summary, &mut WorkerUsage),
    ) -> Vec<VerdictCode> {
        let mut outcomes = Outcomes { attempts: 10_010, completed: 10_000, ..Outcomes::default() };
        outcomes.in_flight_at_stop = 10;
        let mut service = Summary { n: 10_000, mean_ms: 2.0, ..Summary::default() };
        let cpu = CpuTime { user_us: 300_000, system_us: 200_000 };
        let mut usage = WorkerUsage { processor: None, cpu, seconds: 2.0 };
        change(&mut outcomes, &mut service, &mut usage);
        let evidence = Evidence {
            outcomes: &outcomes,
            service,
            workers: &[usage],
            seconds: 2.0,
            connections: 10,
            requests: 10_000,
            kinds: Kinds { full: 10_000, ..Kinds::default() },
            resume_millionths: 0,
            interrupted: false,
        };
        verdicts(&evidence).into_iter().map(|verdict| verdict.code).collect()
    }

    #[test]
    fn a_run_without_fault_is_valid() {
        assert_eq!(judge(|_, _, _| ()), [VerdictCode::Valid]);
    }

    #[test]
    fn connections_without_end_are_good_if_requests_are_answered() {
        let unfinished = |requests| {
            let outcomes = Outcomes { attempts: 4, in_flight_at_stop: 4, ..Outcomes::default() };
            let service = Summary::default();
            let (seconds, connections, interrupted) = (1.0, 4, false);
            let workers = &[];
            let evidence = Evidence {
                outcomes: &outcomes,
                service,
                workers,
                seconds,
                connections,
                requests,
                kinds: Kinds::default(),
                resume_millionths: 0,
                interrupted,
            };
            verdicts(&evidence)[0].code
        };
        assert_eq!(unfinished(900), VerdictCode::Valid);
        assert_eq!(unfinished(0), VerdictCode::NothingCompleted);
    }

    #[test]
    fn a_busy_worker_is_the_bottleneck() {
        let verdict = judge(|_, _, usage| usage.cpu.user_us = 1_800_000);
        assert_eq!(verdict, [VerdictCode::ClientSaturated]);
    }

    #[test]
    fn a_few_ticks_of_the_clock_do_not_make_a_worker_busy() {
        let tick = CpuTime { user_us: 10_000, system_us: 0 };
        let verdict = judge(|_, _, usage| (usage.cpu, usage.seconds) = (tick, 0.009));
        assert_eq!(verdict, [VerdictCode::Valid]);
    }

    #[test]
    fn failures_and_unexpected_handshakes_have_a_limit() {
        let failed =
            |count| judge(|o, _, _| assert_eq!(o.failed.insert("reset".to_owned(), count), None));
        assert_eq!(failed(10), [VerdictCode::Valid]);
        assert_eq!(failed(11), [VerdictCode::Failures]);
        let verdict =
            judge(|o, _, _| assert_eq!(o.unexpected.insert("group".to_owned(), 100), None));
        assert_eq!(verdict, [VerdictCode::Unexpected]);
    }

    #[test]
    fn a_published_mean_that_littles_law_refutes_is_caught() {
        // 2,000 connections and 3,337 per second make 599 ms; the page said 241 ms.
        let outcomes = Outcomes { attempts: 100_110, completed: 100_110, ..Outcomes::default() };
        let service = Summary { n: 100_110, mean_ms: 241.0, ..Summary::default() };
        let evidence = Evidence {
            outcomes: &outcomes,
            service,
            workers: &[],
            seconds: 30.0,
            connections: 2_000,
            requests: 100_110,
            kinds: Kinds { full: 100_110, ..Kinds::default() },
            resume_millionths: 0,
            interrupted: false,
        };
        assert_eq!(verdicts(&evidence)[0].code, VerdictCode::LittlesLaw);
    }

    #[test]
    fn a_share_of_resumed_connections_that_was_not_asked_for_is_told() {
        let judge = |resumed, resume_millionths| {
            let outcomes = Outcomes { attempts: 10_000, completed: 10_000, ..Outcomes::default() };
            let evidence = Evidence {
                outcomes: &outcomes,
                service: Summary::default(),
                workers: &[],
                seconds: 30.0,
                connections: 10,
                requests: 10_000,
                kinds: Kinds { full: 10_000 - resumed, resumed, ..Kinds::default() },
                resume_millionths,
                interrupted: false,
            };
            verdicts(&evidence)[0].code
        };
        assert_eq!(judge(6_000, 600_000), VerdictCode::Valid);
        assert_eq!(judge(6_119, 600_000), VerdictCode::Valid);
        assert_eq!(judge(6_121, 600_000), VerdictCode::ResumeRatio);
        assert_eq!(judge(9_000, 1_000_000), VerdictCode::ResumeRatio);
    }
}

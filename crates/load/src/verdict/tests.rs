use super::*;
use tlslab_contract::record::CpuTime;
use tlslab_system::clock::MILLISECOND;
use tlslab_wire::reason::CountedReason;

mod kept_off;
mod simulation;

/// The evidence of a run of 10,000 connections in two seconds, as the tests change it.
struct Made {
    outcomes: Outcomes,
    summaries: BTreeMap<String, Summary>,
    usage: WorkerUsage,
    flight: Flight,
    carried: u64,
    open_loop: Option<OpenLoop>,
    connections: Option<u32>,
    is_steady: bool,
    requests: u64,
    kinds: Kinds,
    resume_millionths: u32,
    supply: Supply,
    seconds: f64,
    intervals: Vec<Interval>,
    waits: Vec<Nanos>,
}

fn verdicts_of(change: impl FnOnce(&mut Made)) -> Vec<VerdictCode> {
    judged(change).into_iter().map(|verdict| verdict.code).collect()
}

/// The message of the only verdict.
fn message(change: impl FnOnce(&mut Made)) -> String {
    let [only] = judged(change).try_into().unwrap();
    only.message
}

fn judged(change: impl FnOnce(&mut Made)) -> Vec<Verdict> {
    let mut outcomes = Outcomes { attempts: 10_010, completed: 10_000, ..Outcomes::default() };
    outcomes.in_flight_at_stop = 10;
    let service = Summary { n: 10_000, mean_ms: 2.0, ..Summary::default() };
    let delay = Summary { n: 10_000, p99_ms: 0.1, p999_ms: 0.9, ..Summary::default() };
    let cpu = CpuTime { user_us: 300_000, system_us: 200_000 };
    let mut made = Made {
        outcomes,
        summaries: [("service".to_owned(), service), ("start_delay".to_owned(), delay)].into(),
        usage: WorkerUsage { cpu, seconds: 2.0, ..WorkerUsage::default() },
        supply: Supply::default(),
        flight: flight(2 * 10_000, 10, 10),
        carried: 10,
        open_loop: None,
        connections: Some(10),
        is_steady: true,
        requests: 10_000,
        kinds: Kinds { full: 10_000, ..Kinds::default() },
        resume_millionths: 0,
        seconds: 2.0,
        intervals: vec![slice(0.0, 5_000), slice(1.0, 5_000)],
        waits: Vec::new(),
    };
    change(&mut made);
    let evidence = Evidence {
        outcomes: &made.outcomes,
        summaries: &made.summaries,
        open_loop: made.open_loop,
        flight: made.flight,
        carried: made.carried,
        workers: &[made.usage],
        supply: &made.supply,
        seconds: made.seconds,
        intervals: &made.intervals,
        waits: &made.waits,
        connections: made.connections,
        is_steady: made.is_steady,
        requests: made.requests,
        kinds: made.kinds,
        resume_millionths: made.resume_millionths,
        interrupted: false,
    };
    verdicts(&evidence)
}

/// A slice of one second with N completed connections.
fn slice(at_s: f64, completed: u64) -> Interval {
    Interval { at_s, seconds: 1.0, completed, failed: 0, cpu: CpuTime::default() }
}

#[test]
fn a_server_that_stops_answering_is_distinguished_from_a_slow_one() {
    let stopped = |made: &mut Made| made.intervals = vec![slice(0.0, 10_000)];
    let longest = |made: &mut Made, ms: f64| {
        made.summaries.get_mut("service").unwrap().max_ms = ms;
    };
    assert_eq!(verdicts_of(stopped), [VerdictCode::Stalled]);
    // The slow server's connections take that long.
    let slow = |made: &mut Made| {
        stopped(made);
        longest(made, 400.0);
    };
    assert_eq!(verdicts_of(slow), [VerdictCode::Valid]);
    // Connections that stay open, or whose number changes, may end at any time.
    let kept = |made: &mut Made| {
        stopped(made);
        made.requests = 20_000;
    };
    assert_eq!(verdicts_of(kept), [VerdictCode::Valid]);
    let counted = |made: &mut Made| {
        stopped(made);
        made.connections = None;
    };
    assert_eq!(verdicts_of(counted), [VerdictCode::Valid]);
}

#[test]
fn connections_that_a_server_answers_no_more_while_it_answers_others_are_reported() {
    // One of 1,000 is within the limit of failures.
    let hang = |made: &mut Made| {
        made.waits = vec![2 * SECOND; 11];
        let exchange = Summary { n: 10_000, max_ms: 600.0, ..Summary::default() };
        made.summaries.insert("exchange".to_owned(), exchange);
    };
    assert_eq!(verdicts_of(hang), [VerdictCode::Stalled]);
    let said = message(hang);
    assert!(said.contains("left 11 of 10 connections in flight at the end"), "{said}");
    assert!(said.contains("for 2.0 s or more; the longest step") && said.contains("0.600 s"));
    let few = |made: &mut Made| {
        hang(made);
        made.waits.truncate(10);
    };
    assert_eq!(verdicts_of(few), [VerdictCode::Valid]);
    let slow = |made: &mut Made| {
        hang(made);
        made.summaries.get_mut("exchange").unwrap().max_ms = 700.0;
    };
    assert_eq!(verdicts_of(slow), [VerdictCode::Valid]);
}

/// The same run in an open loop: ten connections in flight on average, fifteen at the end.
fn open(made: &mut Made) {
    made.open_loop = Some(OpenLoop {
        arrivals: 10_000,
        started: 10_000,
        blocked: 0,
        waiting_at_stop: 0,
        offered_per_s: 5_000.0,
        achieved_per_s: 5_000.0,
        users: None,
    });
    (made.flight, made.carried) = (flight(20_010, 0, 10), 0);
}

/// N milliseconds in flight, by part.
fn flight(within: u64, before: u64, unfinished: u64) -> Flight {
    let nanos = |ms: u64| u128::from(ms * MILLISECOND);
    Flight {
        within: nanos(within),
        before: nanos(before),
        unfinished: nanos(unfinished),
        ..Flight::default()
    }
}

#[test]
fn a_run_without_fault_is_valid() {
    assert_eq!(verdicts_of(|_| ()), [VerdictCode::Valid]);
    assert_eq!(verdicts_of(open), [VerdictCode::Valid]);
}

/// The run's connections, of which N failed, most of them for one reason.
fn reset(made: &mut Made, count: u64) {
    let (class, reason) = ("reset".to_owned(), "by the peer".to_owned());
    made.outcomes.failed.insert(class.clone(), count);
    let most = CountedReason { class, reason, count: count - 1, examples: Vec::new() };
    made.outcomes.reasons = vec![most];
}

#[test]
fn numbers_of_sentences_are_written_as_in_tables() {
    assert!(message(|_| ()).ends_with("and none of 10,000 connections failed"));
    let kept = message(|made| made.requests = 20_000);
    assert!(kept.ends_with("and none of 20,000 requests and 10,000 connections failed"), "{kept}");
    let few = message(|made| {
        made.outcomes.completed = 1_999_000;
        made.outcomes.failed.insert("reset".to_owned(), 1_000);
        made.summaries.get_mut("service").unwrap().n = 1_999_000;
        made.flight = flight(2 * 1_999_000, 10, 10);
    });
    assert!(few.ends_with("and 1,000 of 2,000,000 connections did not complete"), "{few}");
    let failed = message(|made| reset(made, 2_127));
    let words = "2,127 of 12,127 connections failed: reset 2,127, 2,126 of them: by the peer";
    assert_eq!(failed, words);
    let unexpected = message(|made| {
        made.outcomes.unexpected.insert("group".to_owned(), 2_127);
    });
    let words = "2,127 of 12,127 handshakes were not the one asked for: group 2,127";
    assert_eq!(unexpected, words);
    let late = message(|made| {
        open(made);
        made.open_loop.as_mut().unwrap().blocked = 1_500;
        made.summaries.get_mut("start_delay").unwrap().p999_ms = 1_234.5;
    });
    assert!(late.contains(" started 1,234.5 ms late or more: 1,500 of 10,000 arrivals"), "{late}");
    let missed = message(|made| {
        open(made);
        let open_loop = made.open_loop.as_mut().unwrap();
        (open_loop.started, open_loop.achieved_per_s) = (8_000, 4_000.0);
    });
    assert_eq!(missed, "4,000.0 connections/s were started, 5,000.0 were due");
}

#[test]
fn connections_without_end_are_good_if_requests_are_answered() {
    let unfinished = |requests| {
        verdicts_of(|made| {
            made.outcomes = Outcomes { attempts: 4, in_flight_at_stop: 4, ..Outcomes::default() };
            made.summaries.insert("service".to_owned(), Summary::default());
            made.requests = requests;
            made.connections = Some(4);
            (made.flight, made.carried) = (flight(8_000, 400, 8_400), 4);
        })
    };
    assert_eq!(unfinished(900), [VerdictCode::Valid]);
    assert_eq!(unfinished(0), [VerdictCode::NothingCompleted]);
}

#[test]
fn a_busy_worker_is_the_bottleneck_and_an_open_loop_needs_air() {
    let busy = |user_us| verdicts_of(|made| made.usage.cpu.user_us = user_us);
    assert_eq!(busy(1_800_000), [VerdictCode::ClientSaturated]);
    assert_eq!(busy(1_500_000), [VerdictCode::Valid]);
    // A worker that a hypervisor leaves no more time is as much of a limit.
    let stolen = |share| verdicts_of(|made| made.usage.stolen = Some(share));
    assert_eq!(stolen(0.73), [VerdictCode::Valid]);
    assert_eq!(stolen(0.74), [VerdictCode::ClientSaturated]);
    let in_open_loop = verdicts_of(|made| {
        open(made);
        made.usage.cpu.user_us = 1_500_000;
    });
    assert_eq!(in_open_loop, [VerdictCode::ClientSaturated]);
}

#[test]
fn a_few_ticks_of_the_clock_do_not_make_a_worker_busy() {
    let tick = CpuTime { user_us: 10_000, system_us: 0 };
    let verdict = verdicts_of(|made| (made.usage.cpu, made.usage.seconds) = (tick, 0.009));
    assert_eq!(verdict, [VerdictCode::Valid]);
}

#[test]
fn failures_and_unexpected_handshakes_have_a_limit() {
    let failed = |count| {
        verdicts_of(|made| {
            made.outcomes.failed.insert("reset".to_owned(), count);
        })
    };
    assert_eq!(failed(10), [VerdictCode::Valid]);
    assert_eq!(failed(11), [VerdictCode::Failures]);
    let verdict = verdicts_of(|made| {
        made.outcomes.unexpected.insert("group".to_owned(), 100);
    });
    assert_eq!(verdict, [VerdictCode::Unexpected]);
}

#[test]
fn a_published_mean_that_littles_law_refutes_is_caught() {
    // 2,000 connections at 3,337 a second make 599 ms; the published mean was 241 ms.
    let verdict = verdicts_of(|made| {
        let completed = 100_110;
        made.seconds = 30.0;
        made.outcomes = Outcomes { attempts: completed, completed, ..Outcomes::default() };
        let service = made.summaries.get_mut("service").unwrap();
        (service.n, service.mean_ms) = (completed, 241.0);
        made.connections = Some(2_000);
        (made.flight, made.carried) = (flight(2_000 * 30_000, 300_000, 300_000), 2_000);
        made.requests = completed;
    });
    assert_eq!(verdict, [VerdictCode::LittlesLaw]);
}

#[test]
fn in_an_open_loop_littles_law_is_an_identity() {
    let mean = |mean_ms| {
        verdicts_of(|made| {
            open(made);
            made.summaries.get_mut("service").unwrap().mean_ms = mean_ms;
        })
    };
    assert_eq!(mean(2.03), [VerdictCode::Valid]);
    assert_eq!(mean(2.06), [VerdictCode::LittlesLaw]);
    assert_eq!(mean(1.0), [VerdictCode::LittlesLaw]);
    // A ramp: connections that have not ended make most of the time in flight.
    let ramp = |unfinished: u64| {
        verdicts_of(|made| {
            open(made);
            made.flight = flight(100_000, 10_000, 1_000 * unfinished);
        })
    };
    assert_eq!(ramp(90), [VerdictCode::Valid]);
    assert_eq!(ramp(70), [VerdictCode::LittlesLaw]);
}

#[test]
fn a_worker_kept_off_its_processor_once_does_not_break_littles_law() {
    // One time slice of the scheduler, 4 ms, in the time in flight but not in the service time.
    let preempted = |count: u64, seconds: f64| {
        verdicts_of(|made| {
            made.outcomes = Outcomes { attempts: count, completed: count, ..Outcomes::default() };
            made.summaries.get_mut("service").unwrap().n = count;
            made.flight = flight(2 * count + 4, 0, 0);
            (made.connections, made.seconds, made.requests) = (None, seconds, count);
        })
    };
    assert_eq!(preempted(3, 0.006), [VerdictCode::Valid]);
    // Differences far larger than that are errors.
    let wrong = verdicts_of(|made| {
        open(made);
        made.flight.within *= 2;
    });
    assert_eq!(wrong, [VerdictCode::LittlesLaw]);
}

#[test]
fn a_connection_that_completes_has_a_service_time() {
    let lost = verdicts_of(|made| made.summaries.get_mut("service").unwrap().n -= 1);
    assert_eq!(lost, [VerdictCode::LittlesLaw]);
}

#[test]
fn a_closed_loop_that_loses_connections_is_reported_unless_they_failed() {
    // Nine of ten connections are in flight, and their times are correct.
    let nine = |made: &mut Made| {
        made.flight = flight(18_000, 10, 9);
        made.summaries.get_mut("service").unwrap().mean_ms = 1.8001;
    };
    assert_eq!(verdicts_of(nine), [VerdictCode::LittlesLaw]);
    let rested = verdicts_of(|made| {
        nine(made);
        made.outcomes.failed.insert("reset".to_owned(), 1);
    });
    assert_eq!(rested, [VerdictCode::Valid]);
    // Without a warm-up no connection is in flight when the measurement begins.
    let filling = verdicts_of(|made| {
        nine(made);
        made.carried = 0;
    });
    assert_eq!(filling, [VerdictCode::Valid]);
}

#[test]
fn failed_connections_were_in_flight_as_well() {
    let failed = |troubled_ms: u64| {
        verdicts_of(|made| {
            made.outcomes.failed.insert("timeout_connect".to_owned(), 3);
            made.flight.troubled = u128::from(troubled_ms * MILLISECOND);
            made.flight.within += u128::from(3_000 * MILLISECOND);
        })
    };
    assert_eq!(failed(3_000), [VerdictCode::Valid]);
    assert_eq!(failed(2_000), [VerdictCode::LittlesLaw]);
}

#[test]
fn late_starts_are_reported_with_their_reason() {
    let late = |change: fn(&mut Summary)| {
        verdicts_of(|made| {
            open(made);
            change(made.summaries.get_mut("start_delay").unwrap());
        })
    };
    assert_eq!(late(|delay| delay.p999_ms = 1.1), [VerdictCode::LateArrivals]);
    // Among a few hundred starts, the 99.9th percentile is only the latest one.
    assert_eq!(late(|delay| (delay.n, delay.p999_ms) = (500, 9.0)), [VerdictCode::Valid]);
    assert_eq!(late(|delay| (delay.n, delay.p99_ms) = (500, 2.0)), [VerdictCode::LateArrivals]);
}

#[test]
fn a_rate_that_is_not_achieved_is_reported() {
    let started = |started| {
        verdicts_of(|made| {
            open(made);
            let open_loop = made.open_loop.as_mut().unwrap();
            (open_loop.started, open_loop.waiting_at_stop) = (started, 10_000 - started);
        })
    };
    assert_eq!(started(9_900), [VerdictCode::Valid]);
    assert_eq!(started(9_890), [VerdictCode::RateNotAchieved]);
}

/// All connections began when they were due, so that only the number that ended shows it.
#[test]
fn a_queue_that_grows_in_the_server_is_a_rate_that_is_not_achieved() {
    let of_halves = |early, late, p50_ms| {
        judged(|made| {
            open(made);
            made.intervals = vec![slice(0.0, early), slice(1.0, late)];
            made.summaries.get_mut("service").unwrap().p50_ms = p50_ms;
        })
    };
    let codes = |early, late, p50_ms| -> Vec<VerdictCode> {
        of_halves(early, late, p50_ms).into_iter().map(|verdict| verdict.code).collect()
    };
    let [found] = of_halves(4_150, 4_150, 2.0).try_into().unwrap();
    assert_eq!(found.code, VerdictCode::RateNotAchieved);
    let words = "4,150.0 connections/s ended in the last 1.0 s, 5,000.0 were due: the server did";
    assert!(found.message.starts_with(words), "{}", found.message);
    // 5 % of 5,000, and three times the root of 5,000.
    assert_eq!(codes(5_000, 4_538, 2.0), [VerdictCode::Valid]);
    assert_eq!(codes(5_000, 4_537, 2.0), [VerdictCode::RateNotAchieved]);
    // The first connections end after most of the measurement.
    assert_eq!(codes(0, 2_000, 1_000.0), [VerdictCode::Valid]);
    // Failed connections have ended, and a load that changes has another share in each half.
    let failed = verdicts_of(|made| {
        open(made);
        made.intervals[1] = Interval { failed: 1_000, ..slice(1.0, 4_000) };
    });
    assert_eq!(failed, [VerdictCode::Valid]);
    let changing = verdicts_of(|made| {
        open(made);
        (made.intervals, made.is_steady) = (vec![slice(0.0, 8_000), slice(1.0, 2_000)], false);
    });
    assert_eq!(changing, [VerdictCode::Valid]);
}

#[test]
fn a_share_of_resumed_connections_that_was_not_asked_for_is_reported() {
    let verdicts_of = |resumed, resume_millionths| {
        let kinds = Kinds { full: 10_000 - resumed, resumed, ..Kinds::default() };
        verdicts_of(|made| (made.kinds, made.resume_millionths) = (kinds, resume_millionths))[0]
    };
    assert_eq!(verdicts_of(6_000, 600_000), VerdictCode::Valid);
    assert_eq!(verdicts_of(6_119, 600_000), VerdictCode::Valid);
    assert_eq!(verdicts_of(6_121, 600_000), VerdictCode::ResumeRatio);
    assert_eq!(verdicts_of(9_000, 1_000_000), VerdictCode::ResumeRatio);
}

#[test]
fn one_connection_has_a_verb_of_its_own() {
    let alone = |made: &mut Made, failed: u64| {
        made.outcomes = Outcomes { attempts: 1, completed: 1 - failed, ..Outcomes::default() };
        made.outcomes.failed = [("reset".to_owned(), failed)].into();
        let service = Summary { n: 1 - failed, ..Summary::default() };
        made.summaries.insert("service".to_owned(), service);
        (made.flight, made.carried, made.connections) = (flight(0, 0, 0), 0, None);
        made.requests = 1;
    };
    assert_eq!(message(|made| alone(made, 1)), "1 of 1 connection failed: reset 1");
    assert!(message(|made| alone(made, 0)).ends_with("and the one connection completed"));
}

#[test]
fn a_share_below_a_limit_is_not_rounded_to_it() {
    let busy = |user_us| message(|made| made.usage.cpu.user_us = user_us);
    // 94.6 % of two seconds, including 0.2 s in the kernel.
    assert!(busy(1_692_000).starts_with("valid: the generator was 94 % busy"));
    // Ticks may add up to more than the length of the measurement.
    assert!(busy(1_900_000).starts_with("a worker was busy 100 % of the time left to it"));
}

#[test]
fn of_few_starts_the_latest_is_not_called_a_percentile() {
    let late = |n, p99_ms| {
        message(|made| {
            open(made);
            let delay = made.summaries.get_mut("start_delay").unwrap();
            (delay.n, delay.p99_ms) = (n, p99_ms);
        })
    };
    assert!(late(6, 2.0).starts_with("one of 6 connections started 2.0 ms late"));
    assert!(late(500, 2.0).starts_with("1 % of the connections started 2.0 ms late"));
}

//! Lost time of the generator.

use super::*;

#[test]
fn time_in_which_a_worker_was_ready_and_did_not_run_counts_in_both_loops() {
    let lost = |queued_s: f64, stopped_s: f64| {
        let change = move |made: &mut Made| {
            (made.usage.queued_s, made.usage.stopped_s) = (Some(queued_s), stopped_s);
        };
        let closed = verdicts_of(change);
        let in_open_loop = verdicts_of(|made| {
            open(made);
            change(made);
        });
        assert_eq!(closed, in_open_loop);
        closed
    };
    // Of two seconds.
    assert_eq!(lost(0.09, 0.0), [VerdictCode::Valid]);
    assert_eq!(lost(0.1, 0.0), [VerdictCode::ClientDelayed]);
    assert_eq!(lost(0.39, 0.0), [VerdictCode::ClientDelayed]);
    assert_eq!(lost(0.4, 0.0), [VerdictCode::ClientStarved]);
    assert_eq!(lost(0.2, 0.2), [VerdictCode::ClientStarved]);
    // No stop is usual.
    assert_eq!(lost(0.0, 0.05), [VerdictCode::ClientDelayed]);
    // A worker that had half of its processor used all that it had.
    let halved = verdicts_of(|made| {
        made.usage.cpu.user_us = 790_000;
        made.usage.queued_s = Some(1.0);
    });
    assert_eq!(halved, [VerdictCode::ClientSaturated, VerdictCode::ClientStarved]);
}

#[test]
fn lost_time_is_reported_with_its_causes() {
    let message = message(|made| {
        (made.usage.queued_s, made.usage.stopped_s) = (Some(0.3), 0.05);
        (made.supply.throttled_s, made.supply.quota) = (Some(0.2), Some(0.5));
    });
    assert_eq!(
        message,
        "a worker was ready and did not run for 17.5 % of the time (15.0 % waiting for a processor, \
         its control group was throttled to 0.5 processors, 2.5 % stopped): rates are lower bounds, \
         times upper bounds"
    );
}

#[test]
fn a_suspended_machine_makes_no_valid_run() {
    let verdict = verdicts_of(|made| made.supply.suspended_s = 0.2);
    assert_eq!(verdict, [VerdictCode::ClientStarved]);
}

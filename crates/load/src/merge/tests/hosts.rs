//! Lost hosts, hosts whose clock moved, and hosts that share a processor.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tlslab_contract::record::{
    CpuTime, HostClock, HostFound, LastTotals, Lost, LostHost, Verdict, VerdictCode, WorkerUsage,
};

use super::{merge, named, record, sample, spec};
use crate::merge::{HostFindings, MergeError, Named};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_lost_host_is_in_the_accounting_and_in_nothing_else(
        samples in prop::collection::vec(sample(), 0..60),
        completed in 0_u64..1000,
        failed in prop::collection::btree_map("reset|refused|body", 1_u64..50, 0..3),
        unexpected in 0_u64..9,
        in_flight in 0_u64..99,
    ) {
        let (mine, theirs) = samples.split_at(samples.len() / 2);
        let parts = named(vec![record(mine), record(theirs)]);
        let of_all = failed.values().sum::<u64>();
        let last =
            LastTotals { completed, failed, unexpected, in_flight, ..LastTotals::default() };
        let findings = HostFindings { lost: vec![lost(last)], found: BTreeMap::new() };
        let merged = crate::merge::merge(&parts, &findings).unwrap();
        let rest = merge(&parts).unwrap();
        prop_assert!(merged.outcomes.balanced());
        prop_assert_eq!(merged.outcomes.completed, rest.outcomes.completed + completed);
        prop_assert_eq!(merged.outcomes.failures(), rest.outcomes.failures() + of_all);
        prop_assert_eq!(merged.outcomes.lost_with_host, in_flight);
        prop_assert_eq!(merged.outcomes.in_flight_at_stop, rest.outcomes.in_flight_at_stop);
        prop_assert_eq!(&merged.histograms, &rest.histograms);
        prop_assert_eq!(&merged.clients, &rest.clients);
        prop_assert_eq!(merged.common, rest.common);
        prop_assert_eq!(merged.spec.connections, 3);
        prop_assert_eq!(merged.verdicts[0].code, VerdictCode::HostLost);
        prop_assert!(merged.hosts.iter().all(|host| host.outcomes.balanced()));
        let attempts: u64 = merged.hosts.iter().map(|host| host.outcomes.attempts).sum();
        prop_assert_eq!(attempts, merged.outcomes.attempts);
    }
}

/// A host that was lost in the middle of the measurement.
fn lost(totals: LastTotals) -> LostHost {
    let lost = Lost { reason: "it was killed".to_owned(), at_s: 0.5, totals };
    LostHost { host: "gone".to_owned(), spec: spec(), lost }
}

/// The findings about a host. All such hosts run the same kernel.
fn found(clock: HostClock) -> HostFound {
    HostFound { boot_id: Some("here".to_owned()), clock: Some(clock), ..HostFound::default() }
}

#[test]
fn a_lost_host_is_named_with_the_last_that_is_known_of_it() {
    let parts = named(vec![record(&[]), record(&[])]);
    let totals = LastTotals { completed: 7, in_flight: 3, requests: 8, ..LastTotals::default() };
    let findings = HostFindings { lost: vec![lost(totals.clone())], found: BTreeMap::new() };
    let merged = crate::merge::merge(&parts, &findings).unwrap();
    let gone = merged.hosts.last().unwrap();
    assert_eq!((gone.name.as_str(), gone.requests), ("gone", 8));
    assert_eq!(gone.lost.as_ref().unwrap().totals, totals);
    let words = "1 of 3 generators: gone was lost 0.5 s into the measurement: it was killed; \
                 3 connections in flight there, its times are not known";
    assert_eq!(merged.verdicts.len(), 1);
    assert_eq!(merged.verdicts[0].message, words);
    let twice =
        HostFindings { lost: vec![lost(totals.clone()), lost(totals)], found: BTreeMap::new() };
    let error = crate::merge::merge(&parts, &twice).unwrap_err();
    assert_eq!(error, MergeError::SameName("gone".to_owned()));
}

#[test]
fn a_clock_that_moved_is_an_objection_of_its_host_and_of_the_whole() {
    let parts = named(vec![record(&[]), record(&[])]);
    let clock = |moved_s| found(HostClock { moved_s, ..HostClock::default() });
    let of = |moved_s| {
        let found = BTreeMap::from([("host-1".to_owned(), clock(moved_s))]);
        crate::merge::merge(&parts, &HostFindings { found, ..HostFindings::default() }).unwrap()
    };
    let steady = of(0.0009);
    assert_eq!(steady.verdicts[0].code, VerdictCode::Valid);
    assert_eq!(steady.hosts[1].found.as_ref().unwrap().boot_id.as_deref(), Some("here"));
    let moved = of(0.25);
    assert_eq!(moved.verdicts[0].code, VerdictCode::ClockMoved);
    assert!(
        moved.verdicts[0].message.starts_with("1 of 2 generators: host-1: its clock moved by 250")
    );
    assert_eq!(moved.hosts[0].verdicts[0].code, VerdictCode::Valid);
    let codes: Vec<_> = moved.hosts[1].verdicts.iter().map(|verdict| verdict.code).collect();
    assert_eq!(codes, [VerdictCode::ClockMoved]);
    let found = BTreeMap::from([("nobody".to_owned(), clock(0.0))]);
    let error = crate::merge::merge(&parts, &HostFindings { found, ..HostFindings::default() })
        .unwrap_err();
    assert_eq!(error, MergeError::NotThere("nobody".to_owned()));
}

#[test]
fn generators_that_use_up_a_processor_together_are_the_bottleneck() {
    let mut parts = named(vec![record(&[]), record(&[])]);
    for part in &mut parts {
        let cpu = CpuTime { user_us: 300_000, system_us: 190_000 };
        part.record.workers =
            vec![WorkerUsage { processor: Some(1), cpu, seconds: 1.0, ..WorkerUsage::default() }];
        part.record.open_loop = None;
    }
    let here = || found(HostClock::default());
    let names = ["host-0", "host-1"].map(str::to_owned);
    let mut findings =
        HostFindings { found: names.map(|name| (name, here())).into(), lost: Vec::new() };
    let merged = crate::merge::merge(&parts, &findings).unwrap();
    assert_eq!(merged.verdicts[0].code, VerdictCode::ClientSaturated);
    assert!(merged.verdicts[0].message.contains("processor 1, which host-0 and host-1 share"));
    findings.found.get_mut("host-1").unwrap().boot_id = Some("there".to_owned());
    let apart = crate::merge::merge(&parts, &findings).unwrap();
    assert_eq!(apart.verdicts[0].code, VerdictCode::Valid);
}

/// Two generators of one machine with a worker each on processor 1. While the one runs, the other
/// one waits: so each says that it was starved.
fn sharing() -> (Vec<Named>, HostFindings) {
    let mut parts = named(vec![record(&[]), record(&[])]);
    for part in &mut parts {
        part.record.workers = vec![WorkerUsage {
            processor: Some(1),
            cpu: CpuTime { user_us: 300_000, system_us: 0 },
            seconds: 1.0,
            queued_s: Some(0.4),
            processor_busy: Some(0.6),
            ..WorkerUsage::default()
        }];
        part.record.open_loop = None;
        let message = "it was ready".to_owned();
        part.record.verdicts = vec![Verdict { code: VerdictCode::ClientStarved, message }];
    }
    let names = ["host-0", "host-1"].map(str::to_owned);
    let found = names.map(|name| (name, found(HostClock::default()))).into();
    (parts, HostFindings { found, lost: Vec::new() })
}

fn codes_of(change: impl FnOnce(&mut [Named])) -> Vec<VerdictCode> {
    let (mut parts, findings) = sharing();
    change(&mut parts);
    let merged = crate::merge::merge(&parts, &findings).unwrap();
    merged.verdicts.iter().map(|verdict| verdict.code).collect()
}

#[test]
fn time_left_to_another_generator_of_the_load_is_not_lost() {
    assert_eq!(codes_of(|_| ()), [VerdictCode::Valid]);
    // Another program has the rest of the processor.
    let beside_another = codes_of(|parts| {
        for part in parts {
            part.record.workers[0].processor_busy = Some(1.0);
        }
    });
    let codes = [VerdictCode::ClientSaturated, VerdictCode::ClientStarved];
    assert_eq!(beside_another, codes);
}

#[test]
fn time_lost_elsewhere_or_to_a_quota_stays_lost_where_generators_share_a_processor() {
    let suspended = codes_of(|parts| parts[1].record.supply.suspended_s = 3.0);
    assert_eq!(suspended, [VerdictCode::ClientStarved]);
    let throttled = codes_of(|parts| {
        for part in parts {
            part.record.supply.throttled_s = Some(0.3);
        }
    });
    assert_eq!(throttled, [VerdictCode::ClientStarved]);
    let second_worker = codes_of(|parts| {
        let worker = &parts[0].record.workers[0];
        let other = WorkerUsage { processor: Some(2), processor_busy: Some(1.0), ..worker.clone() };
        parts[0].record.workers.push(other);
    });
    assert_eq!(second_worker, [VerdictCode::ClientStarved]);
}

#[test]
fn processors_of_one_number_are_one_place_only_on_one_machine() {
    let (mut parts, mut findings) = sharing();
    for part in &mut parts {
        part.record.workers[0].queued_s = Some(0.0);
        part.record.workers.push(WorkerUsage { processor: None, ..part.record.workers[0].clone() });
        part.record.supply.processors = Some(1);
    }
    let used = |findings: &HostFindings| -> Vec<f64> {
        let merged = crate::merge::merge(&parts, findings).unwrap();
        merged.places().iter().map(|place| place.used).collect()
    };
    // Those that are not pinned share the only processor, too.
    assert_eq!(used(&findings), [0.6, 0.6]);
    findings.found.get_mut("host-1").unwrap().boot_id = Some("there".to_owned());
    assert_eq!(used(&findings), [0.3, 0.3, 0.3, 0.3]);
    findings.found.clear();
    assert_eq!(used(&findings), [0.3, 0.3, 0.3, 0.3]);
}

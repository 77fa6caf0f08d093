//! The accounting of several records, merged, with the reasons of failures.

use std::collections::BTreeMap;

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{LostHost, RunRecord};
use tlslab_wire::reason::{CountedReason, EXAMPLES_LIMIT, OTHER, REASONS_LIMIT};

use super::hosts::last_outcomes;

/// The accounting of all generators, including the last reports of lost hosts.
pub fn joined_outcomes<'r>(
    records: impl Iterator<Item = &'r RunRecord>,
    lost: &[LostHost],
) -> Outcomes {
    let mut whole = Outcomes::default();
    for record in records {
        whole.merge(&record.outcomes);
    }
    for host in lost {
        let last = last_outcomes(&host.lost.totals);
        // If a class has reasons, their counts must add up to the count of the class.
        let explained = last.failed.iter().filter(|(class, _)| whole.reasons_of(class).count() > 0);
        let unknown: Vec<_> =
            explained.map(|(class, count)| reason_not_known(class, *count)).collect();
        whole.merge(&last);
        whole.reasons.extend(unknown);
    }
    whole.reasons = joined_reasons(std::mem::take(&mut whole.reasons));
    whole
}

/// The reason for failures of a host that was lost before it could report their reasons.
fn reason_not_known(class: &str, count: u64) -> CountedReason {
    let (class, reason) = (class.to_owned(), "not known: the host was lost".to_owned());
    CountedReason { class, reason, count, examples: Vec::new() }
}

/// Each reason of a class once, with its first examples. Reasons beyond the limit are counted as
/// [`OTHER`].
fn joined_reasons(reasons: Vec<CountedReason>) -> Vec<CountedReason> {
    let mut known: BTreeMap<(String, String), CountedReason> = BTreeMap::new();
    for counted in reasons {
        let key = (counted.class.clone(), counted.reason.clone());
        let is_full = known.keys().filter(|(_, reason)| reason != OTHER).count() >= REASONS_LIMIT;
        let key = match is_full && !known.contains_key(&key) {
            true => (counted.class.clone(), OTHER.to_owned()),
            false => key,
        };
        let CountedReason { class, count, examples, .. } = counted;
        let reason = key.1.clone();
        let empty = || CountedReason { class, reason, count: 0, examples: Vec::new() };
        let mine = known.entry(key).or_insert_with(empty);
        mine.count += count;
        let room = EXAMPLES_LIMIT.saturating_sub(mine.examples.len());
        mine.examples.extend(examples.into_iter().take(room));
    }
    let mut joined: Vec<_> = known.into_values().collect();
    // The order of every record: by class, then the most frequent reason first and `OTHER` last.
    joined.sort_by(|a, b| {
        let others = |counted: &CountedReason| counted.reason == OTHER;
        let order = a.class.cmp(&b.class).then(others(a).cmp(&others(b)));
        order.then(b.count.cmp(&a.count)).then_with(|| a.reason.cmp(&b.reason))
    });
    joined
}

//! The accounting of connections: how each one ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tlslab_wire::reason::CountedReason;

/// The accounting over all connections of a measurement.
///
/// The identity `attempts = completed + sum(failed) + sum(unexpected) + abandoned +
/// in_flight_at_stop + lost_with_host` holds exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Connections in flight when the measurement began, and those started during it.
    pub attempts: u64,
    /// Connections whose handshake and every response were as specified.
    pub completed: u64,
    /// Completed connections that the server ended between two requests, as it may (RFC 9112,
    /// section 9.3; RFC 9113, section 9.1). They made fewer requests than the specification allows.
    #[serde(default)]
    pub closed_idle: u64,
    /// Connections that their users abandoned, because the answer was not complete when their
    /// patience ended. Neither completed nor failed.
    #[serde(default)]
    pub abandoned: u64,
    /// Connections that were still in flight when the measurement ended.
    pub in_flight_at_stop: u64,
    /// In a merged record: connections that were in flight on a generator at its last report before
    /// it was lost. Their outcome is unknown.
    #[serde(default)]
    pub lost_with_host: u64,
    /// Failed connections by class.
    pub failed: BTreeMap<String, u64>,
    /// Connections whose handshake was not the one asked for, by the fact that differed.
    pub unexpected: BTreeMap<String, u64>,
    /// The causes of failures and unexpected handshakes, in more detail than their class. If any
    /// cause of a class is listed, the counts of all its causes add up to the count of the class.
    #[serde(default)]
    pub reasons: Vec<CountedReason>,
}

impl Outcomes {
    /// True if the accounting identity holds and the causes of each listed class add up to its
    /// count.
    pub fn balanced(&self) -> bool {
        let is_whole = |class: &str| {
            let reasons = self.reasons_of(class).map(|counted| counted.count);
            reasons.sum::<u64>() == self.of_class(class)
        };
        self.attempts == self.ended() + self.in_flight_at_stop + self.lost_with_host
            && self.closed_idle <= self.completed
            && self.reasons.iter().all(|counted| is_whole(&counted.class))
    }

    /// The number of connections in this class, failed or unexpected.
    pub fn of_class(&self, class: &str) -> u64 {
        self.failed.get(class).or_else(|| self.unexpected.get(class)).copied().unwrap_or(0)
    }

    /// All connections that ended during the measurement, however they ended.
    pub fn ended(&self) -> u64 {
        self.completed + self.troubled() + self.abandoned
    }

    /// The reasons of a class, most frequent first.
    pub fn reasons_of(&self, class: &str) -> impl Iterator<Item = &CountedReason> {
        self.reasons.iter().filter(move |counted| counted.class == class)
    }

    /// All failed and unexpected connections.
    pub fn troubled(&self) -> u64 {
        self.failures() + self.unexpected.values().sum::<u64>()
    }

    /// All failed connections.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Adds another worker's accounting to this one.
    pub fn merge(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.completed += other.completed;
        self.closed_idle += other.closed_idle;
        self.abandoned += other.abandoned;
        self.in_flight_at_stop += other.in_flight_at_stop;
        self.lost_with_host += other.lost_with_host;
        for (class, count) in &other.failed {
            *self.failed.entry(class.clone()).or_default() += count;
        }
        for (fact, count) in &other.unexpected {
            *self.unexpected.entry(fact.clone()).or_default() += count;
        }
        self.reasons.extend_from_slice(&other.reasons);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_accounting_stays_balanced() {
        let mut accounting =
            Outcomes { attempts: 4, completed: 2, abandoned: 1, ..Outcomes::default() };
        accounting.failed.insert("reset".to_owned(), 1);
        let other = accounting.clone();
        accounting.merge(&other);
        assert_eq!((accounting.attempts, accounting.failed["reset"]), (8, 2));
        assert!(accounting.balanced());
        accounting.in_flight_at_stop = 1;
        assert!(!accounting.balanced());
    }
}

//! Causes of failures: counts by reason, with the first few examples of each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tlslab_contract::accounting::Outcomes;
use tlslab_wire::outcome::Outcome;
use tlslab_wire::reason::{CountedReason, EXAMPLES_LIMIT, Example, OTHER, REASONS_LIMIT, Reason};

/// The reasons that one worker recorded. They are few: a linear search finds them.
#[derive(Debug, Default)]
pub struct Reasons(Vec<Known>);

#[derive(Debug, Clone)]
struct Known {
    outcome: Outcome,
    name: Cow<'static, str>,
    count: u64,
    examples: Vec<Example>,
}

impl Reasons {
    /// Records the reason of a connection with this outcome. A reason beyond the limit is not
    /// recorded: [`Reasons::of`] counts its connections as `other`.
    pub fn note(&mut self, outcome: Outcome, reason: &Reason, local_port: u16) {
        let reason = reason.bounded();
        let example = Example { local_port, words: reason.words.into_owned() };
        let (name, examples) = (reason.name, vec![example]);
        self.add(Known { outcome, name, count: 1, examples });
    }

    /// Adds another worker's reasons.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|theirs| self.add(theirs.clone()));
    }

    fn add(&mut self, theirs: Known) {
        let is_full = self.0.len() >= REASONS_LIMIT;
        let is_it = |mine: &&mut Known| mine.outcome == theirs.outcome && mine.name == theirs.name;
        match self.0.iter_mut().find(is_it) {
            Some(mine) => {
                mine.count += theirs.count;
                let room = EXAMPLES_LIMIT.saturating_sub(mine.examples.len());
                mine.examples.extend(theirs.examples.into_iter().take(room));
            }
            None if is_full => {}
            None => self.0.push(theirs),
        }
    }

    /// The reasons of these outcomes, most frequent first within a class. If any connection of a
    /// class has a reason, the connections of that class without one count as `other`.
    pub fn of(&self, outcomes: &Outcomes) -> Vec<CountedReason> {
        let mut classes: BTreeMap<String, Vec<CountedReason>> = BTreeMap::new();
        for Known { outcome, name, count, examples } in &self.0 {
            let class = match outcome {
                Outcome::Failed(failure) => failure.to_string(),
                Outcome::Unexpected(fact) => fact.to_string(),
                Outcome::Completed | Outcome::Abandoned => continue,
            };
            let (reason, count, examples) = (name.to_string(), *count, examples.clone());
            let counted = CountedReason { class: class.clone(), reason, count, examples };
            classes.entry(class).or_default().push(counted);
        }
        let mut reasons = Vec::new();
        for (class, mut of_class) in classes {
            of_class.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
            let known: u64 = of_class.iter().map(|counted| counted.count).sum();
            let others = outcomes.of_class(&class).saturating_sub(known);
            reasons.extend(of_class);
            if others > 0 {
                let (reason, examples) = (OTHER.to_owned(), Vec::new());
                reasons.push(CountedReason { class, reason, count: others, examples });
            }
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::outcome::{Failure, Mismatch};

    const FAILED: Outcome = Outcome::Failed(Failure::TlsProtocol);

    fn outcomes(count: u64) -> Outcomes {
        let mut outcomes = Outcomes { attempts: count, ..Outcomes::default() };
        outcomes.failed.insert("tls_protocol".to_owned(), count);
        outcomes
    }

    #[test]
    fn what_has_no_reason_is_counted_with_what_has() {
        let mut reasons = Reasons::default();
        (1..=5).for_each(|port| reasons.note(FAILED, &Reason::named("decode_error"), port));
        let mut all = Reasons::default();
        all.merge(&reasons);
        all.merge(&reasons);
        let mut outcomes = outcomes(11);
        outcomes.reasons = all.of(&outcomes);
        let reported: Vec<_> = outcomes.reasons.iter().map(|r| (&*r.reason, r.count)).collect();
        assert_eq!(reported, [("decode_error", 10), (OTHER, 1)]);
        let ports: Vec<_> = outcomes.reasons[0].examples.iter().map(|e| e.local_port).collect();
        assert_eq!(ports, [1, 2, 3]);
        assert!(outcomes.balanced());
        outcomes.reasons[0].count -= 1;
        assert!(!outcomes.balanced(), "reasons that do not add up are found");
    }

    #[test]
    fn a_server_that_makes_reasons_up_fills_no_memory() {
        let mut reasons = Reasons::default();
        for number in 0..10_000 {
            reasons.note(FAILED, &Reason::named(format!("reason {number}")), 1);
        }
        assert_eq!(reasons.0.len(), REASONS_LIMIT);
        let mut outcomes = outcomes(10_000);
        outcomes.reasons = reasons.of(&outcomes);
        assert!(outcomes.balanced());
        let last = outcomes.reasons.last().unwrap();
        assert_eq!((&*last.reason, last.count), (OTHER, 10_000 - REASONS_LIMIT as u64));
    }

    #[test]
    fn a_class_whose_every_connection_has_a_reason_has_no_others() {
        let unexpected = Outcome::Unexpected(Mismatch::Group);
        let mut reasons = Reasons::default();
        for (outcome, name) in
            [(FAILED, "c"), (FAILED, "a"), (FAILED, "b"), (unexpected, "b"), (FAILED, "b")]
        {
            reasons.note(outcome, &Reason::named(name), 1);
        }
        let mut outcomes = outcomes(4);
        outcomes.unexpected.insert("group".to_owned(), 1);
        let found = reasons.of(&outcomes);
        let found = found.iter().map(|of| (&*of.class, &*of.reason, of.count));
        let class = "tls_protocol";
        assert!(found.eq([("group", "b", 1), (class, "b", 2), (class, "a", 1), (class, "c", 1)]));
    }

    #[test]
    fn classes_without_reasons_are_left_out() {
        assert_eq!(Reasons::default().of(&outcomes(3)), []);
    }
}

//! Connections that did not complete, by outcome.

use tlslab_wire::outcome::Outcome;

/// The count of each outcome other than completed. They are few: a linear search finds them.
#[derive(Debug, Clone, Default)]
pub struct Troubles(Vec<(Outcome, u64)>);

impl Troubles {
    /// Adds connections with this outcome.
    pub fn add(&mut self, outcome: Outcome, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, known)) => *known += count,
            None => self.0.push((outcome, count)),
        }
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        other.each().for_each(|(outcome, count)| self.add(outcome, count));
    }

    /// Removes all counts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Each outcome with its count.
    pub fn each(&self) -> impl Iterator<Item = (Outcome, u64)> {
        self.0.iter().copied()
    }
}

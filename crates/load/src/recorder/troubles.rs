//! Connections that did not complete, by how they ended; few kinds, found by walking the list.

use tlslab_wire::outcome::Outcome;

/// How often connections ended with each outcome other than completed.
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

    /// Adds others to these.
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

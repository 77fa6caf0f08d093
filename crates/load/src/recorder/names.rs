//! Outcomes by requested server name.

use tlslab_contract::record::CountedName;
use tlslab_wire::outcome::Outcome;

/// The counts of each name, in the order of the offer's list.
#[derive(Debug, Default)]
pub struct Names(Vec<Counts>);

/// Outcomes of the connections that asked for one server name.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    completed: u64,
    failed: u64,
    unexpected: u64,
    abandoned: u64,
}

impl Names {
    /// Counts the outcome of a connection that asked for the name at this index.
    pub fn count(&mut self, name: usize, outcome: Outcome) {
        if self.0.len() <= name {
            self.0.resize(name + 1, Counts::default());
        }
        let counts = &mut self.0[name];
        match outcome {
            Outcome::Completed => counts.completed += 1,
            Outcome::Failed(_) => counts.failed += 1,
            Outcome::Unexpected(_) => counts.unexpected += 1,
            Outcome::Abandoned => counts.abandoned += 1,
        }
    }

    /// Adds another worker's counts.
    pub fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), Counts::default());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.completed += theirs.completed;
            mine.failed += theirs.failed;
            mine.unexpected += theirs.unexpected;
            mine.abandoned += theirs.abandoned;
        }
    }

    /// The counts with these names, in their order.
    pub fn of(&self, names: &[String]) -> Vec<CountedName> {
        let none = Counts::default();
        let counts = (0..).map(|place| self.0.get(place).unwrap_or(&none));
        let counted = |(name, counts): (&String, &Counts)| {
            let Counts { completed, failed, unexpected, abandoned } = *counts;
            CountedName { name: name.clone(), completed, failed, unexpected, abandoned }
        };
        names.iter().zip(counts).map(counted).collect()
    }
}

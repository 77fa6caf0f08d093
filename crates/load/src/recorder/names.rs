//! How connections ended, by the server name that they asked for.

use tlslab_contract::record::CountedName;
use tlslab_wire::outcome::Outcome;

/// The accounting by name, each at the place of its name in the offer's list.
#[derive(Debug, Default)]
pub struct Names(Vec<Counts>);

/// How connections ended that asked for one server name.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    completed: u64,
    failed: u64,
    unexpected: u64,
}

impl Names {
    /// Notes how a connection ended that asked for the name at this place.
    pub fn count(&mut self, name: usize, outcome: Outcome) {
        if self.0.len() <= name {
            self.0.resize(name + 1, Counts::default());
        }
        let counts = &mut self.0[name];
        match outcome {
            Outcome::Completed => counts.completed += 1,
            Outcome::Failed(_) => counts.failed += 1,
            Outcome::Unexpected(_) => counts.unexpected += 1,
        }
    }

    /// Adds another worker's accounting to these.
    pub fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), Counts::default());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.completed += theirs.completed;
            mine.failed += theirs.failed;
            mine.unexpected += theirs.unexpected;
        }
    }

    /// The accounting in the order of these names.
    pub fn of(&self, names: &[String]) -> Vec<CountedName> {
        let none = Counts::default();
        let counts = (0..).map(|place| self.0.get(place).unwrap_or(&none));
        let counted = |(name, counts): (&String, &Counts)| {
            let Counts { completed, failed, unexpected } = *counts;
            CountedName { name: name.clone(), completed, failed, unexpected }
        };
        names.iter().zip(counts).map(counted).collect()
    }
}

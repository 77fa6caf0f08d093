//! Complete responses by status.

use std::collections::BTreeMap;

use tlslab_wire::reason::OTHER;

/// Statuses have three digits. Higher numbers are counted together.
const HIGHEST: usize = 999;

/// The number of responses with each status. The memory is allocated once.
#[derive(Debug)]
pub struct Statuses(Vec<u64>);

impl Default for Statuses {
    fn default() -> Self {
        Self(vec![0; HIGHEST + 2])
    }
}

impl Statuses {
    /// Counts a response.
    pub fn count(&mut self, status: u16) {
        self.0[usize::from(status).min(HIGHEST + 1)] += 1;
    }

    /// Adds another worker's counts.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The counts in the form of a record.
    pub fn counted(&self) -> BTreeMap<String, u64> {
        let name = |status: usize| match status {
            0..=HIGHEST => status.to_string(),
            _ => OTHER.to_owned(),
        };
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(status, count)| (name(status), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_count_and_what_is_none_is_counted_together() {
        let mut mine = Statuses::default();
        [200, 503, 200, 999, 1000, u16::MAX].into_iter().for_each(|status| mine.count(status));
        let mut all = Statuses::default();
        all.merge(&mine);
        all.merge(&mine);
        let expected = [("200", 4), ("503", 2), ("999", 2), (OTHER, 4)];
        assert_eq!(all.counted(), expected.map(|(name, count)| (name.to_owned(), count)).into());
        assert!(Statuses::default().counted().is_empty());
    }
}

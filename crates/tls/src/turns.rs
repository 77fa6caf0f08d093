//! The selection of the server name and of the sampled connections.

/// Uses server names in turn, and samples the connections of each name: the first one, then one per
/// period. A common count would leave some names without samples if the number of names has a
/// divisor in common with the period.
#[derive(Debug)]
pub struct Turns {
    period: u32,
    /// The index of the next name.
    next: usize,
    names: Vec<Samples>,
}

/// The samples of one name.
#[derive(Debug, Clone, Copy)]
struct Samples {
    /// Connections until the next sample.
    left: u32,
    /// The number of connections from the first sample to the second.
    first: u32,
}

/// The name and the sampling of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The index of the server name.
    pub name: usize,
    /// Whether the connection is sampled.
    pub is_sampled: bool,
}

impl Turns {
    /// N names, at least one, each with one sample per `period` connections. The samples of
    /// different names are spread evenly over the period.
    pub fn new(names: usize, period: u32) -> Self {
        let apart = |name: usize| (name as u64 * u64::from(period) / names as u64) as u32;
        let samples = |name| Samples { left: 0, first: period - apart(name) };
        Self { period, next: 0, names: (0..names).map(samples).collect() }
    }

    /// The same names without samples.
    pub fn unsampled(self) -> Self {
        let never = Samples { left: u32::MAX, first: u32::MAX };
        Self { period: u32::MAX, names: vec![never; self.names.len()], ..self }
    }

    /// The name and the sampling of the next connection.
    pub fn next(&mut self) -> Turn {
        let name = self.next;
        self.next = if name + 1 == self.names.len() { 0 } else { name + 1 };
        let samples = &mut self.names[name];
        let is_sampled = samples.left == 0;
        if is_sampled {
            samples.left = samples.first;
            samples.first = self.period;
        }
        samples.left -= 1;
        Turn { name, is_sampled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SAMPLING_PERIOD;

    fn turns(names: usize, connections: usize) -> Vec<Turn> {
        let mut turns = Turns::new(names, SAMPLING_PERIOD);
        (0..connections).map(|_| turns.next()).collect()
    }

    #[test]
    fn each_name_has_its_first_connection_sampled_and_one_in_a_period_after_that() {
        for names in [1, 2, 3, 4, 7, 8, 64, 127, 128, 129, 300] {
            let periods = 5;
            let turns = turns(names, periods * SAMPLING_PERIOD as usize * names);
            assert!(turns.iter().enumerate().all(|(at, turn)| turn.name == at % names));
            for name in 0..names {
                let of_name = turns.iter().filter(|turn| turn.name == name);
                let samples: Vec<usize> = of_name
                    .enumerate()
                    .filter(|(_, turn)| turn.is_sampled)
                    .map(|(at, _)| at)
                    .collect();
                assert_eq!(samples[0], 0);
                assert!(samples.len() == periods || samples.len() == periods + 1, "{samples:?}");
                let steps = samples[1..].windows(2);
                assert!(steps.into_iter().all(|w| w[1] - w[0] == SAMPLING_PERIOD as usize));
            }
        }
    }

    #[test]
    fn samples_of_different_names_do_not_come_in_a_row() {
        for names in [2, 4, 8, 64] {
            let later = &turns(names, 4 * 128 * names)[2 * 128 * names..];
            let in_a_row = later.windows(2).any(|w| w[0].is_sampled && w[1].is_sampled);
            assert!(!in_a_row, "{names}");
            assert_eq!(later.iter().filter(|turn| turn.is_sampled).count(), 2 * names);
        }
    }

    #[test]
    fn with_a_period_of_one_all_are_samples() {
        let mut turns = Turns::new(3, 1);
        assert!((0..10).all(|_| turns.next().is_sampled));
    }
}

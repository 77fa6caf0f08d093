//! Selects the next node to ask.

/// Smooth weighted round robin, as in nginx: in a round with as many turns as the sum of the
/// weights, each node gets as many turns as its weight, spread over the round.
#[derive(Debug, Clone)]
pub struct WeightedRoundRobin {
    weights: Vec<i64>,
    credits: Vec<i64>,
}

impl WeightedRoundRobin {
    /// A sequence with these weights, at least one of which is not 0.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let weights: Vec<_> = weights.into_iter().map(i64::from).collect();
        Self { credits: vec![0; weights.len()], weights }
    }

    /// The index of the next node.
    pub fn turn(&mut self) -> usize {
        for (credit, weight) in self.credits.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
        // The first node with the most credit.
        let next = (0..self.credits.len()).rev().max_by_key(|&index| self.credits[index]);
        let next = next.unwrap_or_default();
        self.credits[next] -= self.weights.iter().sum::<i64>();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gets_its_weight_in_turns() {
        let mut turns = WeightedRoundRobin::new([3, 1]);
        let turns: Vec<_> = (0..8).map(|_| turns.turn()).collect();
        assert_eq!(turns, [0, 0, 1, 0, 0, 0, 1, 0]);
        let mut turns = WeightedRoundRobin::new([50, 50]);
        assert_eq!((0..4).map(|_| turns.turn()).collect::<Vec<_>>(), [0, 1, 0, 1]);
        let mut turns = WeightedRoundRobin::new([0, 2]);
        assert_eq!((0..3).map(|_| turns.turn()).collect::<Vec<_>>(), [1, 1, 1]);
    }
}

//! Connections in think time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tlslab_system::clock::Nanos;

/// The slots of connections in think time, by the instant of their next request.
#[derive(Debug)]
pub struct Thinking(BinaryHeap<Reverse<(Nanos, usize)>>);

impl Thinking {
    /// None yet, with room for N.
    pub fn new(slots: usize) -> Self {
        Self(BinaryHeap::with_capacity(slots))
    }

    /// The connection of a slot thinks until an instant.
    pub fn add(&mut self, slot: usize, until: Nanos) {
        self.0.push(Reverse((until, slot)));
    }

    /// The first end of a think time; `Nanos::MAX` without one.
    #[inline]
    pub fn next_end(&self) -> Nanos {
        self.0.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at)
    }

    /// Takes the slot whose think time has ended first, if it is over. Reads the clock only if a
    /// connection thinks.
    #[inline]
    pub fn take_over(&mut self, now: impl FnOnce() -> Nanos) -> Option<usize> {
        let &Reverse((at, slot)) = self.0.peek()?;
        if at > now() {
            return None;
        }
        self.0.pop();
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_in_the_order_in_which_they_end_to_think() {
        let mut thinking = Thinking::new(3);
        assert_eq!(thinking.next_end(), Nanos::MAX);
        assert_eq!(thinking.take_over(|| unreachable!("the clock is not read")), None);
        for (slot, until) in [(0, 30), (1, 10), (2, 20)] {
            thinking.add(slot, until);
        }
        assert_eq!((thinking.next_end(), thinking.take_over(|| 9)), (10, None));
        assert_eq!([thinking.take_over(|| 20), thinking.take_over(|| 20)], [Some(1), Some(2)]);
        assert_eq!((thinking.next_end(), thinking.take_over(|| 29)), (30, None));
        assert_eq!(thinking.take_over(|| 31), Some(0));
    }
}

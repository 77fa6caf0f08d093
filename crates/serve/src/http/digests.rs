//! The digests of the served bodies.

use std::collections::HashMap;

use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::content::Body;

/// The number of lengths whose digests are kept. A run uses a handful; the digests of others are
/// computed again.
const KEPT: usize = 256;

/// The distance of stored hash states in bytes. Every body is a prefix of one sequence, so the hash
/// of a long body continues from the last stored state: only the first long request hashes more
/// than this.
const STEP: u64 = 1 << 20;

/// SHA-256 of the first N bytes of the sequence, in the form of Repr-Digest (RFC 9530).
pub(super) struct Digests {
    kept: HashMap<u64, String>,
    /// The hash states after 0, 1, 2, ... steps.
    states: Vec<Context>,
}

impl Digests {
    pub fn new() -> Self {
        Self { kept: HashMap::new(), states: vec![Context::new(&SHA256)] }
    }

    /// The digest of a body of this length.
    pub fn of(&mut self, length: u64) -> &str {
        if !self.kept.contains_key(&length) {
            if self.kept.len() >= KEPT {
                self.kept.clear();
            }
            let digest = self.compute(length);
            self.kept.insert(length, digest);
        }
        &self.kept[&length]
    }

    fn compute(&mut self, length: u64) -> String {
        let steps = (length / STEP) as usize;
        while self.states.len() <= steps {
            let start = (self.states.len() as u64 - 1) * STEP;
            let mut state = self.states[self.states.len() - 1].clone();
            hash(&mut state, Body::part(start, start + STEP));
            self.states.push(state);
        }
        let mut state = self.states[steps].clone();
        hash(&mut state, Body::part(steps as u64 * STEP, length));
        format!("sha-256=:{}:", BASE64_STANDARD.encode(state.finish()))
    }
}

fn hash(state: &mut Context, mut part: Body) {
    while !part.is_empty() {
        state.update(part.take(usize::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::digest::digest;

    #[test]
    fn the_digest_is_that_of_the_whole_body_in_any_order_of_asking() {
        let mut digests = Digests::new();
        for length in [3 * STEP + 17, 0, 1, STEP - 1, STEP, 4788, 2 * STEP] {
            let body: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let expected = format!("sha-256=:{}:", BASE64_STANDARD.encode(digest(&SHA256, &body)));
            assert_eq!(digests.of(length), expected, "{length}");
        }
    }

    #[test]
    fn the_number_of_kept_digests_is_bounded() {
        let mut digests = Digests::new();
        for length in 0..3 * KEPT as u64 {
            digests.of(length);
        }
        assert!(digests.kept.len() <= KEPT);
    }
}

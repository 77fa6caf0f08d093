//! The content of `/bytes/N`: the first N bytes of an endless sequence.

/// The highest N of `/bytes/N`: 1 GiB.
pub const BODY_LIMIT: u64 = 1 << 30;

/// Byte `i` of every body is `i % BODY_PERIOD`. A prime: if a power of two of bytes (a record, a
/// buffer) is lost, repeated or swapped, the digest differs and the error is visible.
pub const BODY_PERIOD: u64 = 251;

/// Periods in the block from which bodies are copied: four full TLS records from any start.
const PERIODS: u64 = 263;

const BLOCK_LENGTH: usize = (BODY_PERIOD * PERIODS) as usize;

static BLOCK: [u8; BLOCK_LENGTH] = {
    let mut block = [0; BLOCK_LENGTH];
    let mut i = 0;
    while i < BLOCK_LENGTH {
        block[i] = (i % BODY_PERIOD as usize) as u8;
        i += 1;
    }
    block
};

/// The rest of a body. The body is never in memory as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Body {
    offset: u64,
    end: u64,
}

impl Body {
    /// The first N bytes of the sequence.
    pub fn new(length: u64) -> Self {
        Self { offset: 0, end: length }
    }

    /// The bytes of the sequence from one position to another.
    pub fn part(offset: u64, end: u64) -> Self {
        Self { offset, end }
    }

    /// True if nothing is left.
    pub fn is_empty(self) -> bool {
        self.offset >= self.end
    }

    /// Takes the next bytes: at most N, and at least one unless nothing is left.
    pub fn take(&mut self, at_most: usize) -> &'static [u8] {
        let start = (self.offset % BODY_PERIOD) as usize;
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let length = left.min(at_most).min(BLOCK_LENGTH - start);
        self.offset += length as u64;
        &BLOCK[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_sequence_however_it_is_cut() {
        for at_most in [1, 250, 251, 16_384, 100_000] {
            let mut body = Body::new(70_001);
            let mut all = Vec::new();
            while !body.is_empty() {
                all.extend_from_slice(body.take(at_most));
            }
            assert_eq!(all.len(), 70_001);
            assert!(all.iter().enumerate().all(|(i, byte)| *byte as usize == i % 251));
        }
    }

    #[test]
    fn an_empty_body_is_empty() {
        let mut body = Body::new(0);
        assert!(body.is_empty() && body.take(10).is_empty());
    }
}

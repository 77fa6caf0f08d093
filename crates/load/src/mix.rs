//! The order of resumed and full handshakes.

use tlslab_tls::HandshakeKind;

/// The unit of shares: parts per million.
const WHOLE: u32 = 1_000_000;

/// A sequence of handshake kinds. After any number of connections, the share of resumed ones is
/// below the requested share by less than one connection (Bresenham's line). The sequence is the
/// same in every run, and neither kind comes in bursts.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    resumed: u32,
    /// The deficit of resumed connections, in millionths of a connection.
    owed: u32,
}

impl Mix {
    /// A sequence in which N millionths of the connections resume.
    pub fn new(resumed_millionths: u32) -> Self {
        Self { resumed: resumed_millionths.min(WHOLE), owed: 0 }
    }

    /// True if no connection resumes.
    pub fn is_full(&self) -> bool {
        self.resumed == 0
    }

    /// True if the next connection resumes.
    pub fn resumes_next(&self) -> bool {
        self.owed + self.resumed >= WHOLE
    }

    /// The kind of the next connection.
    pub fn next_kind(&mut self) -> HandshakeKind {
        self.owed += self.resumed;
        if self.owed < WHOLE {
            return HandshakeKind::Full;
        }
        self.owed -= WHOLE;
        HandshakeKind::Resumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(millionths: u32, connections: usize) -> usize {
        let mut mix = Mix::new(millionths);
        let kinds = std::iter::repeat_with(|| mix.next_kind()).take(connections);
        kinds.filter(|kind| *kind == HandshakeKind::Resumed).count()
    }

    #[test]
    fn what_comes_next_is_known_before() {
        let mut mix = Mix::new(333_333);
        for _ in 0..100 {
            let resumes = mix.resumes_next();
            assert_eq!(mix.next_kind() == HandshakeKind::Resumed, resumes);
        }
    }

    #[test]
    fn every_prefix_has_the_share_that_was_asked_for() {
        for millionths in [0, 1, 250_000, 333_333, 600_000, 999_999, 1_000_000] {
            for connections in [1, 2, 3, 10, 99, 1_000] {
                let exact = connections as u64 * u64::from(millionths) / u64::from(WHOLE);
                assert_eq!(resumed(millionths, connections) as u64, exact);
            }
        }
    }
}

//! The round trips of completed connections.

use std::collections::BTreeMap;

use tlslab_contract::record::RoundTrips;
use tlslab_tls::HandshakeKind;

/// One more than the highest number that is counted apart. A full handshake of TLS 1.2, and one of
/// TLS 1.3 with a HelloRetryRequest, take four round trips to the first byte.
const NUMBERS: usize = 8;

/// The number of connections by kind of handshake and by round trips.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundTripCounts {
    full: [u64; NUMBERS],
    resumed: [u64; NUMBERS],
}

impl RoundTripCounts {
    /// Counts a connection. Numbers that are not counted apart count as the highest that is.
    pub fn note(&mut self, kind: HandshakeKind, round_trips: u8) {
        let counts = match kind {
            HandshakeKind::Full => &mut self.full,
            HandshakeKind::Resumed => &mut self.resumed,
        };
        counts[usize::from(round_trips).min(NUMBERS - 1)] += 1;
    }

    /// Adds another worker's counts.
    pub fn merge(&mut self, other: &Self) {
        let mine = self.full.iter_mut().chain(&mut self.resumed);
        let theirs = other.full.iter().chain(&other.resumed);
        mine.zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The same counts in the form of a record.
    pub fn counted(&self) -> RoundTrips {
        RoundTrips { full: numbered(&self.full), resumed: numbered(&self.resumed) }
    }
}

fn numbered(counts: &[u64; NUMBERS]) -> BTreeMap<String, u64> {
    let numbered = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    numbered.map(|(number, count)| (number.to_string(), *count)).collect()
}

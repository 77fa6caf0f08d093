//! The histograms of a run or of a step, by name.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use tlslab_contract::histogram::{empty_histogram, encoded, summary};
use tlslab_contract::record::{ClientTimes, HISTOGRAMS, OPEN_HISTOGRAMS, Summary, of_no_client};
use tlslab_system::clock::Nanos;

/// The kinds of time with a histogram, in the order of [`HISTOGRAMS`], then of [`OPEN_HISTOGRAMS`].
#[derive(Debug, Clone, Copy)]
pub enum Time {
    Connect,
    Handshake,
    Established,
    FirstByte,
    Exchange,
    Service,
    HandshakeFull,
    HandshakeResumed,
    StartDelay,
    ResponseEstablished,
    ResponseFirstByte,
    Response,
}

/// One histogram for each kind of time. Those of an open loop exist only in an open loop.
#[derive(Debug, Clone)]
pub struct Histograms(Vec<Histogram<u64>>);

impl Histograms {
    /// Empty histograms.
    pub fn new(open_loop: bool) -> Self {
        let count = HISTOGRAMS.len() + if open_loop { OPEN_HISTOGRAMS.len() } else { 0 };
        Self((0..count).map(|_| empty_histogram()).collect())
    }

    /// Records a time.
    pub fn note(&mut self, kind: Time, time: Nanos) {
        self.0[kind as usize].saturating_record(time);
    }

    /// Adds the times of others.
    pub fn merge(&mut self, other: &Self) {
        // An empty histogram has allocated nothing yet and needs no merge.
        let filled = self.0.iter_mut().zip(&other.0).filter(|(_, theirs)| !theirs.is_empty());
        for (mine, theirs) in filled {
            mine.add(theirs).expect("all histograms have the same bounds");
        }
    }

    fn named(&self) -> impl Iterator<Item = (String, &Histogram<u64>)> {
        let names = HISTOGRAMS.iter().chain(&OPEN_HISTOGRAMS).map(|name| (*name).to_owned());
        names.zip(&self.0)
    }

    /// The histograms in the form of a record for one of two clients, without those of no client.
    pub fn of_client(&self, connections: u64, with_patience: bool) -> ClientTimes {
        let left_out = of_no_client(with_patience);
        let (mut histograms, mut summaries) = (self.encoded(), self.summaries());
        histograms.retain(|name, _| !left_out.contains(&name.as_str()));
        summaries.retain(|name, _| !left_out.contains(&name.as_str()));
        ClientTimes { connections, histograms, summaries }
    }

    /// The number of times of this kind.
    pub fn count(&self, kind: Time) -> u64 {
        self.0[kind as usize].len()
    }

    /// The histograms in the compressed HdrHistogram V2 encoding, base64.
    pub fn encoded(&self) -> BTreeMap<String, String> {
        self.named().map(|(name, histogram)| (name, encoded(histogram))).collect()
    }

    /// The summaries of the histograms.
    pub fn summaries(&self) -> BTreeMap<String, Summary> {
        self.named().map(|(name, histogram)| (name, summary(histogram))).collect()
    }
}

//! What one worker writes down: histograms, books, bytes, slices; merged when all workers have ended.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::outcome::{Outcome, Outcomes};
use crate::record::{Bytes, CountedFacts, CountedName, CpuTime, HISTOGRAMS, Interval, Summary};
use crate::tls::{Facts, Negotiated};

/// The greatest time that a histogram holds, an hour; what takes longer is counted as an hour.
const HIGHEST: u64 = 3600 * SECOND;

/// Significant decimal digits of a histogram's values: they are exact to 0.1 %.
const DIGITS: u8 = 3;

/// The most different facts that are counted apart; a server that shows more is playing.
const FACTS_LIMIT: usize = 64;

/// The instants of one connection, in the order in which they come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Milestones {
    /// The TCP connection was begun.
    pub started: Nanos,
    /// It was established.
    pub established: Nanos,
    /// The TLS handshake was complete at the client.
    pub secured: Nanos,
    /// The current request was begun.
    pub requested: Nanos,
    /// The first byte of its response arrived.
    pub answered: Nanos,
}

/// The histograms of a connection and of a request, by the names of [`HISTOGRAMS`].
#[derive(Debug)]
struct Histograms {
    connect: Histogram<u64>,
    handshake: Histogram<u64>,
    established: Histogram<u64>,
    first_byte: Histogram<u64>,
    exchange: Histogram<u64>,
    service: Histogram<u64>,
}

impl Histograms {
    fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("valid bounds");
        Self {
            connect: empty(),
            handshake: empty(),
            established: empty(),
            first_byte: empty(),
            exchange: empty(),
            service: empty(),
        }
    }

    fn in_order(&self) -> [&Histogram<u64>; HISTOGRAMS.len()] {
        let Self { connect, handshake, established, first_byte, exchange, service } = self;
        [connect, handshake, established, first_byte, exchange, service]
    }

    fn in_order_mut(&mut self) -> [&mut Histogram<u64>; HISTOGRAMS.len()] {
        let Self { connect, handshake, established, first_byte, exchange, service } = self;
        [connect, handshake, established, first_byte, exchange, service]
    }
}

/// How connections ended that asked for one server name.
#[derive(Debug, Clone, Copy, Default)]
struct NameCounts {
    completed: u64,
    failed: u64,
    unexpected: u64,
}

impl NameCounts {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Unexpected(_) => self.unexpected += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.unexpected += other.unexpected;
    }

    fn of(&self, name: &str) -> CountedName {
        let Self { completed, failed, unexpected } = *self;
        CountedName { name: name.to_owned(), completed, failed, unexpected }
    }
}

/// One worker's notes.
#[derive(Debug)]
pub struct Recorder {
    histograms: Histograms,
    /// How connections ended other than completed; few kinds, found by walking the list.
    troubles: Vec<(Outcome, u64)>,
    facts: Vec<(Negotiated, u64)>,
    /// Connections by the place of the server name that they asked for in the offer's list.
    names: Vec<NameCounts>,
    /// Connections in flight when the measurement began, and begun since.
    pub attempts: u64,
    /// Connections in flight when it ended.
    pub in_flight_at_stop: u64,
    completed: u64,
    troubled: u64,
    authenticated: u64,
    requests: u64,
    bytes: Bytes,
    slices: Vec<Interval>,
    /// What [`Recorder::ended`] said when the last slice was closed.
    in_slices: (u64, u64),
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self {
            histograms: Histograms::new(),
            troubles: Vec::new(),
            facts: Vec::new(),
            names: Vec::new(),
            attempts: 0,
            in_flight_at_stop: 0,
            completed: 0,
            troubled: 0,
            authenticated: 0,
            requests: 0,
            bytes: Bytes::default(),
            slices: Vec::new(),
            in_slices: (0, 0),
        }
    }

    /// Notes a request that was answered in full.
    pub fn request(&mut self, at: &Milestones, now: Nanos, head: u64, body: u64) {
        self.requests += 1;
        self.bytes.head += head;
        self.bytes.body += body;
        self.histograms.first_byte.saturating_record(at.answered - at.requested);
        self.histograms.exchange.saturating_record(now - at.requested);
    }

    /// Notes a connection that did all that was asked.
    pub fn completed(&mut self, at: &Milestones, now: Nanos, facts: Negotiated, bytes: &Bytes) {
        self.completed += 1;
        self.authenticated += u64::from(facts.authenticated);
        self.count_facts(facts);
        self.bytes.handshake_sent += bytes.handshake_sent;
        self.bytes.handshake_received += bytes.handshake_received;
        self.bytes.sent += bytes.sent;
        self.bytes.received += bytes.received;
        self.histograms.connect.saturating_record(at.established - at.started);
        self.histograms.handshake.saturating_record(at.secured - at.established);
        self.histograms.established.saturating_record(at.secured - at.started);
        self.histograms.service.saturating_record(now - at.started);
    }

    /// Notes a connection that failed, or whose handshake was another than the one asked for.
    pub fn troubled(&mut self, outcome: Outcome, facts: Option<Negotiated>) {
        self.troubled += 1;
        if let Some(facts) = facts {
            self.count_facts(facts);
        }
        match self.troubles.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += 1,
            None => self.troubles.push((outcome, 1)),
        }
    }

    /// Notes how a connection ended that asked for this server name.
    pub fn count_name(&mut self, name: usize, outcome: Outcome) {
        if self.names.len() <= name {
            self.names.resize(name + 1, NameCounts::default());
        }
        self.names[name].count(outcome);
    }

    fn count_facts(&mut self, facts: Negotiated) {
        let facts = Negotiated { authenticated: false, ..facts };
        match self.facts.iter().position(|(known, _)| *known == facts) {
            Some(index) => self.facts[index].1 += 1,
            None if self.facts.len() < FACTS_LIMIT => self.facts.push((facts, 1)),
            None => self.facts[FACTS_LIMIT - 1].1 += 1,
        }
    }

    /// Connections that have ended so far: completed, and otherwise.
    pub fn ended(&self) -> (u64, u64) {
        (self.completed, self.troubled)
    }

    /// Closes the slice of the measurement that began at `from` and used so much processor time.
    pub fn close_slice(&mut self, from: Nanos, begin: Nanos, now: Nanos, cpu: CpuTime) {
        let (completed, failed) =
            (self.completed - self.in_slices.0, self.troubled - self.in_slices.1);
        self.in_slices = self.ended();
        let seconds = |from: Nanos, to: Nanos| (to - from) as f64 / SECOND as f64;
        let (at_s, seconds) = (seconds(begin, from), seconds(from, now));
        self.slices.push(Interval { at_s, seconds, completed, failed, cpu });
    }

    /// Adds another worker's notes to these.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in
            self.histograms.in_order_mut().into_iter().zip(other.histograms.in_order())
        {
            mine.add(theirs).expect("all histograms have the same bounds");
        }
        for &(outcome, count) in &other.troubles {
            match self.troubles.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, mine)) => *mine += count,
                None => self.troubles.push((outcome, count)),
            }
        }
        for &(facts, count) in &other.facts {
            match self.facts.iter_mut().find(|(known, _)| *known == facts) {
                Some((_, mine)) => *mine += count,
                None => self.facts.push((facts, count)),
            }
        }
        self.names.resize(self.names.len().max(other.names.len()), NameCounts::default());
        for (mine, theirs) in self.names.iter_mut().zip(&other.names) {
            mine.add(theirs);
        }
        self.attempts += other.attempts;
        self.in_flight_at_stop += other.in_flight_at_stop;
        self.completed += other.completed;
        self.troubled += other.troubled;
        self.authenticated += other.authenticated;
        self.requests += other.requests;
        self.merge_bytes(&other.bytes);
        self.merge_slices(&other.slices);
    }

    fn merge_bytes(&mut self, other: &Bytes) {
        self.bytes.handshake_sent += other.handshake_sent;
        self.bytes.handshake_received += other.handshake_received;
        self.bytes.sent += other.sent;
        self.bytes.received += other.received;
        self.bytes.head += other.head;
        self.bytes.body += other.body;
    }

    /// Slices of different workers begin at the same instants, but for the last one.
    fn merge_slices(&mut self, others: &[Interval]) {
        for (index, theirs) in others.iter().enumerate() {
            match self.slices.get_mut(index) {
                Some(mine) => {
                    mine.completed += theirs.completed;
                    mine.failed += theirs.failed;
                    mine.cpu += theirs.cpu;
                    mine.seconds = mine.seconds.max(theirs.seconds);
                }
                None => self.slices.push(*theirs),
            }
        }
    }

    /// The books.
    pub fn outcomes(&self) -> Outcomes {
        let mut outcomes = Outcomes {
            attempts: self.attempts,
            completed: self.completed,
            in_flight_at_stop: self.in_flight_at_stop,
            ..Outcomes::default()
        };
        for (outcome, count) in &self.troubles {
            let (books, class) = match outcome {
                Outcome::Failed(failure) => (&mut outcomes.failed, failure.to_string()),
                Outcome::Unexpected(fact) => (&mut outcomes.unexpected, fact.to_string()),
                Outcome::Completed => continue,
            };
            *books.entry(class).or_default() += count;
        }
        outcomes
    }

    /// How connections ended by the server name that they asked for, in the order of these names.
    pub fn server_names(&self, names: &[String]) -> Vec<CountedName> {
        let none = NameCounts::default();
        let counts = (0..).map(|place| self.names.get(place).unwrap_or(&none));
        names.iter().zip(counts).map(|(name, counts)| counts.of(name)).collect()
    }

    /// The facts with their counts, most frequent first.
    pub fn facts(&self) -> Vec<CountedFacts> {
        let mut facts: Vec<_> = self
            .facts
            .iter()
            .map(|(facts, count)| CountedFacts { facts: Facts::from(*facts), count: *count })
            .collect();
        facts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.facts.cmp(&b.facts)));
        facts
    }

    /// The histograms in the compressed HdrHistogram V2 encoding, base64.
    pub fn encoded_histograms(&self) -> BTreeMap<String, String> {
        let mut serializer = V2DeflateSerializer::new();
        let encoded = self.histograms.in_order().map(|histogram| {
            let mut bytes = Vec::new();
            serializer.serialize(histogram, &mut bytes).expect("a vector takes all bytes");
            BASE64.encode(bytes)
        });
        HISTOGRAMS.iter().map(|name| (*name).to_owned()).zip(encoded).collect()
    }

    /// The histograms in short.
    pub fn summaries(&self) -> BTreeMap<String, Summary> {
        let summaries = self.histograms.in_order().map(summary);
        HISTOGRAMS.iter().map(|name| (*name).to_owned()).zip(summaries).collect()
    }

    /// Connections that had their server authenticated in full, requests answered, and bytes.
    pub fn totals(&self) -> (u64, u64, Bytes) {
        (self.authenticated, self.requests, self.bytes)
    }

    /// The slices of the measurement.
    pub fn slices(&self) -> &[Interval] {
        &self.slices
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

fn summary(histogram: &Histogram<u64>) -> Summary {
    let ms = |nanos: f64| nanos / MILLISECOND as f64;
    let quantile = |q| ms(histogram.value_at_quantile(q) as f64);
    if histogram.is_empty() {
        return Summary::default();
    }
    Summary {
        n: histogram.len(),
        min_ms: ms(histogram.min() as f64),
        mean_ms: ms(histogram.mean()),
        sd_ms: ms(histogram.stdev()),
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: ms(histogram.max() as f64),
    }
}

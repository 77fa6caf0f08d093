//! Many handshakes: each is checked and timed; on some, the sides are timed separately.

use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;

use super::InMemoryError;
use super::exchange::{Buffers, FLIGHTS_LIMIT, SideTimes, Unwatched, exchange};
use super::library::{HandshakeError, Library, Seen};
use super::record::{Flight, HandshakeFacts, HandshakeResult, NodeSignatures, SideCost};
use super::role::Role;
use super::settings::Settings;
use super::spec::InMemorySpec;
use super::threads::on_each;
use tlslab_contract::accounting::Outcomes;
use tlslab_contract::histogram::{empty_histogram, encoded, summary};
use tlslab_contract::spec::Stop;
use tlslab_remote_keys::{self as keys, SignatureAccounting};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND, ThreadClock};
use tlslab_wire::names::Group;
use tlslab_wire::outcome::{Failure, Mismatch};

/// The sides are timed on 1 handshake in N. Some eight readings of the thread's clock, 200 ns each,
/// on 1 handshake in 16 are 0.03 % of a handshake of 400 µs.
const TIMED_PERIOD: u64 = 16;

/// The results of one thread.
struct Tally {
    outcomes: Outcomes,
    first_failure: Option<HandshakeError>,
    service: Histogram<u64>,
    flights: [u64; FLIGHTS_LIMIT],
    sides: SideTimes,
    timed: u64,
    clock: Nanos,
    /// Nanoseconds of wall-clock and of processor time, without the handshakes that only provide
    /// tickets.
    wall: Nanos,
    processor: Nanos,
    /// Processor time of the handshakes that only provide tickets, in nanoseconds.
    fetching: Nanos,
    /// The accounting of a key outside the process.
    signatures: Option<SignatureAccounting>,
}

/// Measures handshakes on all threads.
pub fn measure<L: Library>(
    spec: &InMemorySpec,
    settings: &Settings,
    interrupt: &AtomicBool,
) -> Result<HandshakeResult, InMemoryError> {
    let prepare = || Worker::<L>::new(settings);
    let tallies = on_each(spec, prepare, |worker, stop| worker.work(stop, interrupt))?;
    Ok(result(settings, &tallies))
}

struct Worker<'a, L> {
    library: L,
    settings: &'a Settings,
    buffers: Buffers,
    tally: Tally,
}

impl<'a, L: Library> Worker<'a, L> {
    /// Configures the library, and makes a first handshake as a test. One-time initialisation
    /// thereby precedes the measurement.
    fn new(settings: &'a Settings) -> Result<Self, InMemoryError> {
        let mut worker = Self {
            library: L::new(settings)?,
            settings,
            buffers: Buffers::new(),
            tally: Tally::new(),
        };
        // With resumption: one handshake that provides a ticket, and one that uses it.
        for resumed in [false, true] {
            if resumed && !settings.resumes {
                continue;
            }
            match worker.unwatched(resumed) {
                Ok(None) => {}
                Ok(Some(mismatch)) => {
                    return Err(InMemoryError::Unexpected(mismatch.to_string()));
                }
                // An unreachable signing node is a result, and no reason not to measure.
                Err(_) if keys::take_class().is_some_and(keys::is_away) => {}
                Err(trouble) => return Err(trouble.into()),
            }
        }
        Ok(worker)
    }

    fn work(mut self, stop: Stop, interrupt: &AtomicBool) -> Tally {
        let (most, time) = match stop {
            Stop::Count(count) => (count, Nanos::MAX),
            Stop::DurationMs(ms) => (u64::MAX, ms * MILLISECOND),
        };
        // Signatures of the first handshakes are not counted.
        self.library.signatures();
        keys::take_class();
        self.tally.clock = clock_cost();
        let begun_processor = ThreadClock.now();
        let mut begun = MonotonicClock.now();
        while self.tally.outcomes.attempts < most
            && self.tally.wall < time
            && !interrupt.load(Ordering::Relaxed)
        {
            if self.settings.resumes && self.library.tickets() == 0 {
                if let Err(trouble) = self.fetch_ticket() {
                    self.tally.count(Err(trouble), 0, &self.buffers);
                    break;
                }
                begun = MonotonicClock.now();
            }
            let timed = self.tally.outcomes.attempts.is_multiple_of(TIMED_PERIOD);
            let resumed = self.settings.resumes;
            let outcome = if timed { self.watched(resumed) } else { self.unwatched(resumed) };
            let now = MonotonicClock.now();
            self.tally.count(outcome, now - begun, &self.buffers);
            begun = now;
        }
        let processor = ThreadClock.now() - begun_processor;
        self.tally.processor = processor.saturating_sub(self.tally.fetching);
        self.tally.signatures = self.library.signatures();
        self.tally
    }

    fn unwatched(&mut self, resumed: bool) -> Result<Option<Mismatch>, HandshakeError> {
        let pair = exchange(&mut self.library, &mut self.buffers, &mut Unwatched)?;
        let mismatch = pair.mismatch(self.settings, resumed, &self.buffers);
        pair.close(&mut Unwatched);
        Ok(mismatch)
    }

    fn watched(&mut self, resumed: bool) -> Result<Option<Mismatch>, HandshakeError> {
        let sides = &mut self.tally.sides;
        sides.begin();
        let pair = exchange(&mut self.library, &mut self.buffers, sides)?;
        let mismatch = pair.mismatch(self.settings, resumed, &self.buffers);
        sides.begin();
        pair.close(sides);
        self.tally.timed += 1;
        Ok(mismatch)
    }

    /// A full handshake that provides a ticket, outside the measurement. If a resumption provides
    /// no new ticket (OpenSSL's TLS 1.2), each single-use ticket comes from such a handshake.
    fn fetch_ticket(&mut self) -> Result<(), HandshakeError> {
        let begun = ThreadClock.now();
        let pair = exchange(&mut self.library, &mut self.buffers, &mut Unwatched)?;
        pair.close(&mut Unwatched);
        self.tally.fetching += ThreadClock.now() - begun;
        Ok(())
    }
}

impl Tally {
    fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            first_failure: None,
            service: empty_histogram(),
            flights: [0; FLIGHTS_LIMIT],
            sides: SideTimes::default(),
            timed: 0,
            clock: 0,
            wall: 0,
            processor: 0,
            fetching: 0,
            signatures: None,
        }
    }

    fn count(
        &mut self,
        outcome: Result<Option<Mismatch>, HandshakeError>,
        time: Nanos,
        buffers: &Buffers,
    ) {
        self.wall += time;
        self.outcomes.attempts += 1;
        match outcome {
            Ok(None) => {
                self.outcomes.completed += 1;
                self.service.saturating_record(time);
                for (sum, bytes) in self.flights.iter_mut().zip(buffers.flights) {
                    *sum += u64::from(bytes);
                }
            }
            Ok(Some(mismatch)) => {
                *self.outcomes.unexpected.entry(mismatch.to_string()).or_default() += 1;
            }
            Err(trouble) => {
                let class = keys::take_class().map(str::to_owned);
                let class = class.unwrap_or_else(|| Failure::TlsProtocol.to_string());
                *self.outcomes.failed.entry(class).or_default() += 1;
                self.first_failure.get_or_insert(trouble);
            }
        }
    }
}

/// The cost of a reading of the thread's clock in nanoseconds: the median of some.
pub(super) fn clock_cost() -> Nanos {
    let mut costs = [0; 101];
    for cost in &mut costs {
        let before = ThreadClock.now();
        *cost = ThreadClock.now() - before;
    }
    costs.sort_unstable();
    costs[costs.len() / 2]
}

fn result(settings: &Settings, tallies: &[Tally]) -> HandshakeResult {
    let mut outcomes = Outcomes::default();
    let mut service = empty_histogram();
    for tally in tallies {
        outcomes.merge(&tally.outcomes);
        service.add(&tally.service).expect("all histograms have the same bounds");
    }
    let signatures = tallies.iter().filter_map(|t| t.signatures.clone()).reduce(|mut all, more| {
        all.merge(&more);
        all
    });
    let mut measured = vec![("service", &service)];
    measured.extend(signatures.as_ref().map(|signed| ("signing", &signed.service)));
    let completed = outcomes.completed;
    let rate = |t: &Tally| per(t.outcomes.completed as f64, t.wall as f64 / SECOND as f64);
    let processor: Nanos = tallies.iter().map(|t| t.processor).sum();
    let shares = tallies.iter().map(|t| per(t.processor as f64, t.wall as f64).min(1.0));
    let failures = tallies.iter().filter_map(|t| t.first_failure.as_ref());
    HandshakeResult {
        facts: facts(settings),
        seconds: per(tallies.iter().map(|t| t.wall).sum::<u64>() as f64, tallies.len() as f64)
            / SECOND as f64,
        handshakes_per_s: tallies.iter().map(rate).sum(),
        cpu_us: per(processor as f64 / 1000.0, completed as f64),
        on_processor: shares.fold(1.0, f64::min),
        client: side_cost(tallies, Role::Client),
        server: side_cost(tallies, Role::Server),
        flights: flights(tallies, completed),
        first_failure: failures.map(|t| t.message.clone()).next().unwrap_or_default(),
        signatures: signatures.as_ref().map(node_signatures).unwrap_or_default(),
        histograms: measured.iter().map(|(name, h)| ((*name).to_owned(), encoded(h))).collect(),
        summaries: measured.iter().map(|(name, h)| ((*name).to_owned(), summary(h))).collect(),
        outcomes,
    }
}

fn node_signatures(signed: &SignatureAccounting) -> Vec<NodeSignatures> {
    let accounting = signed.nodes.iter().cloned();
    accounting
        .map(|node| NodeSignatures {
            node: node.name,
            signatures: node.signatures,
            failed: node.failed,
        })
        .collect()
}

/// A quotient; 0 if the divisor is 0.
fn per(what: f64, of: f64) -> f64 {
    if of > 0.0 { what / of } else { 0.0 }
}

fn side_cost(tallies: &[Tally], role: Role) -> SideCost {
    let sum = |part: fn(&Tally, usize) -> u64| -> f64 {
        tallies.iter().map(|tally| part(tally, role as usize)).sum::<u64>() as f64
    };
    let timed = sum(|tally, _| tally.timed);
    let clocks = sum(|tally, side| tally.clock * tally.sides.readings[side]);
    let readings = sum(|tally, side| tally.sides.readings[side]);
    let time = sum(|tally, side| tally.sides.times[side]);
    SideCost {
        cpu_us: per((time - clocks) / 1000.0, timed),
        timed: timed as u64,
        period: TIMED_PERIOD,
        clock_ns: per(clocks, readings),
        readings: per(readings, timed),
    }
}

fn flights(tallies: &[Tally], completed: u64) -> Vec<Flight> {
    (0..FLIGHTS_LIMIT)
        .map(|index| tallies.iter().map(|tally| tally.flights[index]).sum::<u64>())
        .take_while(|sum| *sum > 0)
        .enumerate()
        .map(|(index, sum)| Flight {
            from: [Role::Client, Role::Server][index % 2].name().to_owned(),
            bytes: per(sum as f64, completed as f64),
        })
        .collect()
}

/// The requested facts: a handshake with other facts does not count as completed.
fn facts(settings: &Settings) -> HandshakeFacts {
    let seen = |role| Seen::expected(settings, role, settings.resumes);
    let (client, server) = (seen(Role::Client), seen(Role::Server));
    let or_none = |name: Option<String>| name.unwrap_or_else(|| "none".to_owned());
    HandshakeFacts {
        tls: client.version.to_string(),
        suite: client.suite.to_string(),
        group: or_none(client.group.and_then(Group::from_code_point).map(|g| g.to_string())),
        signature_scheme: or_none(client.peer_scheme.map(|scheme| scheme.to_string())),
        client_signature_scheme: or_none(server.peer_scheme.map(|scheme| scheme.to_string())),
        kind: if client.resumed { "resumed" } else { "full" }.to_owned(),
    }
}

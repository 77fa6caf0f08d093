//! Transfer of records between the sides, encrypted and decrypted in batches.

use std::sync::atomic::{AtomicBool, Ordering};

use super::InMemoryError;
use super::buffer::Buffer;
use super::exchange::{Buffers, Pair, Unwatched, exchange};
use super::handshakes::clock_cost;
use super::library::{HandshakeError, Library, Side};
use super::record::{BulkResult, BulkSide};
use super::role::Role;
use super::settings::Settings;
use super::spec::{BulkSpec, Direction, InMemorySpec};
use super::threads::on_each;
use tlslab_contract::spec::Stop;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND, ThreadClock};

/// Bytes of plaintext in a batch: few enough for the second-level cache to hold them and the
/// ciphertext, and many enough that the two readings of the clock, 200 ns each, take below 1 % of
/// the time.
const BATCH: usize = 128 * 1024;

/// The highest growth of a record in bytes: header, IV, MAC, padding (RFC 5246, section 6.2.3.2).
const GROWTH: usize = 5 + 16 + 48 + 16;

/// Records per session: far below the limits at which AES-GCM needs a new key (2^24.5, RFC 8446,
/// section 5.5), which a transfer must not reach.
const SESSION_RECORDS: u64 = 1 << 20;

/// The results of one thread.
#[derive(Default)]
struct Tally {
    records: u64,
    wire_bytes: u64,
    /// Processor time of encryption and of decryption, in nanoseconds.
    sides: [Nanos; 2],
    wall: Nanos,
}

/// Measures every line: each suite, record size and direction.
pub fn measure<L: Library>(
    spec: &InMemorySpec,
    asked: &BulkSpec,
    interrupt: &AtomicBool,
) -> Result<Vec<BulkResult>, InMemoryError> {
    let mut results = Vec::new();
    for &suite in &spec.suites {
        let settings = Settings::new(spec, suite)?;
        for &record_size in &asked.record_sizes {
            for &direction in asked.direction.each() {
                let prepare = || Transfer::<L>::new(&settings, record_size, direction);
                let tallies = on_each(spec, prepare, |t, stop| t.carry(stop, interrupt))?;
                let tallies: Vec<Tally> = tallies.into_iter().collect::<Result<_, _>>()?;
                results.push(result(&settings, record_size, direction, &tallies));
            }
        }
    }
    Ok(results)
}

/// The transfer of one thread.
struct Transfer<'a, L: Library> {
    library: L,
    settings: &'a Settings,
    buffers: Buffers,
    pair: Pair<L::Client, L::Server>,
    direction: Direction,
    plaintext: Vec<u8>,
    /// Number of records in a batch.
    batch: u64,
    records: Buffer,
    clock: Nanos,
}

impl<'a, L: Library> Transfer<'a, L> {
    fn new(
        settings: &'a Settings,
        record_size: u32,
        direction: Direction,
    ) -> Result<Self, InMemoryError> {
        let mut library = L::new(settings)?;
        let mut buffers = Buffers::new();
        let pair = connect(&mut library, settings, &mut buffers)?;
        let record_size = record_size as usize;
        let batch = (BATCH / record_size).max(1);
        let mut records = Buffer::new();
        records.reserve(batch * (record_size + GROWTH));
        let mut transfer = Self {
            library,
            settings,
            buffers,
            pair,
            direction,
            plaintext: (0..record_size).map(|n| (n % 251) as u8).collect(),
            batch: batch as u64,
            records,
            clock: clock_cost(),
        };
        transfer.rehearse()?;
        Ok(transfer)
    }

    /// Sends one record and compares it byte by byte.
    fn rehearse(&mut self) -> Result<(), InMemoryError> {
        let Self { pair, records, plaintext, direction, .. } = self;
        let mut opened = Vec::new();
        let mut show = |part: &[u8]| opened.extend_from_slice(part);
        match direction {
            Direction::Receive => {
                pair.server.seal(plaintext, records)?;
                pair.client.open(records, &mut show)?;
            }
            Direction::Send | Direction::Both => {
                pair.client.seal(plaintext, records)?;
                pair.server.open(records, &mut show)?;
            }
        }
        if opened == *plaintext { Ok(()) } else { Err(altered(self.direction).into()) }
    }

    fn carry(mut self, stop: Stop, interrupt: &AtomicBool) -> Result<Tally, InMemoryError> {
        let (most, time) = match stop {
            Stop::Count(count) => (count, Nanos::MAX),
            Stop::DurationMs(ms) => (u64::MAX, ms * MILLISECOND),
        };
        let mut tally = Tally::default();
        let mut of_session = 0;
        while tally.records < most && tally.wall < time && !interrupt.load(Ordering::Relaxed) {
            let count = self.batch.min(most - tally.records);
            if of_session + count > SESSION_RECORDS {
                self.pair = connect(&mut self.library, self.settings, &mut self.buffers)?;
                of_session = 0;
            }
            let begun = MonotonicClock.now();
            match self.direction {
                Direction::Receive => {
                    let Pair { client, server } = &mut self.pair;
                    tally.add(batch(server, client, &self.plaintext, count, &mut self.records)?);
                }
                Direction::Send | Direction::Both => {
                    let Pair { client, server } = &mut self.pair;
                    tally.add(batch(client, server, &self.plaintext, count, &mut self.records)?);
                }
            }
            tally.wall += MonotonicClock.now() - begun;
            tally.records += count;
            of_session += count;
        }
        // Each batch has two readings of the clock for each side, half of whose cost falls on that
        // side.
        let batches = tally.records.div_ceil(self.batch);
        tally.sides = tally.sides.map(|time| time.saturating_sub(batches * self.clock));
        Ok(tally)
    }
}

impl Tally {
    fn add(&mut self, (wire_bytes, sides): (u64, [Nanos; 2])) {
        self.wire_bytes += wire_bytes;
        self.sides[0] += sides[0];
        self.sides[1] += sides[1];
    }
}

fn connect<L: Library>(
    library: &mut L,
    settings: &Settings,
    buffers: &mut Buffers,
) -> Result<Pair<L::Client, L::Server>, InMemoryError> {
    let pair = exchange(library, buffers, &mut Unwatched)?;
    match pair.mismatch(settings, false, buffers) {
        None => Ok(pair),
        Some(mismatch) => Err(InMemoryError::Unexpected(mismatch.to_string())),
    }
}

/// Encrypts N records and decrypts them. Returns the bytes on the wire, and the time of each side.
fn batch(
    sealer: &mut impl Side,
    opener: &mut impl Side,
    plaintext: &[u8],
    count: u64,
    records: &mut Buffer,
) -> Result<(u64, [Nanos; 2]), HandshakeError> {
    let begun = ThreadClock.now();
    seal_batch(sealer, plaintext, count, records)?;
    let sealed = ThreadClock.now();
    let wire_bytes = records.len() as u64;
    let opened = open_batch(opener, records)?;
    let done = ThreadClock.now();
    if opened == count * plaintext.len() as u64 && records.is_empty() {
        Ok((wire_bytes, [sealed - begun, done - sealed]))
    } else {
        Err(altered(Direction::Both))
    }
}

/// Never inlined, so that a simulator can count its instructions by name.
#[inline(never)]
fn seal_batch(
    sealer: &mut impl Side,
    plaintext: &[u8],
    count: u64,
    records: &mut Buffer,
) -> Result<(), HandshakeError> {
    (0..count).try_for_each(|_| sealer.seal(plaintext, records))
}

/// Returns the number of decrypted bytes. Never inlined either.
#[inline(never)]
fn open_batch(opener: &mut impl Side, records: &mut Buffer) -> Result<u64, HandshakeError> {
    let mut opened = 0;
    opener.open(records, &mut |part| opened += part.len() as u64)?;
    Ok(opened)
}

fn altered(direction: Direction) -> HandshakeError {
    let side = if direction == Direction::Receive { Role::Client } else { Role::Server };
    HandshakeError { side, message: "what was opened is not what was sealed".to_owned() }
}

fn result(
    settings: &Settings,
    record_size: u32,
    direction: Direction,
    tallies: &[Tally],
) -> BulkResult {
    let seconds = |nanos: Nanos| nanos as f64 / SECOND as f64;
    let records: u64 = tallies.iter().map(|tally| tally.records).sum();
    let bytes = records * u64::from(record_size);
    let per = |bytes: u64, time: f64| if time > 0.0 { bytes as f64 / time } else { 0.0 };
    let side = |index: usize| {
        let cpu_s = seconds(tallies.iter().map(|tally| tally.sides[index]).sum());
        BulkSide { cpu_s, bytes_per_cpu_s: per(bytes, cpu_s) }
    };
    let rate = |t: &Tally| per(t.records * u64::from(record_size), seconds(t.wall));
    BulkResult {
        suite: settings.suite.to_string(),
        record_size,
        direction,
        records,
        bytes,
        wire_bytes: tallies.iter().map(|tally| tally.wire_bytes).sum(),
        seconds: seconds(tallies.iter().map(|t| t.wall).sum()) / tallies.len() as f64,
        bytes_per_s: tallies.iter().map(rate).sum(),
        seal: side(0),
        open: side(1),
    }
}

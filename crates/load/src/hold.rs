//! Connections that are opened, used once and then held idle, to see what each costs in memory.
//!
//! One thread opens connections up to each of several levels; each makes one request, so that it has
//! been through all that a used connection has been through, and then rests. At each level the
//! process's own memory is read; whoever watches may read the server's meanwhile. At the end each
//! connection makes another request: only one that still works was held.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::Checked;
use crate::connection::{Connection, Context, Script, Start, Turn};
use crate::error::RunError;
use tlslab_contract::record::{Environment, Preflight};
use tlslab_contract::spec::{CheckedSpec, ClientChoice, RunSpec};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};
use tlslab_system::environment::environment;
use tlslab_system::guard::GuardError;
use tlslab_system::memory::Memory;
use tlslab_system::poller::{Poller, Ready};
use tlslab_tls::choice::Choice;
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::versions::versions;
use tlslab_tls::{Backend, ClientSettings};
use tlslab_wire::outcome::Outcome;

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const HOLD_SCHEMA: &str = "tlslab.hold/1";

/// Connections that are at work at once: few, so that the memory of handshakes under way, which the
/// allocator keeps for a while, stays small beside that of idle connections.
const AT_WORK: usize = 32;

/// Between two requests of a connection: longer than anybody waits.
const FOREVER: Nanos = Nanos::MAX / 2;

/// How often deadlines, and whoever may interrupt, are looked at.
const SWEEP: Nanos = 50 * MILLISECOND;

/// Room for decrypted bytes.
const PLAINTEXT: usize = 16 * 1024;

/// How many connections to hold, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Connections held at once, in rising order.
    pub levels: Vec<u32>,
    /// How long each level rests: half before its memory is read, half after it was reported.
    pub dwell: Nanos,
}

/// What holding connections cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldRecord {
    /// The wire format, `tlslab.hold/1`.
    pub schema: String,
    /// What was asked.
    pub spec: RunSpec,
    /// The TLS back end: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries that took part.
    pub versions: BTreeMap<String, String>,
    /// The machine that the connections were opened from.
    pub environment: Environment,
    /// The address that was connected to.
    pub address: String,
    /// The one connection made before, verified in full.
    pub preflight: Preflight,
    /// This process's memory before the first connection was opened.
    pub empty: Memory,
    /// What was found at each level that was reached.
    pub levels: Vec<Level>,
    /// Connections that were begun.
    pub attempts: u64,
    /// Connections that answered another request at the end.
    pub alive: u64,
    /// Connections that the server ended while they rested, or that did not answer again.
    pub lost: u64,
    /// Connections that failed before they could rest, by class; `unexpected_FACT` among them.
    pub failed: BTreeMap<String, u64>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// One level, once it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Connections that were asked for.
    pub asked: u32,
    /// Idle connections when the memory was read.
    pub connections: u64,
    /// The time that it took to get there from the level before, in seconds.
    pub seconds: f64,
    /// This process's memory.
    pub memory: Memory,
}

/// Opens and holds connections; reports each level when its memory has been read. `interrupt`, once
/// true, ends it early.
pub fn hold(
    spec: &CheckedSpec,
    checked: &Checked,
    plan: &Plan,
    report: &mut dyn FnMut(&Level),
    interrupt: &AtomicBool,
) -> Result<HoldRecord, RunError> {
    if checked.permit.bounded {
        let address = checked.permit.address.ip();
        return Err(GuardError::PublicWithoutProof { address }.into());
    }
    let script = Script { requests: None, think: FOREVER, ..checked.script.clone() };
    let blank = HoldRecord {
        schema: HOLD_SCHEMA.to_owned(),
        spec: spec.spec().clone(),
        backend: checked.backend.name().to_owned(),
        versions: versions(),
        environment: environment(),
        address: checked.permit.address.to_string(),
        preflight: checked.preflight.clone(),
        empty: Memory::default(),
        levels: Vec::new(),
        attempts: 0,
        alive: 0,
        lost: 0,
        failed: BTreeMap::new(),
        interrupted: false,
    };
    // The memory that is reported is that of the library that the record names.
    let offer = &ClientSettings { client: ClientChoice::Library, ..checked.offer.clone() };
    Ok(match checked.backend {
        Choice::Rustls => {
            Holder::new(RustlsBackend::new(offer)?, &script, interrupt, blank)?.run(plan, report)
        }
        Choice::Openssl => {
            Holder::new(OpensslBackend::new(offer)?, &script, interrupt, blank)?.run(plan, report)
        }
    }?)
}

/// A connection that is held.
struct Held<S> {
    connection: Box<Connection<S>>,
    rests: bool,
}

/// Holds connections.
struct Holder<'r, B: Backend> {
    backend: B,
    script: &'r Script,
    interrupt: &'r AtomicBool,
    poller: Poller,
    ready: Vec<Ready>,
    clock: MonotonicClock,
    plaintext: Vec<u8>,
    places: Vec<Option<Held<B::Session>>>,
    at_work: usize,
    idle: usize,
    next_sweep: Nanos,
    record: HoldRecord,
}

impl<'r, B: Backend> Holder<'r, B> {
    fn new(
        backend: B,
        script: &'r Script,
        interrupt: &'r AtomicBool,
        record: HoldRecord,
    ) -> io::Result<Self> {
        Ok(Self {
            backend,
            script,
            interrupt,
            poller: Poller::new()?,
            ready: Vec::new(),
            clock: MonotonicClock,
            plaintext: vec![0; PLAINTEXT],
            places: Vec::new(),
            at_work: 0,
            idle: 0,
            next_sweep: 0,
            record,
        })
    }

    fn run(mut self, plan: &Plan, report: &mut dyn FnMut(&Level)) -> io::Result<HoldRecord> {
        self.places.reserve_exact(plan.levels.last().map_or(0, |most| *most as usize));
        self.record.empty = Memory::of_this_process()?;
        for &asked in &plan.levels {
            let begin = self.clock.now();
            self.grow_to(asked as usize)?;
            let seconds = (self.clock.now() - begin) as f64 / SECOND as f64;
            self.rest(plan.dwell / 2)?;
            if self.is_interrupted() {
                break;
            }
            let memory = Memory::of_this_process()?;
            let level = Level { asked, connections: self.idle as u64, seconds, memory };
            self.record.levels.push(level);
            report(&level);
            self.rest(plan.dwell / 2)?;
        }
        self.ask_all()?;
        self.record.interrupted = self.is_interrupted();
        Ok(self.record)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Opens connections until N were begun in all; one that fails is counted and not replaced.
    fn grow_to(&mut self, count: usize) -> io::Result<()> {
        while (self.places.len() < count || self.at_work > 0) && !self.is_interrupted() {
            while self.at_work < AT_WORK && self.places.len() < count {
                self.open();
            }
            self.turn(SWEEP)?;
        }
        Ok(())
    }

    /// Lets time pass, and takes note of connections that the server ends.
    fn rest(&mut self, time: Nanos) -> io::Result<()> {
        let end = self.clock.now() + time;
        while !self.is_interrupted() {
            let left = end.saturating_sub(self.clock.now());
            if left == 0 {
                break;
            }
            self.turn(left.min(SWEEP))?;
        }
        Ok(())
    }

    /// Lets every connection that rests make another request.
    fn ask_all(&mut self) -> io::Result<()> {
        for index in 0..self.places.len() {
            while self.at_work >= AT_WORK && !self.is_interrupted() {
                self.turn(SWEEP)?;
            }
            if self.is_interrupted() {
                return Ok(());
            }
            if let Some(held) = self.places[index].as_mut().filter(|held| held.rests) {
                held.rests = false;
                held.connection.go_on();
                self.idle -= 1;
                self.at_work += 1;
                self.advance(index);
            }
        }
        while self.at_work > 0 && !self.is_interrupted() {
            self.turn(SWEEP)?;
        }
        self.record.alive = self.idle as u64;
        Ok(())
    }

    fn open(&mut self) {
        let index = self.places.len();
        self.places.push(None);
        let number = self.record.attempts;
        self.record.attempts += 1;
        let (backend, script) = (&mut self.backend, self.script);
        let started =
            Connection::start(|| backend.open(), script, &self.clock, Start::full(number));
        let connection = match started {
            Ok(connection) => Box::new(connection),
            Err(failure) => return self.count_failed(Outcome::Failed(failure)),
        };
        if let Err(e) = self.poller.add(&connection.socket, index, true) {
            let failure = tlslab_system::socket::failure(&e, connection.step());
            return self.count_failed(Outcome::Failed(failure));
        }
        self.places[index] = Some(Held { connection, rests: false });
        self.at_work += 1;
        self.advance(index);
    }

    fn turn(&mut self, time: Nanos) -> io::Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(self.clock.now() + time, &mut ready)?;
        for event in &ready {
            self.serve(*event);
        }
        self.ready = ready;
        let now = self.clock.now();
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP;
            self.expire(now);
        }
        Ok(())
    }

    fn serve(&mut self, event: Ready) {
        let Some(held) = &mut self.places[event.slot] else { return };
        if event.readable || event.ended {
            held.connection.socket.became_readable(event.ended);
        }
        if !held.rests {
            self.advance(event.slot);
        } else if event.ended {
            self.places[event.slot] = None;
            self.idle -= 1;
            self.record.lost += 1;
        }
    }

    fn advance(&mut self, index: usize) {
        let Some(mut held) = self.places[index].take() else { return };
        let turn = held.connection.advance(&mut self.context());
        match turn {
            Turn::Ended(outcome) => return self.end_work(&held, outcome),
            Turn::Think(_) => {
                held.connection.rest();
                held.rests = true;
                self.at_work -= 1;
                self.idle += 1;
            }
            // A socket that cannot be waited for is found by its deadline.
            Turn::Write => drop(self.poller.change(&held.connection.socket, index, true)),
            Turn::Read => {}
        }
        self.places[index] = Some(held);
    }

    fn expire(&mut self, now: Nanos) {
        for index in 0..self.places.len() {
            if self.places[index].as_ref().is_none_or(|held| held.rests) {
                continue;
            }
            let Some(mut held) = self.places[index].take() else { continue };
            match held.connection.expire(now, &mut self.context()) {
                Some(Turn::Ended(outcome)) => self.end_work(&held, outcome),
                _ => self.places[index] = Some(held),
            }
        }
    }

    fn context(&mut self) -> Context<'_, MonotonicClock> {
        Context {
            script: self.script,
            clock: &self.clock,
            recorder: None,
            plaintext: &mut self.plaintext,
            urgent_at: Nanos::MAX,
            draining: false,
        }
    }

    /// A connection has ended while it was at work: for the first time, or when it was asked again.
    fn end_work(&mut self, held: &Held<B::Session>, outcome: Outcome) {
        self.at_work -= 1;
        if held.connection.requests_done() > 0 {
            self.record.lost += 1;
        } else {
            self.count_failed(outcome);
        }
    }

    fn count_failed(&mut self, outcome: Outcome) {
        let class = match outcome {
            Outcome::Failed(failure) => failure.to_string(),
            Outcome::Unexpected(fact) => format!("unexpected_{fact}"),
            Outcome::Completed => "closed".to_owned(),
        };
        *self.record.failed.entry(class).or_default() += 1;
    }
}

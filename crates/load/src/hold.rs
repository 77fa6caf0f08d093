//! Opens connections, uses each once, and then holds them idle, to measure the memory of each.
//!
//! One thread opens connections up to each of several levels; each makes one request, as a used
//! connection has, and is then idle. At each level the process's own memory is read; an observer may
//! read the server's meanwhile. At the end each connection makes another request: only a connection that
//! still works was held.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::Checked;
use crate::connection::{Connection, Context, Script, Start, Turn};
use crate::error::RunError;
use crate::event_loop::{Care, Entry, EventLoop, Policy};
use tlslab_contract::record::{Environment, Preflight};
use tlslab_contract::spec::{CheckedSpec, ClientChoice, RunSpec};
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND};
use tlslab_system::environment::environment;
use tlslab_system::guard::GuardError;
use tlslab_system::memory::Memory;
use tlslab_tls::choice::Choice;
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::versions::versions;
use tlslab_tls::{Backend, ClientSettings, Session};
use tlslab_wire::outcome::Outcome;

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const HOLD_SCHEMA: &str = "tlslab.hold/1";

/// Connections that are at work at once: few, so that the memory of handshakes under way, which the
/// allocator keeps for a while, stays small beside that of idle connections.
const AT_WORK: usize = 32;

/// The time between two requests of a connection: longer than any run.
const FOREVER: Nanos = Nanos::MAX / 2;

/// How often deadlines and the interrupt flag are checked.
const SWEEP: Nanos = 50 * MILLISECOND;

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
    let settings = &ClientSettings { client: ClientChoice::Library, ..checked.settings.clone() };
    Ok(match checked.backend {
        Choice::Rustls => {
            Holder::new(RustlsBackend::new(settings)?, &script, interrupt, blank)?.run(plan, report)
        }
        Choice::Openssl => Holder::new(OpensslBackend::new(settings)?, &script, interrupt, blank)?
            .run(plan, report),
    }?)
}

/// Holds connections.
struct Holder<'r, B: Backend> {
    backend: B,
    interrupt: &'r AtomicBool,
    events: EventLoop<B::Session, MonotonicClock>,
    held: Held<'r>,
}

/// The connections that are held, in numbers.
struct Held<'r> {
    script: &'r Script,
    at_work: usize,
    idle: usize,
    record: HoldRecord,
}

impl<'r, B: Backend> Holder<'r, B> {
    fn new(
        backend: B,
        script: &'r Script,
        interrupt: &'r AtomicBool,
        record: HoldRecord,
    ) -> io::Result<Self> {
        let events = EventLoop::new(0, SWEEP, MonotonicClock)?;
        let held = Held { script, at_work: 0, idle: 0, record };
        Ok(Self { backend, interrupt, events, held })
    }

    fn run(mut self, plan: &Plan, report: &mut dyn FnMut(&Level)) -> io::Result<HoldRecord> {
        self.events.reserve_slots(plan.levels.last().map_or(0, |most| *most as usize));
        self.held.record.empty = Memory::of_this_process()?;
        for &asked in &plan.levels {
            let start = self.events.now();
            self.grow_to(asked as usize)?;
            let seconds = (self.events.now() - start) as f64 / SECOND as f64;
            self.rest(plan.dwell / 2)?;
            if self.is_interrupted() {
                break;
            }
            let memory = Memory::of_this_process()?;
            let level = Level { asked, connections: self.held.idle as u64, seconds, memory };
            self.held.record.levels.push(level);
            report(&level);
            self.rest(plan.dwell / 2)?;
        }
        self.ask_all()?;
        self.held.record.interrupted = self.is_interrupted();
        Ok(self.held.record)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Opens connections until N were begun in all; one that fails is counted and not replaced.
    fn grow_to(&mut self, count: usize) -> io::Result<()> {
        while (self.events.slots() < count || self.held.at_work > 0) && !self.is_interrupted() {
            while self.held.at_work < AT_WORK && self.events.slots() < count {
                self.open();
            }
            self.turn(SWEEP)?;
        }
        Ok(())
    }

    /// Waits, and notes the connections that the server ends.
    fn rest(&mut self, time: Nanos) -> io::Result<()> {
        let end = self.events.now() + time;
        while !self.is_interrupted() {
            let left = end.saturating_sub(self.events.now());
            if left == 0 {
                break;
            }
            self.turn(left.min(SWEEP))?;
        }
        Ok(())
    }

    /// Lets every idle connection make another request.
    fn ask_all(&mut self) -> io::Result<()> {
        for slot in 0..self.events.slots() {
            while self.held.at_work >= AT_WORK && !self.is_interrupted() {
                self.turn(SWEEP)?;
            }
            if self.is_interrupted() {
                return Ok(());
            }
            if self.events.is_idle(slot) {
                self.held.idle -= 1;
                self.held.at_work += 1;
                self.events.wake(&mut self.held, slot);
            }
        }
        while self.held.at_work > 0 && !self.is_interrupted() {
            self.turn(SWEEP)?;
        }
        self.held.record.alive = self.held.idle as u64;
        Ok(())
    }

    fn open(&mut self) {
        let Self { backend, events, held, .. } = self;
        let slot = events.add_slot();
        let start = Start::full(held.record.attempts);
        held.record.attempts += 1;
        held.at_work += 1;
        let started = Connection::start(|| backend.open(), held.script, events.clock(), start)
            .map(Box::new)
            .and_then(|connection| events.attach(held, slot, connection, Entry::default()));
        if let Err(failure) = started {
            held.at_work -= 1;
            held.count_failed(Outcome::Failed(failure));
        }
    }

    fn turn(&mut self, time: Nanos) -> io::Result<()> {
        let until = self.events.now() + time;
        self.events.turn(&mut self.held, until)
    }
}

impl<S: Session, C: Clock> Policy<S, C> for Held<'_> {
    fn context<'w>(&'w mut self, clock: &'w C, plaintext: &'w mut [u8]) -> Context<'w, C> {
        Context::uncounted(self.script, clock, plaintext)
    }

    /// A connection has ended during its first request, or during the one at the end.
    fn ended(
        &mut self,
        _: &mut EventLoop<S, C>,
        _: usize,
        connection: Box<Connection<S>>,
        outcome: Outcome,
    ) {
        self.at_work -= 1;
        if connection.requests_done() > 0 {
            self.record.lost += 1;
        } else {
            self.count_failed(outcome);
        }
    }

    fn waits(&mut self, _: usize, connection: &mut Connection<S>, turn: Turn) -> Care {
        let Turn::Think(_) = turn else { return Care::Busy };
        connection.rest();
        self.at_work -= 1;
        self.idle += 1;
        Care::Idle
    }

    fn lost(&mut self) {
        self.idle -= 1;
        self.record.lost += 1;
    }
}

impl Held<'_> {
    fn count_failed(&mut self, outcome: Outcome) {
        let class = match outcome {
            Outcome::Failed(failure) => failure.to_string(),
            Outcome::Unexpected(fact) => format!("unexpected_{fact}"),
            Outcome::Completed => "closed".to_owned(),
        };
        *self.record.failed.entry(class).or_default() += 1;
    }
}

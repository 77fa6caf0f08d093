//! Opens connections, uses each once, and holds them idle to measure the memory per connection.
//!
//! One thread opens connections up to each of several levels. Each connection makes one request, as
//! ordinary clients do, and is then idle. At each level the generator reads its own memory, and an
//! observer may read the server's. At the end each connection makes another request: only those
//! that complete it count as held.

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
use tlslab_tls::plain::PlainBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::versions::versions;
use tlslab_tls::{Backend, ClientSettings, Session};
use tlslab_wire::outcome::{ABANDONED, Outcome};

/// The identifier of the record format. The number changes if old readers would misread the new
/// form.
pub const HOLD_SCHEMA: &str = "tlslab.hold/1";

/// Connections that handshake or exchange requests at once. Few, because the allocator keeps the
/// memory of handshakes for a while, which must stay small beside that of idle connections.
const AT_WORK: usize = 32;

/// The think time of a held connection: longer than any run.
const FOREVER: Nanos = Nanos::MAX / 2;

/// The interval at which deadlines and the interrupt flag are checked.
const SWEEP: Nanos = 50 * MILLISECOND;

/// The levels of connections, and the time at each level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Numbers of held connections, ascending.
    pub levels: Vec<u32>,
    /// Pause at each level: the first half before its memory is read, the second half after the
    /// report.
    pub dwell: Nanos,
}

/// The result of holding connections idle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldRecord {
    /// The record format, `tlslab.hold/1`.
    pub schema: String,
    /// The specification of the run.
    pub spec: RunSpec,
    /// The TLS back end: `rustls` or `openssl`.
    pub backend: String,
    /// The versions of this program and of the libraries that took part.
    pub versions: BTreeMap<String, String>,
    /// The machine that the connections were opened from.
    pub environment: Environment,
    /// The address that was connected to.
    pub address: String,
    /// The verified connection before the first held one.
    pub preflight: Preflight,
    /// This process's memory before the first connection was opened.
    pub empty: Memory,
    /// The measurements at each level that was reached.
    pub levels: Vec<Level>,
    /// Connections that were started.
    pub attempts: u64,
    /// Connections that completed a second request at the end.
    pub alive: u64,
    /// Connections that the server ended while they were idle, or that failed the second request.
    pub lost: u64,
    /// Connections that failed before they were idle, by class; unexpected ones as
    /// `unexpected_FACT`.
    pub failed: BTreeMap<String, u64>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
}

/// The measurements at one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Connections requested at this level.
    pub asked: u32,
    /// Idle connections when the memory was read.
    pub connections: u64,
    /// Time to reach this level from the one before, in seconds.
    pub seconds: f64,
    /// Memory of this process.
    pub memory: Memory,
}

/// Opens and holds connections. Calls `report` after the memory of each level was read.
/// `interrupt`, once true, ends the run early.
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
    // The library makes all connections: the record attributes the memory to it.
    let settings = &ClientSettings { client: ClientChoice::Library, ..checked.settings.clone() };
    Ok(match checked.backend {
        Choice::Rustls => {
            Holder::new(RustlsBackend::new(settings)?, &script, interrupt, blank)?.run(plan, report)
        }
        #[cfg(feature = "openssl")]
        Choice::Openssl => {
            let backend = tlslab_tls::openssl::OpensslBackend::new(settings)?;
            Holder::new(backend, &script, interrupt, blank)?.run(plan, report)
        }
        Choice::Plain => Holder::new(PlainBackend, &script, interrupt, blank)?.run(plan, report),
    }?)
}

/// The event loop and the state of a run that holds connections.
struct Holder<'r, B: Backend> {
    backend: B,
    interrupt: &'r AtomicBool,
    events: EventLoop<B::Session, MonotonicClock>,
    held: Held<'r>,
}

/// The counts of the held connections.
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

    /// Opens connections until N were started in total. A failed connection is counted and not
    /// replaced.
    fn grow_to(&mut self, count: usize) -> io::Result<()> {
        while (self.events.slots() < count || self.held.at_work > 0) && !self.is_interrupted() {
            while self.held.at_work < AT_WORK && self.events.slots() < count {
                self.open();
            }
            self.turn(SWEEP)?;
        }
        Ok(())
    }

    /// Waits for a time and counts the connections that the server ends meanwhile.
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

    /// Makes every idle connection send another request.
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

    /// A connection ended during its first or its last request.
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
            Outcome::Abandoned => ABANDONED.to_owned(),
        };
        *self.record.failed.entry(class).or_default() += 1;
    }
}

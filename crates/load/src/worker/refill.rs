//! Keeps a pool of sessions full if the server gives none on resumed connections: full handshakes during
//! the load collect them (docs/adr/0045).

use std::io;

use crate::collector::{AT_ONCE, Collector};
use crate::connection::Script;
use crate::mix::Mix;
use crate::prime::reserve;
use tlslab_system::poller::Poller;
use tlslab_tls::{Backend, Session};

/// How a worker's pool is kept full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refill {
    /// The sessions that each full handshake brings, as the preflight found.
    pub each: usize,
}

/// What keeps a worker's pool full.
pub struct Refiller<S> {
    collector: Collector<S>,
    each: usize,
    /// The number of sessions that the pool should have.
    level: usize,
    /// Whether a connection waits for a session.
    starved: bool,
}

/// Full handshakes of one turn.
#[derive(Debug, Clone, Copy)]
pub struct Collected {
    /// Those that were begun.
    pub started: u64,
    /// Those that did as asked.
    pub completed: u64,
}

impl<S: Session> Refiller<S> {
    /// For N connections in flight, whose worker waits on this poller.
    pub fn new(
        refill: Refill,
        script: &Script,
        connections: usize,
        poller: &Poller,
    ) -> io::Result<Self> {
        let each = refill.each.max(1);
        let collector = Collector::new(script, connections.div_ceil(each).max(AT_ONCE))?;
        poller.nest(collector.poller())?;
        Ok(Self { collector, each, level: reserve(connections), starved: false })
    }

    /// Whether too many connections in a row brought nothing.
    pub fn is_vain(&self) -> bool {
        self.collector.is_vain().is_some()
    }

    /// Collects sessions until there are enough.
    pub fn collect<B: Backend<Session = S>>(&mut self, backend: &mut B) -> io::Result<Collected> {
        let (started, completed) = (self.collector.started(), self.collector.completed());
        self.collector.look()?;
        let missing = self.level.saturating_sub(backend.resumable());
        self.collector.fill(backend, missing, self.each);
        Ok(Collected {
            started: self.collector.started() - started,
            completed: self.collector.completed() - completed,
        })
    }

    /// Whether the next connection has to wait for a session to resume.
    pub fn starves<B: Backend>(&mut self, mix: &Mix, backend: &B) -> bool {
        let starves = mix.resumes_next() && backend.resumable() == 0;
        self.starved |= starves;
        starves
    }

    /// Whether a connection waited for a session and one has arrived; ends its wait.
    pub fn is_fed<B: Backend>(&mut self, backend: &B) -> bool {
        let is_fed = self.starved && backend.resumable() > 0;
        self.starved &= !is_fed;
        is_fed
    }
}

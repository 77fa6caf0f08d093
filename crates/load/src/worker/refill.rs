//! Keeps a pool of sessions full if the server issues none on resumed connections: additional full
//! handshakes during the load collect them (docs/adr/0014).

use std::io;

use crate::collector::{AT_ONCE, Collector};
use crate::connection::Script;
use crate::mix::Mix;
use crate::prime::reserve;
use tlslab_system::poller::Poller;
use tlslab_tls::{Backend, Session};

/// The yield of a full handshake, for keeping a pool full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refill {
    /// Sessions per full handshake, as measured by the preflight.
    pub each: usize,
}

/// Keeps a worker's pool of sessions full.
pub struct Refiller<S> {
    collector: Collector<S>,
    each: usize,
    /// The number of sessions to keep in the pool.
    level: usize,
    /// Whether a connection is waiting for a session.
    starved: bool,
}

/// The full handshakes of one turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Collected {
    /// Full handshakes started.
    pub started: u64,
    /// Full handshakes completed.
    pub completed: u64,
    /// Whether a connection that was waiting for a session may start now.
    pub feeds: bool,
}

impl<S: Session> Refiller<S> {
    /// A refiller for N connections in flight, whose worker waits on this poller.
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

    /// True if too many consecutive connections gave no session.
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
            feeds: self.feeds(backend),
        })
    }

    /// True if the next connection has to wait for a session to resume.
    pub fn starves<B: Backend>(&mut self, mix: &Mix, backend: &B) -> bool {
        let starves = mix.resumes_next() && backend.resumable() == 0;
        self.starved |= starves;
        starves
    }

    /// True if a connection was waiting for a session and one has arrived; ends the wait.
    fn feeds<B: Backend>(&mut self, backend: &B) -> bool {
        let feeds = self.starved && backend.resumable() > 0;
        self.starved &= !feeds;
        feeds
    }
}

//! The sessions of a load that resumes from a server that gives none on resumed connections: full
//! handshakes beside the load collect them (docs/adr/0045).

use std::io;

use super::Worker;
use crate::collector::{AT_ONCE, Collector};
use crate::connection::Script;
use crate::phase::Phase;
use crate::prime::reserve;
use tlslab_system::clock::Clock;
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
    /// Sessions that there should be.
    level: usize,
    /// Whether a connection waits for a session.
    pub starved: bool,
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
}

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Collects sessions until there are enough. Gives up where none come: connections that find no
    /// session make full handshakes then, which are unexpected ones.
    pub(super) fn collect(&mut self) -> io::Result<()> {
        let Some(refiller) = &mut self.refiller else { return Ok(()) };
        let collector = &mut refiller.collector;
        if self.phase >= Phase::Drain || collector.is_vain().is_some() {
            self.refiller = None;
            self.fill();
            return Ok(());
        }
        let (started, completed) = (collector.started(), collector.completed());
        collector.look()?;
        let missing = refiller.level.saturating_sub(self.backend.resumable());
        collector.fill(&mut self.backend, missing, refiller.each);
        self.started += collector.started() - started;
        if self.phase == Phase::Measure {
            self.recorder.refilled(collector.completed() - completed);
        }
        if refiller.starved && self.backend.resumable() > 0 {
            refiller.starved = false;
            self.fill();
        }
        Ok(())
    }

    /// Whether the next connection has to wait for a session to resume.
    pub(super) fn starves(&mut self) -> bool {
        let Some(refiller) = &mut self.refiller else { return false };
        let starves = self.share.mix.resumes_next() && self.backend.resumable() == 0;
        refiller.starved |= starves;
        starves
    }
}

//! The sessions of a worker's connections: new ones and ones to resume, in the order of the mix.

use std::io;

use super::Share;
use super::refill::{Collected, Refiller};
use crate::mix::Mix;
use tlslab_system::poller::Poller;
use tlslab_tls::{Backend, HandshakeKind};
use tlslab_wire::outcome::Failure;

/// Creates the sessions of a worker's connections.
pub struct Sessions<B: Backend> {
    backend: B,
    mix: Mix,
    /// Keeps the pool of sessions to resume full, if resumed connections receive none.
    refiller: Option<Refiller<B::Session>>,
}

impl<B: Backend> Sessions<B> {
    /// Sessions of this back end for a worker with N slots, which waits on this poller.
    pub fn new(backend: B, share: &Share<'_>, slots: usize, poller: &Poller) -> io::Result<Self> {
        let refiller =
            share.refill.map(|refill| Refiller::new(refill, share.script, slots, poller));
        Ok(Self { backend, mix: share.mix, refiller: refiller.transpose()? })
    }

    /// The back end, if sessions can be created ahead of their connections: not in runs that
    /// resume, because the session to resume is not known yet.
    pub fn ahead(&mut self) -> Option<&mut B> {
        self.mix.is_full().then_some(&mut self.backend)
    }

    /// True if the next connection has to wait for a session to resume.
    pub fn starves(&mut self) -> bool {
        let Self { backend, mix, refiller } = self;
        refiller.as_mut().is_some_and(|refiller| refiller.starves(mix, backend))
    }

    /// The kind of the next connection.
    pub fn next_kind(&mut self) -> HandshakeKind {
        self.mix.next_kind()
    }

    /// A session for a connection of this kind. Without a session to resume, the connection makes a
    /// full handshake, which the accounting counts as unexpected; the sessions that it receives are
    /// resumed next.
    pub fn open(&mut self, wanted: HandshakeKind) -> Result<B::Session, Failure> {
        let resumed = match wanted {
            HandshakeKind::Full => None,
            HandshakeKind::Resumed => self.backend.resume()?,
        };
        resumed.map_or_else(|| self.backend.open(), Ok)
    }

    /// Collects sessions until there are enough. Stops at the end of the load, and if the server
    /// issues none: connections without a session then make full handshakes, which count as
    /// unexpected.
    pub fn collect(&mut self, is_over: bool) -> io::Result<Collected> {
        let Some(refiller) = &mut self.refiller else { return Ok(Collected::default()) };
        if is_over || refiller.is_vain() {
            self.refiller = None;
            return Ok(Collected { feeds: true, ..Collected::default() });
        }
        refiller.collect(&mut self.backend)
    }
}

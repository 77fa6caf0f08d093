//! Priming before a load that resumes: uncounted full handshakes that fill a worker's pool of
//! sessions.
//!
//! Priming precedes the warm-up, so that from the first connection of the load every connection
//! that is to resume finds a session. Each worker has its own pool.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::collector::{AT_ONCE, Collector};
use crate::connection::Script;
use crate::error::RunError;
use crate::recorder::Primed;
use tlslab_system::clock::{Clock, MonotonicClock};
use tlslab_system::guard::{GuardError, Permit};
use tlslab_tls::Backend;

/// The needs and limits of a worker's priming.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'r> {
    /// The worker's limit of connections in flight.
    pub connections: usize,
    /// Workers that prime at the same time.
    pub workers: u32,
    /// The limits of the target.
    pub permit: &'r Permit,
    /// Ends priming early.
    pub interrupt: &'r AtomicBool,
}

impl Wanted<'_> {
    /// Sessions to collect: the number that can be in use at once, and a reserve for those that are
    /// lost with failed connections.
    fn sessions(&self) -> usize {
        reserve(self.connections)
    }
}

/// The size of the pool for N connections in flight.
pub fn reserve(connections: usize) -> usize {
    connections + connections / 4 + 4
}

/// Fills a back end's pool.
///
/// # Errors
/// [`RunError::Priming`] if too many consecutive connections give no session;
/// [`RunError::Exceeded`] if priming would exceed a public target's limits without proof of
/// consent.
pub fn prime<B: Backend>(
    backend: &mut B,
    script: &Script,
    wanted: Wanted<'_>,
) -> Result<Primed, RunError> {
    let sessions = wanted.sessions();
    backend.keep(2 * sessions);
    let mut collector = Collector::new(script, AT_ONCE.min(sessions))?;
    let began = MonotonicClock.now();
    // Connections in flight are completed, so that the server sees none aborted.
    while backend.resumable() < sessions || collector.in_flight() > 0 {
        if wanted.interrupt.load(Ordering::Relaxed) {
            break;
        }
        let of_all = collector.started() * u64::from(wanted.workers);
        if wanted.permit.is_exceeded(of_all, MonotonicClock.now() - began) {
            let address = wanted.permit.address.ip();
            return Err(RunError::Exceeded(GuardError::PublicWithoutProof { address }));
        }
        if let Some(outcome) = collector.is_vain() {
            return Err(RunError::Priming(outcome));
        }
        let missing = sessions.saturating_sub(backend.resumable());
        collector.fill(backend, missing, 1);
        collector.wait()?;
    }
    Ok(Primed { connections: collector.completed(), sessions: backend.resumable() as u64 })
}

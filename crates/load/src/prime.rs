//! The priming before a load that resumes: full handshakes, uncounted, that fill a worker's pool.
//!
//! It comes before the warm-up, so that from the first connection of the load on there is a session
//! for each that is to resume. Each worker fills a pool of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::collector::{AT_ONCE, Collector};
use crate::connection::Script;
use crate::error::RunError;
use crate::recorder::Primed;
use tlslab_system::clock::{Clock, MonotonicClock};
use tlslab_system::guard::{GuardError, Permit};
use tlslab_tls::Backend;

/// What a worker's priming is for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'r> {
    /// Its connections in flight at once.
    pub connections: usize,
    /// Workers that are primed at the same time.
    pub workers: u32,
    /// The limits of the target.
    pub permit: &'r Permit,
    /// Ends the priming early.
    pub interrupt: &'r AtomicBool,
}

impl Wanted<'_> {
    /// As many as can be taken at once, and a few in reserve for those that are lost with
    /// connections that fail.
    fn sessions(&self) -> usize {
        reserve(self.connections)
    }
}

/// The number of sessions in the pool for N connections in flight at once.
pub fn reserve(connections: usize) -> usize {
    connections + connections / 4 + 4
}

/// Fills a back end's pool.
///
/// # Errors
/// [`RunError::Priming`] when too many connections fail or bring nothing; [`RunError::Exceeded`] when
/// a public target is asked for more than it takes without proof.
pub fn prime<B: Backend>(
    backend: &mut B,
    script: &Script,
    wanted: Wanted<'_>,
) -> Result<Primed, RunError> {
    let sessions = wanted.sessions();
    backend.keep(2 * sessions);
    let mut collector = Collector::new(script, AT_ONCE.min(sessions))?;
    let began = MonotonicClock.now();
    // Connections under way are completed, so that the server sees none aborted.
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

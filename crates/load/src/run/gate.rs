//! The gate at which all workers of a run wait for the common start.

use std::mem;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::RunError;
use crate::start::{StartInstant, Starter};
use tlslab_system::clock::{Clock, MonotonicClock, Nanos};

/// Starts all workers at one instant.
pub(super) struct Gate {
    barrier: Barrier,
    start: AtomicU64,
    /// Whether a worker failed to get ready.
    failed: AtomicBool,
}

impl Gate {
    /// A gate for N workers.
    pub(super) fn new(workers: usize) -> Self {
        let barrier = Barrier::new(workers + 1);
        Self { barrier, start: AtomicU64::new(0), failed: AtomicBool::new(false) }
    }

    /// Waits until all workers are ready, then lets them begin at the instant that the starter
    /// gives. Without such an instant they pass as if a worker had failed to get ready.
    pub(super) fn open(
        &self,
        starter: &mut dyn Starter,
        interrupt: &AtomicBool,
    ) -> Result<StartInstant, RunError> {
        self.barrier.wait();
        let begun = match self.has_failed() {
            true => Ok(StartInstant::soon()),
            false => starter.begin(interrupt),
        };
        if begun.is_err() {
            self.fail();
        }
        let at = begun.as_ref().map_or_else(|_| MonotonicClock.now(), |start| start.at);
        self.start.store(at, Ordering::SeqCst);
        self.barrier.wait();
        begun
    }

    /// Notes that a worker failed to get ready.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    /// True if a worker failed to get ready.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// A worker's pass, to be used once.
    pub(super) fn pass(&self) -> Pass<'_> {
        Pass { gate: self, is_open: true }
    }
}

/// A worker's pass through the gate. A worker that panics also passes, marked as failed: otherwise
/// the other workers would wait forever.
pub(super) struct Pass<'g> {
    gate: &'g Gate,
    is_open: bool,
}

impl Pass<'_> {
    /// Reports that the worker is ready; returns the instant at which it begins.
    pub(super) fn go(mut self) -> Nanos {
        self.through();
        self.gate.start.load(Ordering::SeqCst)
    }

    fn through(&mut self) {
        if mem::take(&mut self.is_open) {
            self.gate.barrier.wait();
            self.gate.barrier.wait();
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.gate.fail();
        }
        self.through();
    }
}

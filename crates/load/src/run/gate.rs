//! The gate at which all workers of a run wait until they begin at one instant.

use std::mem;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::RunError;
use crate::start::{StartInstant, Starter};
use tlslab_system::clock::{Clock, MonotonicClock, Nanos};

/// Lets all workers begin at one instant.
pub(super) struct Gate {
    barrier: Barrier,
    start: AtomicU64,
    /// A worker cannot begin.
    failed: AtomicBool,
}

impl Gate {
    /// A gate for N workers.
    pub(super) fn new(workers: usize) -> Self {
        let barrier = Barrier::new(workers + 1);
        Self { barrier, start: AtomicU64::new(0), failed: AtomicBool::new(false) }
    }

    /// Waits until all workers are ready, then lets them begin when the starter says so. Without a
    /// start they go through the gate as when one of them cannot begin.
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

    /// Notes that a worker cannot begin.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    /// Whether a worker cannot begin.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// A worker's way through, to be taken once.
    pub(super) fn pass(&self) -> Pass<'_> {
        Pass { gate: self, is_open: true }
    }
}

/// A worker's way through the gate. A worker that panics goes through it, too, as one that cannot
/// begin: otherwise the others would wait for it forever.
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

//! A worker's open loop: the arrivals, the slots that are free for them, and the session that is made
//! ahead of the next one (docs/adr/0039).

use super::wakeup_lead::WakeupLead;
use crate::pacing::{Arrivals, Pacing};
use crate::phase::Phase;
use tlslab_system::clock::{Clock, Nanos};
use tlslab_tls::Backend;

/// Connections that start when they are due.
pub struct OpenLoop<S> {
    pacing: Pacing,
    free: Vec<usize>,
    wakeup_lead: WakeupLead,
    /// The session of the next connection, made ahead of its arrival, and how long the last took.
    ahead: Option<S>,
    making: Nanos,
}

impl<S> OpenLoop<S> {
    /// N free slots for these arrivals.
    pub fn new(arrivals: Arrivals, slots: usize) -> Self {
        Self {
            pacing: Pacing::new(arrivals),
            free: (0..slots).rev().collect(),
            wakeup_lead: WakeupLead::default(),
            ahead: None,
            making: 0,
        }
    }

    /// The measurement starts at an instant, after N attempts: arrivals due before belong to the
    /// warm-up, but for those that still wait. The arrivals that are due by then.
    pub fn start_measurement(&mut self, at: Nanos, attempts: u64, count: Option<u64>) -> u64 {
        self.pacing.look(at);
        let taken = attempts + self.pacing.waiting();
        self.pacing.begin(count.map_or(u64::MAX, |count| count.saturating_sub(taken)))
    }

    /// Whether an arrival waits, or is due.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.pacing.waiting() > 0 || now >= self.pacing.next_due()
    }

    /// Makes the arrivals before an instant wait for slots; returns their number.
    pub fn look(&mut self, before: Nanos) -> u64 {
        self.pacing.look(before)
    }

    /// Arrivals that wait.
    pub fn waiting(&self) -> u64 {
        self.pacing.waiting()
    }

    /// Arrivals that have begun to wait since the last call.
    pub fn newly_waiting(&mut self) -> u64 {
        self.pacing.newly_waiting()
    }

    /// The arrival that has waited longest.
    pub fn take_arrival(&mut self) -> Option<Nanos> {
        self.pacing.take()
    }

    /// A slot that is free.
    pub fn take_slot(&mut self) -> Option<usize> {
        self.free.pop()
    }

    /// A slot has become free.
    pub fn free(&mut self, slot: usize) {
        self.free.push(slot);
    }

    /// The session that was made ahead.
    pub fn take_session(&mut self) -> Option<S> {
        self.ahead.take()
    }

    /// Makes the next connection's session, key share and all, where twice the time that the last one
    /// took, which depends on the group, is left for it.
    pub fn prepare<B: Backend<Session = S>, C: Clock>(
        &mut self,
        backend: &mut B,
        phase: Phase,
        clock: &C,
    ) {
        if self.ahead.is_some() {
            return;
        }
        let (next, now) = (self.next_start(phase), clock.now());
        if next != Nanos::MAX && next > now + 2 * self.making {
            // What fails now is tried again, and reported, when the connection is due.
            self.ahead = backend.open().ok();
            self.making = clock.now() - now;
        }
    }

    /// When the next connection is due, in a phase that starts any.
    #[inline]
    pub fn next_arrival(&self, phase: Phase) -> Nanos {
        if phase < Phase::Drain { self.pacing.next_due() } else { Nanos::MAX }
    }

    /// When the next connection is to be started that could be: at once where an arrival waits,
    /// never with no slot free.
    #[inline]
    pub fn next_start(&self, phase: Phase) -> Nanos {
        if self.free.is_empty() {
            Nanos::MAX
        } else if self.pacing.waiting() > 0 && phase < Phase::Drain {
            0
        } else {
            self.next_arrival(phase)
        }
    }

    /// When to wake for the next arrival.
    pub fn next_wakeup(&self, phase: Phase) -> Nanos {
        self.next_arrival(phase).saturating_sub(self.wakeup_lead.lead())
    }

    /// Notes by how much the alarm woke the worker too late.
    pub fn woke_late_by(&mut self, late: Nanos) {
        self.wakeup_lead.woke_late_by(late);
    }
}

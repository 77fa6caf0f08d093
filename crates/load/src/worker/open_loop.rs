//! A worker's open loop: the arrivals, the free slots, and the session that is created ahead of the
//! next arrival (docs/adr/0012).

use super::wakeup_lead::WakeupLead;
use crate::pacing::{Arrivals, Pacing};
use crate::phase::Phase;
use crate::recorder::{Attempt, Recorder};
use tlslab_system::clock::{Clock, MILLISECOND, Nanos};
use tlslab_tls::Backend;
use tlslab_wire::outcome::Outcome;

/// The patience of an open loop's users.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a user waits for the complete answer of an attempt.
    pub each: Nanos,
    /// How often a user comes back.
    pub retries: u32,
}

impl Patience {
    /// The interval of checks that ends attempts late by a twentieth of the patience at most, and at
    /// most a thousand times a second.
    pub fn check_every(self) -> Nanos {
        (self.each / 20).max(MILLISECOND)
    }

    /// The next attempt of the user whose attempt ended so now; `None` if the user does not come
    /// back.
    pub fn next(self, ended: Attempt, outcome: Outcome, now: Nanos) -> Option<Attempt> {
        let comes_back = matches!(outcome, Outcome::Failed(_) | Outcome::Abandoned);
        (comes_back && ended.retry < self.retries).then_some(Attempt {
            retry: ended.retry + 1,
            gives_up_at: now + self.each,
            ..ended
        })
    }
}

/// Starts connections when they are due.
pub struct OpenLoop<S> {
    pacing: Pacing,
    patience: Option<Patience>,
    free: Vec<usize>,
    wakeup_lead: WakeupLead,
    /// The session created ahead of the next arrival, and the time that the last creation took.
    ahead: Option<S>,
    making: Nanos,
}

impl<S> OpenLoop<S> {
    /// An open loop with N free slots for these arrivals.
    pub fn new(arrivals: Arrivals, patience: Option<Patience>, slots: usize) -> Self {
        Self {
            pacing: Pacing::new(arrivals),
            patience,
            free: (0..slots).rev().collect(),
            wakeup_lead: WakeupLead::default(),
            ahead: None,
            making: 0,
        }
    }

    /// Starts the measurement at an instant, after N attempts. Arrivals due earlier belong to the
    /// warm-up, except for those that still wait. Returns the number of arrivals waiting by then.
    pub fn start_measurement(&mut self, at: Nanos, attempts: u64, count: Option<u64>) -> u64 {
        self.pacing.look(at);
        let taken = attempts + self.pacing.waiting();
        self.pacing.begin(count.map_or(u64::MAX, |count| count.saturating_sub(taken)))
    }

    /// Ends the measurement of this interval.
    pub fn end_measurement(&mut self, start: Nanos, end: Nanos, recorder: &mut Recorder) {
        recorder.due(self.look(end));
        let arrivals = &mut recorder.arrivals;
        arrivals.waiting_at_stop = self.waiting();
        arrivals.window = end.saturating_sub(start);
    }

    /// True if an arrival is waiting or due.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.pacing.waiting() > 0 || now >= self.pacing.next_due()
    }

    /// Moves the arrivals due before an instant to the queue; returns their number.
    pub fn look(&mut self, before: Nanos) -> u64 {
        self.pacing.look(before)
    }

    /// The number of waiting arrivals.
    pub fn waiting(&self) -> u64 {
        self.pacing.waiting()
    }

    /// The number of arrivals that have begun to wait since the last call.
    pub fn newly_waiting(&mut self) -> u64 {
        self.pacing.newly_waiting()
    }

    /// Takes the arrival that has waited longest; returns its first attempt.
    pub fn take_arrival(&mut self) -> Option<Attempt> {
        let arrived = self.pacing.take()?;
        let patience = self.patience.map_or(Nanos::MAX, |patience| patience.each);
        Some(Attempt { arrived, retry: 0, gives_up_at: arrived.saturating_add(patience) })
    }

    /// Removes the arrivals that have waited for a slot until their patience ended; returns their
    /// number.
    pub fn lose_waiting(&mut self, now: Nanos) -> u64 {
        let Some(Patience { each, .. }) = self.patience else { return 0 };
        let mut lost = 0;
        while self.pacing.oldest().is_some_and(|arrived| arrived + each <= now) {
            self.pacing.take();
            lost += 1;
        }
        lost
    }

    /// Takes a free slot.
    pub fn take_slot(&mut self) -> Option<usize> {
        self.free.pop()
    }

    /// Returns a slot.
    pub fn free(&mut self, slot: usize) {
        self.free.push(slot);
    }

    /// Takes the session created ahead.
    pub fn take_session(&mut self) -> Option<S> {
        self.ahead.take()
    }

    /// Creates the next connection's session, including its key share, if at least twice the time
    /// of the last creation is left. That time depends on the group.
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
            // A failure here is retried, and reported, when the connection is due.
            self.ahead = backend.open().ok();
            self.making = clock.now() - now;
        }
    }

    /// The next arrival; `Nanos::MAX` in a phase that starts no connections.
    #[inline]
    pub fn next_arrival(&self, phase: Phase) -> Nanos {
        if phase < Phase::Drain { self.pacing.next_due() } else { Nanos::MAX }
    }

    /// The earliest possible start of the next connection: now if an arrival waits, never without a
    /// free slot.
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

    /// The instant to wake at for the next arrival.
    pub fn next_wakeup(&self, phase: Phase) -> Nanos {
        self.next_arrival(phase).saturating_sub(self.wakeup_lead.lead())
    }

    /// Records how late the timer woke the worker.
    pub fn woke_late_by(&mut self, late: Nanos) {
        self.wakeup_lead.woke_late_by(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::outcome::Failure;

    #[test]
    fn a_user_comes_back_as_often_as_allowed_and_only_without_an_answer() {
        let patience = Patience { each: 80, retries: 2 };
        let first = Attempt { arrived: 100, retry: 0, gives_up_at: 180 };
        let second = patience.next(first, Outcome::Abandoned, 185).unwrap();
        assert_eq!(second, Attempt { arrived: 100, retry: 1, gives_up_at: 265 });
        let third = patience.next(second, Outcome::Failed(Failure::Refused), 190).unwrap();
        assert_eq!(third, Attempt { arrived: 100, retry: 2, gives_up_at: 270 });
        assert_eq!(patience.next(third, Outcome::Abandoned, 270), None);
        assert_eq!(patience.next(first, Outcome::Completed, 150), None);
    }
}

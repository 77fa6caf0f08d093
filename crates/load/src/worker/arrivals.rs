//! A worker's open loop: who is due goes first (docs/adr/0039).

use super::Worker;
use crate::pacing::Pacing;
use crate::phase::Phase;
use tlslab_system::clock::{Clock, Nanos};
use tlslab_tls::Backend;

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Arrivals due before the measurement belong to the warm-up, but for those that still wait.
    pub(super) fn begin_arrivals(&mut self) {
        let Some(pacing) = &mut self.pacing else { return };
        pacing.look(self.share.schedule.measure);
        let taken = self.recorder.attempts() + pacing.waiting();
        let left = self.share.count.map_or(u64::MAX, |count| count.saturating_sub(taken));
        self.recorder.arrivals.due = pacing.begin(left);
    }

    /// Open loop: starts the connections that are due, in their order, as long as slots are free.
    pub(super) fn admit(&mut self) {
        let Some(pacing) = &mut self.pacing else { return };
        let now = self.clock.now();
        let end = match self.phase {
            Phase::Warmup => self.share.schedule.measure,
            Phase::Measure => self.share.schedule.drain.unwrap_or(Nanos::MAX),
            Phase::Drain | Phase::Done => return,
        };
        if pacing.waiting() == 0 && now < pacing.next_due() {
            return;
        }
        let due = pacing.look(end.min(now + 1));
        while let Some(slot) = self.free.pop() {
            let intended = if self.may_start(slot) { self.take_arrival() } else { None };
            let Some(intended) = intended else {
                self.free.push(slot);
                break;
            };
            self.begin(slot, Some(intended), None);
        }
        if self.phase == Phase::Measure
            && let Some(pacing) = &mut self.pacing
        {
            self.recorder.arrivals.due += due;
            self.recorder.arrivals.blocked += pacing.newly_waiting();
        }
    }

    /// Open loop: makes the next connection's session, key share and all, where twice the time that
    /// the last one took, which depends on the group, is left for it. Where sessions are resumed it is
    /// not known yet which one there will be.
    pub(super) fn prepare(&mut self) {
        if self.pacing.is_some() && self.ahead.is_none() && self.share.mix.is_full() {
            let (next, now) = (self.next_start(), self.clock.now());
            if next != Nanos::MAX && next > now + 2 * self.making {
                // What fails now is tried again, and reported, when the connection is due.
                self.ahead = self.backend.open().ok();
                self.making = self.clock.now() - now;
            }
        }
    }

    fn take_arrival(&mut self) -> Option<Nanos> {
        self.pacing.as_mut().and_then(Pacing::take)
    }

    /// When the next connection is due, in an open loop that still starts any.
    pub(super) fn next_arrival(&self) -> Nanos {
        match &self.pacing {
            Some(pacing) if self.phase < Phase::Drain => pacing.next_due(),
            _ => Nanos::MAX,
        }
    }

    /// When the next connection is to be started that could be: at once where an arrival waits,
    /// never with no slot free.
    pub(super) fn next_start(&self) -> Nanos {
        match &self.pacing {
            Some(_) if self.free.is_empty() => Nanos::MAX,
            Some(pacing) if pacing.waiting() > 0 && self.phase < Phase::Drain => 0,
            _ => self.next_arrival(),
        }
    }
}

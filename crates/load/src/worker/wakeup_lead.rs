//! The lead of a wake-up before an arrival, which covers the time to wake a sleeping thread.

use tlslab_system::clock::{MICROSECOND, Nanos};

/// The longest lead: at 2,000 arrivals a second it costs a sixth of a processor.
const MOST: Nanos = 80 * MICROSECOND;

/// Change of the estimate per wake-up, in nanoseconds: up if the wake-up was late, down otherwise.
/// The estimate settles where 1 wake-up in 20 is late.
const UP: Nanos = 1_900;
const DOWN: Nanos = 100;

/// Learns how late wake-ups are, and sets the timer earlier by that time.
#[derive(Debug, Clone, Copy, Default)]
pub struct WakeupLead {
    lead: Nanos,
}

impl WakeupLead {
    /// The time between the timer and the arrival.
    pub fn lead(self) -> Nanos {
        self.lead
    }

    /// Records how late the timer woke the worker.
    pub fn woke_late_by(&mut self, late: Nanos) {
        self.lead = if late > self.lead {
            (self.lead + UP).min(MOST)
        } else {
            self.lead.saturating_sub(DOWN)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_settles_above_what_awakenings_usually_take() {
        let mut wakeup_lead = WakeupLead::default();
        // Nine of ten wake-ups take 20 microseconds, the tenth takes 40.
        for number in 0..5_000_u32 {
            wakeup_lead.woke_late_by(if number % 10 == 0 { 40_000 } else { 20_000 });
        }
        assert!((20_000..=42_000).contains(&wakeup_lead.lead()), "{wakeup_lead:?}");
    }

    #[test]
    fn a_machine_that_is_busy_elsewhere_does_not_make_the_worker_spin() {
        let mut wakeup_lead = WakeupLead::default();
        (0..1_000).for_each(|_| wakeup_lead.woke_late_by(5_000_000));
        assert_eq!(wakeup_lead.lead(), MOST);
        (0..10_000).for_each(|_| wakeup_lead.woke_late_by(0));
        assert_eq!(wakeup_lead.lead(), 0);
    }
}

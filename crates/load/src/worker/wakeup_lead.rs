//! How early to wake for an arrival: the machine needs time to wake a sleeping thread.

use tlslab_system::clock::{MICROSECOND, Nanos};

/// The longest lead: at 2,000 arrivals a second it costs a sixth of a processor.
const MOST: Nanos = 80 * MICROSECOND;

/// By how much one wake-up moves the estimate, in nanoseconds: up if it came too late, down if it did
/// not. The estimate settles where one in twenty comes too late.
const UP: Nanos = 1_900;
const DOWN: Nanos = 100;

/// Learns how late awakenings are, and how much earlier the alarm has to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct WakeupLead {
    lead: Nanos,
}

impl WakeupLead {
    /// How long before an arrival the alarm goes off.
    pub fn lead(self) -> Nanos {
        self.lead
    }

    /// Notes by how much the alarm woke the worker too late.
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
        // Nine of ten take 20 microseconds, the tenth 40.
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

//! The instants at which a connection continues whatever its socket reports.

use super::Fate;
use tlslab_system::clock::Nanos;

/// The pause before an answer, which simulates work. The worker is given each instant once.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// The instant that the worker was given, until it is over.
    until: Option<Nanos>,
}

impl Pause {
    /// The pause before the answer to a complete request, if it is not over.
    pub fn before_answer(&mut self, now: Nanos, length: Nanos) -> Option<Fate> {
        match self.until {
            None if length == 0 => None,
            None => Some(self.wait_until(now + length)),
            Some(due) if due > now => Some(Fate::Waits),
            Some(_) => {
                self.until = None;
                None
            }
        }
    }

    /// Waits for the socket and for an instant.
    pub fn wait_until(&mut self, due: Nanos) -> Fate {
        let is_known = self.until.replace(due) == Some(due);
        if is_known { Fate::Waits } else { Fate::Pauses(due) }
    }
}

//! The number of received bytes from which on a socket wakes its worker.
//!
//! A server of TLS 1.3 sends session tickets (RFC 8446, section 4.6.1) between the handshake and its
//! response. They come one by one and each wakes the client, which cannot do anything with them yet,
//! and costs the server an interrupt to another processor (docs/adr/0042).
//! SO_RCVLOWAT (socket(7)) has the kernel wake a worker only when there is more than the tickets that
//! earlier connections got; the end of the stream and errors wake it all the same. What a connection
//! notes does not change: its response wakes it as soon as it would have otherwise.

use crate::connection::{Script, Wait};

/// How often the tickets may prove longer than estimated: they come in several packets.
const LESSONS: u32 = 8;

/// Learns how many bytes come before a response.
#[derive(Debug, Clone, Copy)]
pub struct RecvLowWater {
    bytes: u32,
    lessons: u32,
}

impl RecvLowWater {
    /// Learns only where every connection is the same: a full handshake and one request, over
    /// HTTP/1.1. Elsewhere every byte wakes the worker.
    pub fn new(script: &Script, all_full: bool) -> Self {
        let alike = all_full
            && script.requests == Some(1)
            && script.http2.is_none()
            && !script.handshake_only
            && !script.early_data;
        Self { bytes: 1, lessons: if alike { LESSONS } else { 0 } }
    }

    /// N bytes have to be there before the next connection wakes its worker, the server's part
    /// of the handshake and the response alike.
    pub fn bytes(self) -> u32 {
        self.bytes
    }

    /// Notes what a woken connection still has to wait for; the server's part of its handshake had N
    /// bytes (`None` if it was more than one flight). Returns whether every byte must wake this
    /// connection from now on.
    pub fn waits(&mut self, wait: Wait, flight: Option<u64>) -> bool {
        match (wait, flight) {
            (Wait::Start, _) => return false,
            // Another connection may have taught as much since this one began.
            (Wait::Tickets(came), _) if came < u64::from(self.bytes) => {}
            (Wait::Tickets(came), Some(flight)) if self.lessons > 0 && came < flight => {
                self.lessons -= 1;
                self.bytes = u32::try_from(came + 1).unwrap_or(1);
            }
            // A message in several parts, whose last may be as short as it likes.
            _ => self.give_up(),
        }
        true
    }

    /// Notes that a connection has completed with N bytes after the handshake: if they were fewer than
    /// wake its worker, only the check of old connections has found it.
    pub fn completed(&mut self, came: u64) {
        if came < u64::from(self.bytes) {
            self.give_up();
        }
    }

    /// Lets every byte wake the worker, for the rest of the run.
    pub fn give_up(&mut self) {
        (self.bytes, self.lessons) = (1, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> RecvLowWater {
        RecvLowWater { bytes: 1, lessons: LESSONS }
    }

    #[test]
    fn tickets_do_not_wake_once_they_are_known() {
        let mut low_water = fresh();
        assert!(!low_water.waits(Wait::Start, Some(800)));
        assert!(low_water.waits(Wait::Tickets(79), Some(800)));
        assert_eq!(low_water.bytes(), 80);
        assert!(low_water.waits(Wait::Tickets(158), Some(800)));
        assert!(!low_water.waits(Wait::Start, Some(800)));
        low_water.completed(2_400);
        assert_eq!(low_water.bytes(), 159);
        // Those that had begun before are still woken by theirs, and that is no news.
        (0..100).for_each(|_| assert!(low_water.waits(Wait::Tickets(79), Some(800))));
        assert_eq!(low_water.bytes(), 159);
    }

    #[test]
    fn a_message_in_parts_has_every_byte_wake() {
        let mut low_water = fresh();
        low_water.waits(Wait::Tickets(158), Some(800));
        assert!(low_water.waits(Wait::Rest, Some(800)));
        assert_eq!(low_water.bytes(), 1);
        low_water.waits(Wait::Tickets(158), Some(800));
        assert_eq!(low_water.bytes(), 1);
    }

    #[test]
    fn what_is_longer_than_the_handshake_is_not_waited_for() {
        for flight in [None, Some(158)] {
            let mut low_water = fresh();
            low_water.waits(Wait::Tickets(158), flight);
            assert_eq!(low_water.bytes(), 1, "{flight:?}");
        }
    }

    #[test]
    fn a_response_that_would_not_have_woken_ends_it() {
        let mut low_water = fresh();
        low_water.waits(Wait::Tickets(158), Some(800));
        low_water.completed(158);
        assert_eq!(low_water.bytes(), 1);
    }

    #[test]
    fn tickets_without_end_are_not_learnt() {
        let mut low_water = fresh();
        (1..100).for_each(|came| _ = low_water.waits(Wait::Tickets(came), Some(800)));
        assert_eq!(low_water.bytes(), 1);
    }
}

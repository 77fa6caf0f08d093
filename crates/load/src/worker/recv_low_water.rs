//! The number of received bytes at which a socket wakes its worker (SO_RCVLOWAT).
//!
//! A TLS 1.3 server sends session tickets (RFC 8446, section 4.6.1) between the handshake and its
//! response. Each arrives separately and wakes the client, which can do nothing with it yet, and
//! costs the server an interrupt to another processor (docs/adr/0042). With SO_RCVLOWAT (socket(7))
//! the kernel wakes a worker only if more bytes have arrived than the tickets of earlier
//! connections had. The end of the stream and errors wake the worker in any case. The measured
//! times do not change: a response wakes its connection at the same instant as without the option.

use crate::connection::{Script, Wait};
use tlslab_system::socket::Socket;

/// Limit of corrections: how often tickets may be larger than estimated. They arrive in several
/// packets.
const LESSONS: u32 = 8;

/// Learns the number of bytes that precede a response.
#[derive(Debug, Clone, Copy)]
pub struct RecvLowWater {
    bytes: u32,
    lessons: u32,
}

impl RecvLowWater {
    /// Learns only if all connections are alike: a full handshake and one request over HTTP/1.1.
    /// Otherwise every byte wakes the worker.
    pub fn new(script: &Script, all_full: bool) -> Self {
        let alike = all_full
            && script.requests == Some(1)
            && script.http2.is_none()
            && !script.handshake_only
            && !script.early_data;
        Self { bytes: 1, lessons: if alike { LESSONS } else { 0 } }
    }

    /// Sets the low-water mark of the next connection, both for the server's handshake flight and
    /// for the response.
    #[inline]
    pub fn set(&mut self, socket: &mut Socket) {
        self.wake_at(socket, self.bytes);
    }

    /// Makes every byte wake the worker of this connection.
    #[inline]
    pub fn unset(&mut self, socket: &mut Socket) {
        self.wake_at(socket, 1);
    }

    #[inline]
    fn wake_at(&mut self, socket: &mut Socket, bytes: u32) {
        if socket.wake_at(bytes).is_err() {
            self.give_up();
        }
    }

    /// Evaluates what a woken connection still waits for. `flight` is the size of the server's
    /// handshake flight in bytes (`None` if there was more than one flight). Returns whether every
    /// byte must wake this connection from now on.
    pub fn waits(&mut self, wait: Wait, flight: Option<u64>) -> bool {
        match (wait, flight) {
            (Wait::Start, _) => return false,
            // Another connection may have raised the estimate since this one began.
            (Wait::Tickets(came), _) if came < u64::from(self.bytes) => {}
            (Wait::Tickets(came), Some(flight)) if self.lessons > 0 && came < flight => {
                self.lessons -= 1;
                self.bytes = u32::try_from(came + 1).unwrap_or(1);
            }
            // A message in several parts, the last of which may be very short.
            _ => self.give_up(),
        }
        true
    }

    /// Evaluates a completed connection with N bytes after its handshake. Fewer bytes than the
    /// low-water mark mean that only the deadline check found the response.
    pub fn completed(&mut self, came: u64) {
        if came < u64::from(self.bytes) {
            self.give_up();
        }
    }

    /// Makes every byte wake the worker for the rest of the run.
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
        assert_eq!(low_water.bytes, 80);
        assert!(low_water.waits(Wait::Tickets(158), Some(800)));
        assert!(!low_water.waits(Wait::Start, Some(800)));
        low_water.completed(2_400);
        assert_eq!(low_water.bytes, 159);
        // Connections that began earlier are still woken by their tickets, which teaches nothing
        // new.
        (0..100).for_each(|_| assert!(low_water.waits(Wait::Tickets(79), Some(800))));
        assert_eq!(low_water.bytes, 159);
    }

    #[test]
    fn a_message_in_parts_has_every_byte_wake() {
        let mut low_water = fresh();
        low_water.waits(Wait::Tickets(158), Some(800));
        assert!(low_water.waits(Wait::Rest, Some(800)));
        assert_eq!(low_water.bytes, 1);
        low_water.waits(Wait::Tickets(158), Some(800));
        assert_eq!(low_water.bytes, 1);
    }

    #[test]
    fn what_is_longer_than_the_handshake_is_not_waited_for() {
        for flight in [None, Some(158)] {
            let mut low_water = fresh();
            low_water.waits(Wait::Tickets(158), flight);
            assert_eq!(low_water.bytes, 1, "{flight:?}");
        }
    }

    #[test]
    fn a_response_that_would_not_have_woken_ends_it() {
        let mut low_water = fresh();
        low_water.waits(Wait::Tickets(158), Some(800));
        low_water.completed(158);
        assert_eq!(low_water.bytes, 1);
    }

    #[test]
    fn tickets_without_end_are_not_learnt() {
        let mut low_water = fresh();
        (1..100).for_each(|came| _ = low_water.waits(Wait::Tickets(came), Some(800)));
        assert_eq!(low_water.bytes, 1);
    }
}

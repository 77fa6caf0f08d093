//! Peers that send without end.

/// The most bytes that a session receives without getting on, be it to the end of the handshake or to
/// a byte of plaintext: the largest certificate message that is let in, and what goes with it. More is
/// a flood of messages that carry nothing.
pub const FRUITLESS_LIMIT: usize = 192 * 1024;

/// The explanation of such a flood.
pub const FLOOD: &str = "the peer floods the connection with messages that carry nothing";

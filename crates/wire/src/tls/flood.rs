//! The limit for peers that send without end.

/// The most bytes that a session receives without progress, which is the end of the handshake or a byte
/// of plaintext: the largest certificate message that is accepted, and its framing. More is a flood of
/// messages that carry nothing.
pub const FRUITLESS_LIMIT: usize = 192 * 1024;

/// The explanation of such a flood.
pub const FLOOD: &str = "the peer floods the connection with messages that carry nothing";

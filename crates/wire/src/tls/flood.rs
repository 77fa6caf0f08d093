//! The limit for peers that send without making progress.

/// The highest number of bytes that a session receives without progress, which means the end of the
/// handshake or a byte of plaintext: the largest accepted certificate message, and its framing.
/// More is a flood of messages without content.
pub const FRUITLESS_LIMIT: usize = 192 * 1024;

/// The explanation of a flood.
pub const FLOOD: &str = "the peer floods the connection with messages that carry nothing";

//! The two sides of a handshake.

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum Role {
    Client,
    Server,
}

impl Role {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

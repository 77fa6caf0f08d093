//! The context that a worker lends to a connection while it serves the connection.

use tlslab_system::clock::Nanos;

use crate::http::Responder;
use crate::stats::{Shared, WorkerCounts};

/// The pauses and time limits of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// The pause before each response.
    pub pause: Nanos,
    /// The longest silence between two requests.
    pub idle: Nanos,
}

/// The context that a worker lends to a connection while it serves the connection.
pub(crate) struct Context<'a> {
    pub now: Nanos,
    pub timing: Timing,
    pub counts: &'a WorkerCounts,
    pub shared: &'a Shared,
    pub responder: &'a mut Responder,
    /// For bytes as they are received.
    pub received: &'a mut [u8],
    /// A buffer for the head of a response.
    pub plaintext: &'a mut Vec<u8>,
    /// A buffer for a connection's requests. Connections share it, because few hold a request for
    /// long.
    pub spare: &'a mut Vec<u8>,
}

//! The context that a worker lends to the connection that it serves.

use tlslab_system::clock::Nanos;

use crate::http::Responder;
use crate::stats::{Shared, WorkerCounts};

/// The pauses and time limits of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Before each response.
    pub pause: Nanos,
    /// The longest silence between two requests.
    pub idle: Nanos,
}

/// The context that a worker lends to the connection that it serves.
pub(crate) struct Context<'a> {
    pub now: Nanos,
    pub timing: Timing,
    pub counts: &'a WorkerCounts,
    pub shared: &'a Shared,
    pub responder: &'a mut Responder,
    /// For bytes as they are received.
    pub received: &'a mut [u8],
    /// For a response's head.
    pub plaintext: &'a mut Vec<u8>,
    /// For a connection's requests; it goes from one to the next, since few hold any for long.
    pub spare: &'a mut Vec<u8>,
}

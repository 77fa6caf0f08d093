//! A turn of a connection: what its worker lends it, and what it waits for at the end.

use super::script::Script;
use crate::recorder::Recorder;
use tlslab_system::clock::Nanos;
use tlslab_wire::outcome::Outcome;

/// What a connection is waiting for, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// For the socket to become readable.
    Read,
    /// For the socket to become writable; or, where it is, for its next turn.
    Write,
    /// For the instant at which its next request may be sent.
    Think(Nanos),
    /// For nothing: the connection has ended.
    Ended(Outcome),
}

/// The part of a server's next message that has arrived when a connection has to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Start,
    /// N bytes, of which none is of the response: session tickets.
    Tickets(u64),
    /// A part.
    Rest,
}

/// What a worker lends its connections while they run.
pub struct Context<'w, C> {
    /// What to do.
    pub script: &'w Script,
    /// The time.
    pub clock: &'w C,
    /// Where to note requests and connections; `None` while nothing is counted.
    pub recorder: Option<&'w mut Recorder>,
    /// Room for decrypted bytes.
    pub plaintext: &'w mut [u8],
    /// When something is due for which a handshake stops half-way; `Nanos::MAX` for nothing.
    pub urgent_at: Nanos,
    /// The run is over: a connection with as many requests as fit ends with those under way.
    pub draining: bool,
}

impl<'w, C> Context<'w, C> {
    /// The context of a connection that is not counted, and for which nothing waits.
    pub fn uncounted(script: &'w Script, clock: &'w C, plaintext: &'w mut [u8]) -> Self {
        Self { script, clock, recorder: None, plaintext, urgent_at: Nanos::MAX, draining: false }
    }
}

/// The outcome of one state's function: go on in the next state, or stop here.
pub enum Next {
    Go,
    Stop(Turn),
}

//! A turn of a connection: the context that it borrows from its worker, and the event that it waits
//! for at the end.

use super::script::Script;
use crate::recorder::Recorder;
use tlslab_system::clock::Nanos;
use tlslab_wire::outcome::Outcome;

/// The event that a connection waits for, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The socket becomes readable.
    Read,
    /// The socket becomes writable. If it already is: the connection's next turn.
    Write,
    /// The instant at which the next request may be sent.
    Think(Nanos),
    /// No event: the connection has ended.
    Ended(Outcome),
}

/// How much of the server's next message has arrived when a connection has to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Start,
    /// N bytes, none of them of the response: session tickets.
    Tickets(u64),
    /// A part of the message.
    Rest,
}

/// The context that connections borrow from their worker while they run.
pub struct Context<'w, C> {
    /// The steps of the connection.
    pub script: &'w Script,
    /// The source of the time.
    pub clock: &'w C,
    /// The recorder of requests and connections; `None` while nothing is counted.
    pub recorder: Option<&'w mut Recorder>,
    /// Buffer for decrypted bytes.
    pub plaintext: &'w mut [u8],
    /// The instant of the next urgent work, for which a handshake stops half-way; `Nanos::MAX` if
    /// there is none.
    pub urgent_at: Nanos,
    /// Whether the run drains. A connection with unlimited requests then ends after those in
    /// flight.
    pub draining: bool,
}

impl<'w, C> Context<'w, C> {
    /// The context of a connection that is not counted and stops for no urgent work.
    pub fn uncounted(script: &'w Script, clock: &'w C, plaintext: &'w mut [u8]) -> Self {
        Self { script, clock, recorder: None, plaintext, urgent_at: Nanos::MAX, draining: false }
    }
}

/// The result of a state's function: continue in the next state, or stop here.
pub enum Next {
    Go,
    Stop(Turn),
}

//! One handshake: flights back and forth until neither side has more to send.
//!
//! The functions named `client_...` and `server_...` are never inlined and contain all work of
//! their side, so that a simulator can count each side's instructions by function name. Each marks
//! its side for the compiler, which would otherwise merge two identical functions.

use std::hint::black_box;

use super::buffer::Buffer;
use super::library::{HandshakeError, Library, Seen, Side};
use super::role::Role;
use super::settings::Settings;
use tlslab_system::clock::{Clock, Nanos, ThreadClock};
use tlslab_wire::outcome::Mismatch;

/// The highest number of flights of a handshake that are counted separately.
pub const FLIGHTS_LIMIT: usize = 8;

/// Flights of a TLS 1.3 handshake without HelloRetryRequest: ClientHello, server flight, Finished,
/// tickets.
const FLIGHTS_OF_TLS13: usize = 4;

/// The buffers of a thread's handshakes.
#[derive(Debug)]
pub struct Buffers {
    to_server: Buffer,
    to_client: Buffer,
    /// The lengths of the last handshake's flights in bytes, the client's first.
    pub flights: [u32; FLIGHTS_LIMIT],
}

impl Buffers {
    /// Empty buffers.
    pub fn new() -> Self {
        Self { to_server: Buffer::new(), to_client: Buffer::new(), flights: [0; FLIGHTS_LIMIT] }
    }
}

/// Called at the end of a side's turn.
pub trait Watch {
    /// The turn of this side has ended.
    fn turn(&mut self, role: Role);
}

/// Ignores all turns, at no cost.
#[derive(Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn turn(&mut self, _: Role) {}
}

/// Adds up the processor time of each side.
#[derive(Debug, Default)]
pub struct SideTimes {
    last: Nanos,
    /// Nanoseconds of the client, and of the server.
    pub times: [Nanos; 2],
    /// Number of clock readings within the time of each side.
    pub readings: [u64; 2],
}

impl SideTimes {
    /// Starts the time of the next turn.
    pub fn begin(&mut self) {
        self.last = ThreadClock.now();
    }
}

impl Watch for SideTimes {
    fn turn(&mut self, role: Role) {
        let now = ThreadClock.now();
        self.times[role as usize] += now - self.last;
        self.readings[role as usize] += 1;
        self.last = now;
    }
}

/// The sessions of both sides after their handshake.
#[derive(Debug)]
pub struct Pair<C, S> {
    /// The client's session.
    pub client: C,
    /// The server's session.
    pub server: S,
}

/// Makes a handshake.
pub fn exchange<L: Library>(
    library: &mut L,
    buffers: &mut Buffers,
    watch: &mut impl Watch,
) -> Result<Pair<L::Client, L::Server>, HandshakeError> {
    let Buffers { to_server, to_client, flights } = buffers;
    to_server.clear();
    to_client.clear();
    *flights = [0; FLIGHTS_LIMIT];
    let mut flights = flights.iter_mut();
    let mut note = |length: usize| flights.next().map(|flight| *flight = length as u32);
    let mut client = client_open(library)?;
    watch.turn(Role::Client);
    let mut server = server_open(library)?;
    watch.turn(Role::Server);
    loop {
        client_step(&mut client, to_client, to_server)?;
        watch.turn(Role::Client);
        if to_server.is_empty() || note(to_server.len()).is_none() {
            break;
        }
        server_step(&mut server, to_server, to_client)?;
        watch.turn(Role::Server);
        if to_client.is_empty() || note(to_client.len()).is_none() {
            break;
        }
    }
    match (client.is_done(), server.is_done()) {
        (true, true) => Ok(Pair { client, server }),
        (false, _) => Err(unfinished(Role::Client)),
        (_, false) => Err(unfinished(Role::Server)),
    }
}

fn unfinished(side: Role) -> HandshakeError {
    HandshakeError {
        side,
        message: "it has no more to say, and the handshake is not complete".to_owned(),
    }
}

impl<C: Side, S: Side> Pair<C, S> {
    /// Compares the facts on both sides with the settings.
    pub fn mismatch(
        &self,
        settings: &Settings,
        resumed: bool,
        buffers: &Buffers,
    ) -> Option<Mismatch> {
        let flights = buffers.flights.iter().filter(|bytes| **bytes > 0).count();
        let retried = settings.is_tls13() && flights > FLIGHTS_OF_TLS13;
        let seen = |side: Seen, role| side.mismatch(&Seen::expected(settings, role, resumed));
        seen(self.client.seen(), Role::Client)
            .or_else(|| seen(self.server.seen(), Role::Server))
            .or(retried.then_some(Mismatch::HelloRetryRequest))
    }

    /// Frees both sessions.
    pub fn close(self, watch: &mut impl Watch) {
        client_close(self.client);
        watch.turn(Role::Client);
        server_close(self.server);
        watch.turn(Role::Server);
    }
}

#[inline(never)]
fn client_open<L: Library>(library: &mut L) -> Result<L::Client, HandshakeError> {
    library.client()
}

#[inline(never)]
fn server_open<L: Library>(library: &mut L) -> Result<L::Server, HandshakeError> {
    library.server()
}

#[inline(never)]
fn client_step(
    client: &mut impl Side,
    incoming: &mut Buffer,
    outgoing: &mut Buffer,
) -> Result<(), HandshakeError> {
    black_box(Role::Client);
    client.advance(incoming, outgoing)
}

#[inline(never)]
fn server_step(
    server: &mut impl Side,
    incoming: &mut Buffer,
    outgoing: &mut Buffer,
) -> Result<(), HandshakeError> {
    black_box(Role::Server);
    server.advance(incoming, outgoing)
}

#[inline(never)]
fn client_close(client: impl Side) {
    black_box(Role::Client);
    drop(client);
}

#[inline(never)]
fn server_close(server: impl Side) {
    black_box(Role::Server);
    drop(server);
}

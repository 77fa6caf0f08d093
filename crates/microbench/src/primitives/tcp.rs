//! The bare TCP connection over loopback: alone, and with one request.
//!
//! Many connections are in flight over a poller, as in a load. The other end is the program's own
//! listener, on a separate thread, or a plain HTTP server that the user names.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use self::listener::Listener;
use super::operation::primitive;
use super::record::{Primitive, PrimitivesSpec};
use tlslab_system::clock::{Clock, ThreadClock};
use tlslab_system::socket::Socket;
use tlslab_wire::outcome::Failure;

mod listener;

/// The algorithm's name in records.
pub const TCP: &str = "TCP";

/// The default length of the response in bytes: a small document with its head.
pub const RESPONSE_BYTES: u32 = 2048;

/// The backend's name in records.
const KERNEL: &str = "kernel";

/// Connections in flight, as in `make bench`.
const IN_FLIGHT: usize = 50;

/// Connections per burst. After a burst the server gets time to empty its accept queue (of 4,096).
const BURST: usize = 500;

/// The pause after a burst.
const REST: Duration = Duration::from_millis(10);

/// The longest time of a TCP connection on loopback; a longer one counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request as a load generator sends it.
const REQUEST: &[u8] =
    b"GET /document HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n";

/// The lowest number of rounds of bursts.
const ROUNDS: usize = 3;

/// Measures the three operations.
pub fn measure(
    spec: &PrimitivesSpec,
    time: Duration,
    interrupt: &AtomicBool,
) -> io::Result<Vec<Primitive>> {
    let listener = match spec.plain {
        Some(_) => None,
        None => Some(Listener::start(spec.response_bytes, spec.cpu)?),
    };
    let address = spec.plain.or(listener.as_ref().map(Listener::address));
    let address = address.expect("one of the two is there");
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    let begun = Instant::now();
    // The operations are interleaved, as all others.
    while (begun.elapsed() < 3 * time || rounds[0].len() < ROUNDS)
        && !interrupt.load(Ordering::Relaxed)
    {
        rounds[0].push(burst(address, None)?);
        std::thread::sleep(REST);
        let served = listener.as_ref().map(Listener::cpu_ns);
        rounds[1].push(burst(address, Some(REQUEST))?);
        std::thread::sleep(REST);
        if let (Some(before), Some(listener)) = (served, &listener) {
            rounds[2].push((listener.cpu_ns() - before) as f64 / BURST as f64 / 1000.0);
        }
    }
    let calls = (rounds[0].len() * BURST) as u64;
    let operations = ["connect", "request", "serve"].into_iter().zip(rounds);
    Ok(operations
        .filter_map(|(name, rounds)| {
            let bytes = (name != "connect").then_some(spec.response_bytes);
            primitive(KERNEL, TCP, name, bytes.filter(|_| spec.plain.is_none()), rounds, calls)
        })
        .collect())
}

/// Makes connections, non-blocking and over a poller. Returns the processor time per connection in
/// microseconds.
fn burst(address: SocketAddr, request: Option<&'static [u8]>) -> io::Result<f64> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(IN_FLIGHT);
    let mut room = vec![0; 64 * 1024];
    let begun = ThreadClock.now();
    let mut sockets: Vec<Option<Socket>> =
        (0..IN_FLIGHT).map(|slot| open(&poll, address, slot)).collect::<Result<_, _>>()?;
    let (mut opened, mut ended) = (IN_FLIGHT, 0);
    while ended < BURST {
        poll.poll(&mut events, Some(PATIENCE))?;
        if events.is_empty() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the plain port does not answer"));
        }
        for event in &events {
            let slot = event.token().0;
            let Some(socket) = &mut sockets[slot] else { continue };
            if event.is_readable() {
                socket.became_readable(event.is_read_closed());
            }
            if !carry_on(socket, event.is_writable(), request, &mut room)? {
                continue;
            }
            ended += 1;
            sockets[slot] = None;
            if opened < BURST {
                sockets[slot] = open(&poll, address, slot)?;
                opened += 1;
            }
        }
    }
    Ok((ThreadClock.now() - begun) as f64 / BURST as f64 / 1000.0)
}

fn open(poll: &Poll, address: SocketAddr, slot: usize) -> io::Result<Option<Socket>> {
    let socket = Socket::connect(address).map_err(failed)?;
    let fd = socket.as_raw_fd();
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut SourceFd(&fd), Token(slot), interest)?;
    Ok(Some(socket))
}

fn failed(failure: Failure) -> io::Error {
    io::Error::other(failure.to_string())
}

/// True if the connection is complete.
fn carry_on(
    socket: &mut Socket,
    writable: bool,
    request: Option<&'static [u8]>,
    room: &mut [u8],
) -> io::Result<bool> {
    if socket.sent == 0 && writable {
        if let Some(failure) = socket.connect_error() {
            return Err(failed(failure));
        }
        let Some(request) = request else { return Ok(true) };
        // The buffer of a new socket accepts the whole request.
        socket.send(request)?;
    }
    // The server ends the connection after its response.
    while let Some(length) = socket.receive(room)? {
        if length == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_makes_all_its_connections_with_and_without_a_request() {
        let listener = Listener::start(1000, None).unwrap();
        for request in [None, Some(REQUEST)] {
            assert!(burst(listener.address(), request).unwrap() > 0.0);
        }
        assert!(listener.served() >= BURST as u64, "{}", listener.served());
    }

    #[test]
    fn a_port_where_nobody_listens_is_an_error() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(burst(free, None).is_err());
    }
}

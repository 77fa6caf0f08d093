//! The bare TCP connection over loopback: alone, with one request, and a request on an open one.
//!
//! Many connections are in flight over a poller, as in a load. The other end is the program's own
//! listener, on a separate thread, or a plain HTTP server that the user names.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::event::Event;
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

/// A request on a connection that stays open.
const KEPT_REQUEST: &[u8] = b"GET /document HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";

/// Requests per burst on connections that stay open, and the number of these connections. Large
/// responses in flight on many more would not fit into the processor's cache.
const KEPT_BURST: usize = 4000;
const KEPT_IN_FLIGHT: usize = 16;

/// The lowest number of rounds of bursts.
const ROUNDS: usize = 3;

/// Measures the operations; `exchange` needs a server that the user names.
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
    let mut rounds = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
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
        if spec.plain.is_some() {
            rounds[3].push(exchanges(address)?);
        }
    }
    let bursts = rounds[0].len() as u64;
    let operations = ["connect", "request", "serve", "exchange"].into_iter().zip(rounds);
    Ok(operations
        .filter_map(|(name, rounds)| {
            let bytes = (name != "connect").then_some(spec.response_bytes);
            let each = if name == "exchange" { KEPT_BURST } else { BURST };
            let calls = bursts * each as u64;
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
        wait(&mut poll, &mut events)?;
        for event in &events {
            let slot = event.token().0;
            let Some(socket) = &mut sockets[slot] else { continue };
            note_readable(socket, event);
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

/// Makes requests, one at a time, on each of the connections in flight, which stay open. Returns
/// the processor time per request in microseconds, without that of the connections.
fn exchanges(address: SocketAddr) -> io::Result<f64> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(KEPT_IN_FLIGHT);
    let mut room = vec![0; 64 * 1024];
    let mut sockets: Vec<Option<Socket>> =
        (0..KEPT_IN_FLIGHT).map(|slot| open(&poll, address, slot)).collect::<Result<_, _>>()?;
    // What is still to come of each response; zero once per connection before the first request.
    let mut left = [0_usize; KEPT_IN_FLIGHT];
    let (mut length, mut begun) = (None, 0);
    let (mut connected, mut answered, mut asked) = (0, 0, 0);
    while answered < KEPT_BURST {
        wait(&mut poll, &mut events)?;
        for event in &events {
            let slot = event.token().0;
            let Some(socket) = &mut sockets[slot] else { continue };
            note_readable(socket, event);
            if socket.sent == 0 {
                if !event.is_writable() {
                    continue;
                }
                if let Some(failure) = socket.connect_error() {
                    return Err(failed(failure));
                }
                connected += 1;
                // The first connection shows the length of the response; the time begins when all
                // are connected and the first request of each is on its way.
                socket.send(KEPT_REQUEST)?;
                asked += 1;
                if connected == KEPT_IN_FLIGHT {
                    begun = ThreadClock.now();
                    answered = 0;
                    asked = KEPT_IN_FLIGHT;
                }
            }
            for _ in 0..take_responses(socket, &mut left[slot], &mut length, &mut room)? {
                answered += 1;
                if asked < KEPT_BURST {
                    asked += 1;
                    socket.send(KEPT_REQUEST)?;
                }
            }
        }
    }
    Ok((ThreadClock.now() - begun) as f64 / KEPT_BURST as f64 / 1000.0)
}

/// Receives what has arrived of responses; returns how many are complete. `left` is what is still to
/// come of the current one, `length` that of each, once known.
fn take_responses(
    socket: &mut Socket,
    left: &mut usize,
    length: &mut Option<usize>,
    room: &mut [u8],
) -> io::Result<usize> {
    let mut complete = 0;
    while let Some(received) = socket.receive(room)? {
        if received == 0 {
            let ended = "the plain server ends connections after a response";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, ended));
        }
        let whole = match *length {
            Some(whole) => whole,
            None => *length.insert(response_length(&room[..received])?),
        };
        if *left == 0 {
            *left = whole;
        }
        *left = left.saturating_sub(received);
        complete += usize::from(*left == 0);
    }
    Ok(complete)
}

/// The length of a response in bytes, by its head.
fn response_length(start: &[u8]) -> io::Result<usize> {
    let text = String::from_utf8_lossy(start);
    let head = text.split_once("\r\n\r\n").map(|(head, _)| head);
    let body = head.and_then(|head| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let named = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        named.filter_map(|(_, value)| value.trim().parse::<usize>().ok()).next()
    });
    let (Some(head), Some(body)) = (head, body) else {
        let lacking = "the plain server's response has no Content-Length";
        return Err(io::Error::new(io::ErrorKind::InvalidData, lacking));
    };
    Ok(head.len() + 4 + body)
}

fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    poll.poll(events, Some(PATIENCE))?;
    if events.is_empty() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the plain port does not answer"));
    }
    Ok(())
}

fn note_readable(socket: &mut Socket, event: &Event) {
    if event.is_readable() {
        socket.became_readable(event.is_read_closed());
    }
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
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_burst_makes_all_its_connections_with_and_without_a_request() {
        let listener = Listener::start(1000, None).unwrap();
        for request in [None, Some(REQUEST)] {
            assert!(burst(listener.address(), request).unwrap() > 0.0);
        }
        assert!(listener.served() >= BURST as u64, "{}", listener.served());
    }

    /// A plain server that answers every request on a connection, on a thread for each connection.
    fn keeping(response: &'static [u8]) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for connection in listener.incoming().take(KEPT_IN_FLIGHT) {
                let mut connection = connection.unwrap();
                std::thread::spawn(move || {
                    let mut room = [0; 1024];
                    while connection.read(&mut room).is_ok_and(|length| length > 0) {
                        let _ = connection.write_all(response);
                    }
                });
            }
        });
        address
    }

    #[test]
    fn requests_are_made_on_connections_that_stay_open() {
        let address = keeping(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc");
        assert!(exchanges(address).unwrap() > 0.0);
    }

    #[test]
    fn a_server_without_a_length_or_without_patience_is_an_error() {
        let error = exchanges(keeping(b"HTTP/1.1 200 OK\r\n\r\nabc")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let closing = Listener::start(1000, None).unwrap();
        assert!(exchanges(closing.address()).is_err());
    }

    #[test]
    fn the_length_of_a_response_is_that_of_head_and_body() {
        let response = b"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 2048\r\n\r\nbody";
        assert_eq!(response_length(response).unwrap(), 52 + 2048);
        assert!(response_length(b"HTTP/1.1 200 OK\r\n").is_err());
    }

    #[test]
    fn a_port_where_nobody_listens_is_an_error() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(burst(free, None).is_err());
    }
}

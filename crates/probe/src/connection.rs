//! The connections of a probe: few, one after the other, limited in time and size.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tlslab_system::socket;
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::starttls::{Dialogue, Service, Turn};
use tlslab_wire::tls::answer::{Answer, Flight, Refusal};
use tlslab_wire::tls::server_flight::Reader;

/// The limits of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The highest number of connections in total.
    pub connections: u32,
    /// Connections a second; `None`: each starts as soon as the one before has ended.
    pub rate: Option<u32>,
    /// The longest time of a connection.
    pub each: Duration,
    /// The longest time of all connections together.
    pub all: Duration,
}

/// The reason why a probe ends early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The limit of connections is reached.
    #[error("the limit of {0} connections was reached")]
    Connections(u32),
    /// The limit of time is reached.
    #[error("the limit of {0:?} was reached")]
    Time(Duration),
    /// A connection failed.
    #[error("connection {number} failed: {failure}")]
    Connect {
        /// The number of the connection, from 1.
        number: u32,
        /// The failure.
        failure: Failure,
    },
    /// A connection did not come to TLS by STARTTLS.
    #[error("connection {number} came to no TLS: the server {refusal}")]
    StartTls {
        /// The number of the connection, from 1.
        number: u32,
        /// The service that was asked.
        service: Service,
        /// The server's behaviour instead.
        refusal: Refusal,
    },
}

/// The highest number of bytes received on one connection: a first flight, or a handshake and a
/// response.
const RECEIVE_LIMIT: u64 = 1024 * 1024;

/// Makes the connections of a probe.
#[derive(Debug)]
pub struct Connector {
    address: SocketAddr,
    /// The service that begins in plain text; `None`: TLS begins at once.
    starttls: Option<Service>,
    limits: Limits,
    began: Instant,
    /// The earliest start of the next connection.
    due: Instant,
    /// Connections made.
    pub connections: u32,
}

impl Connector {
    /// A connector without connections.
    pub fn new(address: SocketAddr, starttls: Option<Service>, limits: Limits) -> Self {
        let now = Instant::now();
        Self { address, starttls, limits, began: now, due: now, connections: 0 }
    }

    /// The service that begins in plain text; `None`: TLS begins at once.
    pub fn starttls(&self) -> Option<Service> {
        self.starttls
    }

    /// The time since the first connection.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The longest time of a connection.
    pub fn each(&self) -> Duration {
        self.limits.each
    }

    /// True if the limit of all connections has this much time left.
    pub fn has_left(&self, time: Duration) -> bool {
        self.elapsed() + time < self.limits.all
    }

    /// An error if a connection ended at the limit of all connections, and not at its own.
    pub fn check_time(&self) -> Result<(), Stop> {
        if self.has_left(MOMENT) { Ok(()) } else { Err(Stop::Time(self.limits.all)) }
    }

    /// Makes a connection as soon as the rate allows, which lasts this long at most. With STARTTLS,
    /// the time counts once until TLS begins, and once more from then on.
    pub fn connect(&mut self, longest: Duration) -> Result<ProbeConnection, Stop> {
        if self.connections == self.limits.connections {
            return Err(Stop::Connections(self.connections));
        }
        let end = self.began + self.limits.all;
        if self.due.max(Instant::now()) >= end {
            return Err(Stop::Time(self.limits.all));
        }
        std::thread::sleep(self.due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        self.due =
            now + self.limits.rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate);
        self.connections += 1;
        let deadline = (now + longest).min(end);
        let number = self.connections;
        let connected = ProbeConnection::connect(self.address, deadline, end, self.limits.each);
        let mut connection = match connected {
            Ok(connection) => connection,
            Err(failure) => {
                if failure == Failure::TimedOut(Step::Connect) {
                    self.check_time()?;
                }
                return Err(Stop::Connect { number, failure });
            }
        };
        if let Some(service) = self.starttls {
            match connection.turn_to_tls(service) {
                Ok(()) => connection.deadline = (Instant::now() + longest).min(end),
                Err(mut refusal) => {
                    if refusal.is_silence() {
                        self.check_time()?;
                        refusal = Refusal::silence_of(&[longest]);
                    }
                    return Err(Stop::StartTls { number, service, refusal });
                }
            }
        }
        Ok(connection)
    }
}

/// One connection. Every call ends by the connection's deadline. Dropping the connection resets it,
/// which leaves no state on either side.
#[derive(Debug)]
pub struct ProbeConnection {
    stream: TcpStream,
    deadline: Instant,
    /// The end of all connections.
    end: Instant,
    /// The longest time of a wait.
    each: Duration,
    received: u64,
    reader: Reader,
}

impl ProbeConnection {
    fn connect(
        address: SocketAddr,
        deadline: Instant,
        end: Instant,
        each: Duration,
    ) -> Result<Self, Failure> {
        let failed = |e: io::Error| match e.kind() {
            ErrorKind::TimedOut => Failure::TimedOut(Step::Connect),
            _ => socket::failure(&e, Step::Connect),
        };
        let left = deadline.saturating_duration_since(Instant::now()).max(MOMENT);
        let stream = TcpStream::connect_timeout(&address, left).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).map_err(failed)?;
        Ok(Self { stream, deadline, end, each, received: 0, reader: Reader::default() })
    }

    /// Speaks the dialogue of a service until TLS begins.
    fn turn_to_tls(&mut self, service: Service) -> Result<(), Refusal> {
        let client = self.stream.local_addr().map_err(|error| refusal(&error))?.ip();
        let mut dialogue = Dialogue::new(service, client);
        let mut turn = dialogue.first_turn();
        let mut buffer = [0; 4096];
        loop {
            match turn {
                Turn::Begin => return Ok(()),
                Turn::Send(bytes) => self.write_all(&bytes).map_err(|error| refusal(&error))?,
                Turn::Wait => {}
            }
            turn = match self.read(&mut buffer) {
                Ok(0) => return Err(Refusal::failure(CLOSED)),
                Ok(length) => dialogue.feed(&buffer[..length])?,
                Err(error) => return Err(refusal(&error)),
            };
        }
    }

    /// Ends the connection this time from now, or after the time of a whole connection, if that is
    /// shorter. Returns the time.
    pub fn wait(&mut self, time: Duration) -> Duration {
        let time = time.min(self.each);
        self.deadline = (Instant::now() + time).min(self.end);
        time
    }

    /// Closes the connection with a FIN instead, and waits until the peer has seen it.
    pub fn part(&mut self) -> io::Result<()> {
        socket2::SockRef::from(&self.stream).set_linger(None)?;
        self.stream.shutdown(Shutdown::Write)?;
        let mut rest = [0; 4096];
        while self.read(&mut rest)? > 0 {}
        Ok(())
    }

    /// The remaining time; an error if there is none.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < MOMENT { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    /// Sends a ClientHello and reads the answer.
    pub fn ask(&mut self, hello: &[u8]) -> Result<Flight, Refusal> {
        let mut buffer = [0; 16 * 1024];
        let written = self.send(hello);
        loop {
            match self.read(&mut buffer) {
                // A server may have answered before it ended the connection.
                Ok(0) => {
                    let closed = Refusal::failure(CLOSED);
                    return Err(written.as_ref().err().map_or(closed, refusal));
                }
                Ok(length) => match self.reader.feed(&buffer[..length]) {
                    Some(Answer::Flight(flight)) => return Ok(*flight),
                    Some(Answer::Refused(refusal)) => return Err(refusal),
                    None => {}
                },
                Err(error) => return Err(refusal(&error)),
            }
        }
    }

    /// Sends a ClientHello in segments, as it arrives from another host. Loopback would deliver it
    /// in one piece.
    fn send(&mut self, hello: &[u8]) -> io::Result<()> {
        for (number, segment) in hello.chunks(SEGMENT).enumerate() {
            if number > 0 {
                std::thread::sleep(BETWEEN_SEGMENTS);
            }
            self.write_all(segment)?;
        }
        Ok(())
    }
}

/// The bytes of a segment: those of a packet on Ethernet, less the headers of IP and TCP with room for
/// their options.
pub const SEGMENT: usize = 1_400;

/// The pause between segments. A server that reads once does not get the second one with the first.
const BETWEEN_SEGMENTS: Duration = Duration::from_millis(10);

/// The shortest usable time: timers of the system are not finer.
const MOMENT: Duration = Duration::from_millis(1);

const CLOSED: Failure = Failure::Closed(Step::Handshake);

/// The refusal that corresponds to an error on a connection.
pub fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Refusal::silence(),
        ErrorKind::FileTooLarge => Refusal::not_tls("sent more than any handshake needs"),
        ErrorKind::UnexpectedEof => Refusal::failure(CLOSED),
        _ => Refusal::failure(socket::failure(error, Step::Handshake)),
    }
}

impl Read for ProbeConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.received > RECEIVE_LIMIT {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.stream.set_read_timeout(Some(self.left()?))?;
        let length = match self.stream.read(buffer) {
            // The system reports a time-out as WouldBlock, which a caller would take as a request
            // to retry.
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            other => other?,
        };
        self.received += length as u64;
        Ok(length)
    }
}

impl Write for ProbeConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        match self.stream.write(bytes) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

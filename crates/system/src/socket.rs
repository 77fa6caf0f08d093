//! The non-blocking TCP socket of a connection: counts its bytes, classifies its errors.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Type};

use tlslab_wire::outcome::{Failure, Step};

/// The length of a ChangeCipherSpec record. In TLS 1.3 a client sends one while the server's flight
/// is arriving (RFC 8446, appendix D.4); it asks for no answer. Every flight is longer.
const CHANGE_CIPHER_SPEC: usize = 6;

/// A connection's TCP socket, in non-blocking mode.
///
/// Dropping the socket resets the connection (SO_LINGER 0), unless [`Socket::end_with_fin`] was
/// called. A reset leaves no TIME_WAIT, with which a generator would run out of local ports after
/// some 28,000 connections. A connection is dropped only after the server's answer was seen, so the
/// reset hides no failure.
#[derive(Debug)]
pub struct Socket {
    socket: socket2::Socket,
    /// Payload bytes sent so far.
    pub sent: u64,
    /// Payload bytes received so far.
    pub received: u64,
    /// Flights of the peer so far that followed a flight of this side: the round trips since the
    /// connection was established. A flight that arrives in pieces counts once.
    pub answers: u8,
    /// Whether a flight was sent since the last bytes arrived.
    has_asked: bool,
    /// Whether nothing is left to receive until the poller reports the socket again.
    drained: bool,
    /// Whether the poller has reported the end of the stream after the bytes left to receive.
    ended: bool,
    /// See [`Socket::wake_at`].
    wakes_at: u32,
    /// Whether dropping the socket resets the connection.
    resets: bool,
}

impl Socket {
    /// Opens a socket and starts to connect it.
    pub fn connect(address: SocketAddr) -> Result<Self, Failure> {
        Self::connect_from(None, address)
    }

    /// As [`Socket::connect`], from one of this machine's addresses, if given. The port is chosen
    /// when the other end is known, so that each pair of addresses has all ports
    /// (IP_BIND_ADDRESS_NO_PORT).
    pub fn connect_from(source: Option<IpAddr>, address: SocketAddr) -> Result<Self, Failure> {
        let socket = socket2::Socket::new(
            Domain::for_address(address),
            Type::STREAM.nonblocking(),
            Some(Protocol::TCP),
        )
        .map_err(|e| failure(&e, Step::Connect))?;
        let set_up = || {
            socket.set_linger(Some(Duration::ZERO))?;
            socket.set_tcp_nodelay(true)?;
            source.map_or(Ok(()), |source| {
                choose_port_late(&socket)?;
                socket.bind(&SocketAddr::new(source, 0).into())
            })
        };
        set_up().map_err(|e: io::Error| failure(&e, Step::Connect))?;
        Self::begin(socket, address, 1)
    }

    /// Resets the connection, as dropping the socket would, and starts the next one on the same
    /// socket. The peer sees the same, from a new local port; this machine saves the creation of a
    /// socket and its registration with the poller.
    pub fn connect_again(self, address: SocketAddr) -> Result<Self, Failure> {
        // SAFETY: an address of the family AF_UNSPEC consists of its family only, which is set.
        let (_, nowhere) = unsafe {
            SockAddr::try_init(|storage, length| {
                (*storage.cast::<libc::sockaddr>()).sa_family =
                    libc::AF_UNSPEC as libc::sa_family_t;
                *length = size_of::<libc::sockaddr>() as libc::socklen_t;
                Ok(())
            })
        }
        .map_err(|e| failure(&e, Step::Connect))?;
        self.socket.connect(&nowhere).map_err(|e| failure(&e, Step::Connect))?;
        Self::begin(self.socket, address, self.wakes_at)
    }

    fn begin(socket: socket2::Socket, address: SocketAddr, wakes_at: u32) -> Result<Self, Failure> {
        match socket.connect(&address.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(failure(&e, Step::Connect))
            }
            _ => Ok(Self {
                socket,
                sent: 0,
                received: 0,
                answers: 0,
                has_asked: false,
                drained: true,
                ended: false,
                wakes_at,
                resets: true,
            }),
        }
    }

    /// The failure of the connect, once the socket is writable; `None` if it is established.
    pub fn connect_error(&self) -> Option<Failure> {
        match self.socket.take_error() {
            Ok(None) => None,
            Ok(Some(e)) | Err(e) => Some(failure(&e, Step::Connect)),
        }
    }

    /// True if the connection is established: the peer's address is known.
    pub fn is_established(&self) -> bool {
        self.socket.peer_addr().is_ok()
    }

    /// The local TCP port; 0 without one.
    pub fn local_port(&self) -> u16 {
        let address = self.socket.local_addr().ok().and_then(|address| address.as_socket());
        address.map_or(0, |address| address.port())
    }

    /// Makes the poller report the socket as readable only at N bytes (SO_RCVLOWAT), at the end of
    /// the stream, or at an error. Also applies to later connections of this socket. Initially 1
    /// byte.
    pub fn wake_at(&mut self, bytes: u32) -> io::Result<()> {
        if bytes == self.wakes_at {
            return Ok(());
        }
        let least = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        set_option(&self.socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, least)?;
        self.wakes_at = bytes;
        Ok(())
    }

    /// Notes that the poller reported the socket as readable, and whether with the end of the
    /// stream.
    pub fn became_readable(&mut self, ended: bool) {
        self.drained = false;
        self.ended |= ended;
    }

    /// Receives into the buffer; `Ok(None)` if nothing has arrived, `Ok(Some(0))` at the end of the
    /// stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, io::Error> {
        if self.drained {
            return Ok(None);
        }
        match self.socket.read(buffer) {
            Ok(length) => {
                // After a short read the next bytes raise a new edge (epoll(7)). The end of the
                // stream does not, if it had already arrived.
                self.drained = length < buffer.len() && !self.ended;
                self.received += length as u64;
                if self.has_asked && length > 0 {
                    self.has_asked = false;
                    self.answers = self.answers.saturating_add(1);
                }
                Ok(Some(length))
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                self.drained = true;
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// True if more may be there to receive than was received when the poller last reported the
    /// socket.
    pub fn may_have_more(&self) -> bool {
        !self.drained
    }

    /// True if something has arrived: bytes or the end of the stream. Does not wait for the poller.
    pub fn has_arrived(&mut self) -> io::Result<bool> {
        match self.socket.peek(&mut [std::mem::MaybeUninit::uninit()]) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
            Ok(_) => {
                self.drained = false;
                Ok(true)
            }
        }
    }

    /// Sends as many bytes as fit; `Ok(None)` if none fit now.
    pub fn send(&mut self, bytes: &[u8]) -> Result<Option<usize>, io::Error> {
        match self.socket.write(bytes) {
            Ok(length) => {
                self.sent += length as u64;
                self.has_asked |= length > CHANGE_CIPHER_SPEC;
                Ok(Some(length))
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// True if dropping the socket resets the connection, so that it can serve another one.
    pub fn resets(&self) -> bool {
        self.resets
    }

    /// Makes dropping the socket send a FIN instead of a reset. Unread bytes are read into
    /// `scratch`, with at most [`Self::LEFTOVERS`] calls: with unread bytes the kernel would reset
    /// the connection in any case (RFC 2525, section 2.17).
    pub fn end_with_fin(&mut self, scratch: &mut [u8]) {
        self.resets = self.socket.set_linger(None).is_err();
        for _ in 0..Self::LEFTOVERS {
            if !matches!(self.socket.read(scratch), Ok(1..)) {
                break;
            }
        }
    }

    const LEFTOVERS: u32 = 4;

    /// Ends the sending side of the stream, after all sent bytes.
    pub fn finish_sending(&mut self) -> Result<(), io::Error> {
        self.socket.shutdown(Shutdown::Write)
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Leaves the choice of the port to `connect` instead of `bind`.
fn choose_port_late(socket: &socket2::Socket) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

fn set_option(
    socket: &socket2::Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open, and `value` is valid for reads of `length` bytes.
    let result = unsafe {
        let value = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The failure class of an error of the operating system.
pub fn failure(error: &io::Error, step: Step) -> Failure {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Failure::Refused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => Failure::Unreachable,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => Failure::Reset,
        Some(libc::ETIMEDOUT) => Failure::TimedOut(step),
        Some(libc::EMFILE | libc::ENFILE) => Failure::FilesExhausted,
        Some(libc::EADDRNOTAVAIL) => Failure::PortsExhausted,
        Some(errno) => Failure::System(errno),
        None if error.kind() == ErrorKind::UnexpectedEof => Failure::Closed(step),
        None => Failure::System(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn bytes_are_counted_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        assert_eq!(socket.connect_error(), None);
        assert!(!socket.has_arrived().unwrap());
        assert_eq!(socket.receive(&mut [0; 8]).unwrap(), None);
        assert_eq!(socket.send(b"abc").unwrap(), Some(3));
        peer.read_exact(&mut [0; 3]).unwrap();
        peer.write_all(b"defgh").unwrap();
        drop(peer);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(socket.receive(&mut [0; 64]).unwrap(), None, "nobody said that it is readable");
        assert!(socket.has_arrived().unwrap());
        socket.became_readable(true);
        assert_eq!(socket.receive(&mut [0; 64]).unwrap(), Some(5));
        assert_eq!(socket.receive(&mut [0; 64]).unwrap(), Some(0));
        assert_eq!((socket.sent, socket.received), (3, 5));
    }

    #[test]
    fn a_flight_in_pieces_is_one_answer_and_a_change_cipher_spec_asks_for_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut receive = |socket: &mut Socket, bytes: &[u8]| {
            peer.write_all(bytes).unwrap();
            loop {
                socket.became_readable(false);
                if socket.receive(&mut [0; 64]).unwrap().is_some() {
                    return socket.answers;
                }
            }
        };
        assert_eq!(receive(&mut socket, b"unasked"), 0);
        for flight in [b"first part".as_slice(), b"second part"] {
            assert_eq!(socket.send(flight).unwrap(), Some(flight.len()));
        }
        assert_eq!(receive(&mut socket, b"ServerHello"), 1);
        assert_eq!(socket.send(&[20, 3, 3, 0, 1, 1]).unwrap(), Some(CHANGE_CIPHER_SPEC));
        assert_eq!(receive(&mut socket, b"the rest"), 1);
        assert_eq!(socket.send(b"Finished").unwrap(), Some(8));
        assert_eq!(receive(&mut socket, b"ticket"), 2);
        assert_eq!(receive(&mut socket, b"response"), 2);
    }

    #[test]
    fn a_connection_comes_from_the_address_that_was_chosen_and_so_does_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (source, address) = ("127.0.0.77".parse().unwrap(), listener.local_addr().unwrap());
        let first = Socket::connect_from(Some(source), address).unwrap();
        assert_eq!(listener.accept().unwrap().1.ip(), source);
        let _second = first.connect_again(address).unwrap();
        assert_eq!(listener.accept().unwrap().1.ip(), source);
    }

    #[test]
    fn a_port_where_nothing_listens_refuses() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = Socket::connect(free);
        std::thread::sleep(Duration::from_millis(20));
        let refused = socket.map(|s| s.connect_error());
        assert!(matches!(refused, Err(Failure::Refused) | Ok(Some(Failure::Refused))));
    }

    #[test]
    fn errors_of_the_system_have_classes() {
        let class = |errno| failure(&io::Error::from_raw_os_error(errno), Step::Body).to_string();
        assert_eq!(class(libc::EMFILE), "files_exhausted");
        assert_eq!(class(libc::EADDRNOTAVAIL), "ports_exhausted");
        assert_eq!(class(libc::ETIMEDOUT), "timeout_body");
        assert_eq!(class(libc::EIO), "system_5");
    }
}

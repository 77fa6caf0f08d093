//! A connection's socket, which remembers whether more can be read.

use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;

use mio::event::Event;
use mio::net::TcpStream;

/// A socket under an edge-triggered poller, which reports each event only once.
#[derive(Debug)]
pub(super) struct EdgeSocket {
    socket: TcpStream,
    /// Whether there may be bytes to read.
    readable: bool,
    /// Whether the end of the stream or an error follows the bytes to be read.
    ending: bool,
}

impl EdgeSocket {
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, readable: false, ending: false }
    }

    /// The socket, for its registration and for writing.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Notes an event of the poller.
    pub fn notice(&mut self, event: &Event) {
        self.ending |= event.is_read_closed() || event.is_error();
        self.readable |= event.is_readable() || self.ending;
    }

    /// Makes the next read call the system, whatever the poller has reported so far.
    pub fn look_again(&mut self) {
        self.readable = true;
    }

    /// Reads once; `None` if nothing has arrived, `Some(0)` at the end of the stream.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        while self.readable {
            match self.socket.read(buffer) {
                Ok(length) => {
                    // A short read has emptied the socket (epoll(7)), unless the end of the stream
                    // follows.
                    self.readable = length == buffer.len() || self.ending;
                    return Ok(Some(length));
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    /// Closes the sending side of the stream.
    pub fn finish(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}

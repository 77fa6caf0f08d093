//! A connection's socket, which remembers whether it has more to read.

use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;

use mio::event::Event;
use mio::net::TcpStream;

/// A socket under an edge-triggered poller: what was reported once is not reported again.
#[derive(Debug)]
pub(super) struct EdgeSocket {
    socket: TcpStream,
    /// There may be something to read.
    readable: bool,
    /// The end of the stream, or an error, follows the bytes to be read.
    ending: bool,
}

impl EdgeSocket {
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, readable: false, ending: false }
    }

    /// The socket, to register it and to write to it.
    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Takes what the poller reports.
    pub fn notice(&mut self, event: &Event) {
        self.ending |= event.is_read_closed() || event.is_error();
        self.readable |= event.is_readable() || self.ending;
    }

    /// Lets the next read ask the system, whatever the poller has reported so far.
    pub fn look_again(&mut self) {
        self.readable = true;
    }

    /// Reads once; `None` when there is nothing now, `Some(0)` at the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        while self.readable {
            match self.socket.read(buffer) {
                Ok(length) => {
                    // A short read has emptied the socket (epoll(7)), unless an end stands behind.
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

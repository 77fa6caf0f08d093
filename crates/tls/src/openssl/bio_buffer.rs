//! The buffer between an OpenSSL session and its socket.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};

use crate::observer::Observer;
use tlslab_system::socket::Socket;
use tlslab_wire::outcome::Failure;

/// The highest number of bytes waiting to be sent. Only OpenSSL's answers to a peer that sends
/// KeyUpdates and does not read can approach it.
pub const UNSENT_LIMIT: usize = 64 * 1024;

/// The largest record: header, content and expansion (RFC 5246, section 6.2.3).
const RECORD: usize = 5 + 16 * 1024 + 2 * 1024;

/// The usual size of a flight: a ClientHello with a hybrid key share, or a Finished and a request.
const USUAL_FLIGHT: usize = 2 * 1024;

thread_local! {
    /// The receive buffer of this thread, while no connection uses it. A thread-local, because
    /// OpenSSL's BIO owns the [`BioBuffer`] and calls it back without a parameter: in the back end
    /// the buffer would need a reference-counted pointer in each session.
    static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The stream that OpenSSL reads and writes. The session transfers the bytes from and to the
/// socket.
///
/// During a handshake OpenSSL reads the header and the content of each record separately, even with
/// read-ahead: without a buffer a connection makes eleven more system calls. Written bytes are
/// collected, so that the Finished and the first request leave in one segment. An idle connection
/// holds no receive buffer: the connections of a thread share one.
#[derive(Debug)]
pub struct BioBuffer {
    received: Vec<u8>,
    /// The part of `received` that OpenSSL has not read.
    unread: std::ops::Range<usize>,
    /// Whether the peer has ended the stream.
    ended: bool,
    unsent: Vec<u8>,
    sent: usize,
    /// Checks the server's unencrypted messages, and keeps the first failure.
    observer: Observer,
    broken: Option<Failure>,
}

impl BioBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self {
            received: Vec::new(),
            unread: 0..0,
            ended: false,
            unsent: Vec::with_capacity(USUAL_FLIGHT),
            sent: 0,
            observer: Observer::new(),
            broken: None,
        }
    }

    /// Receives from the socket once all earlier bytes are read. Returns the number of bytes
    /// received; 0 at the end of the stream, which OpenSSL reads next; `None` if nothing new has
    /// arrived.
    pub fn receive(&mut self, socket: &mut Socket) -> io::Result<Option<usize>> {
        if !self.unread.is_empty() || self.ended {
            return Ok(None);
        }
        if self.received.is_empty() {
            self.received = SPARE.take();
            self.received.resize(RECORD, 0);
        }
        let received = socket.receive(&mut self.received);
        self.unread = 0..received.as_ref().map_or(0, |length| length.unwrap_or(0));
        if self.broken.is_none() {
            match self.observer.received(&mut self.received[self.unread.clone()]) {
                Ok(length) => self.unread.end = self.unread.start + length,
                Err(failure) => {
                    self.broken = Some(failure);
                    self.unsent.extend(self.observer.alert_for(failure).iter().flatten());
                }
            }
        }
        if self.unread.is_empty() {
            self.lend();
        }
        let received = received?;
        self.ended = received == Some(0);
        Ok(received)
    }

    /// Returns the empty receive buffer to the thread.
    fn lend(&mut self) {
        SPARE.set(std::mem::take(&mut self.received));
    }

    /// The failure by the server's unencrypted messages, if any.
    pub fn broken(&self) -> Option<Failure> {
        self.broken
    }

    /// True if OpenSSL has not read all received bytes.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// True if the server has ended the connection.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The number of bytes waiting to be sent.
    pub fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Sends the waiting bytes; `false` if the socket does not accept all of them now.
    pub fn send(&mut self, socket: &mut Socket) -> io::Result<bool> {
        while self.unsent() > 0 {
            match socket.send(&self.unsent[self.sent..])? {
                Some(length) => self.sent += length,
                None => return Ok(false),
            }
        }
        self.unsent.clear();
        self.sent = 0;
        Ok(true)
    }
}

impl Read for BioBuffer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            return if self.ended { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        }
        let length = buffer.len().min(self.unread.len());
        let end = self.unread.start + length;
        buffer[..length].copy_from_slice(&self.received[self.unread.start..end]);
        self.unread.start = end;
        if self.unread.is_empty() {
            self.lend();
        }
        Ok(length)
    }
}

impl Write for BioBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsent() >= UNSENT_LIMIT {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.unsent.extend_from_slice(bytes);
        if self.sent == 0 {
            self.observer.sent(&self.unsent);
        }
        Ok(bytes.len())
    }

    /// OpenSSL flushes after each flight; the session sends when it has to wait for an answer.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_empty_buffer_would_block_and_collects() {
        let mut buffer = BioBuffer::new();
        assert_eq!(buffer.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(buffer.write(b"abc").unwrap(), 3);
        assert_eq!(buffer.unsent(), 3);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut buffer = BioBuffer::new();
        buffer.write_all(&vec![0; UNSENT_LIMIT]).unwrap();
        assert_eq!(buffer.write(b"x").unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn bytes_pass_in_order_and_the_end_is_seen_after_the_last() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut buffer = BioBuffer::new();
        peer.write_all(b"abcde").unwrap();
        assert_eq!(receive(&mut buffer, &mut socket), 5);
        assert_eq!(buffer.receive(&mut socket).unwrap(), None);
        let mut read = [0; 3];
        assert_eq!((buffer.read(&mut read).unwrap(), &read), (3, b"abc"));
        assert_eq!((buffer.read(&mut read).unwrap(), &read[..2]), (2, &b"de"[..]));
        buffer.write_all(b"xyz").unwrap();
        assert!(buffer.send(&mut socket).unwrap());
        peer.read_exact(&mut read).unwrap();
        assert_eq!((&read, buffer.unsent()), (b"xyz", 0));
        assert_eq!(buffer.received.capacity(), 0, "an idle buffer holds no buffer");
        drop(peer);
        assert_eq!(receive(&mut buffer, &mut socket), 0);
        assert_eq!(buffer.read(&mut read).unwrap(), 0);
    }

    fn receive(buffer: &mut BioBuffer, socket: &mut Socket) -> usize {
        loop {
            socket.became_readable(false);
            match buffer.receive(socket).unwrap() {
                Some(length) => return length,
                None => std::thread::yield_now(),
            }
        }
    }
}

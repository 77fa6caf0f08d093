//! The bytes between an OpenSSL session and its socket.

use std::io::{self, ErrorKind, Read, Write};
use std::ptr::NonNull;

use crate::socket::Socket;
use crate::tls::{FLOOD, FRUITLESS_LIMIT};

/// The most bytes that wait to be sent before a session takes no more. Only what the library itself
/// answers to a peer that does not read (KeyUpdates) gets near it.
pub const UNSENT_LIMIT: usize = 64 * 1024;

/// Room for a ClientHello with a hybrid key share, or a Finished and a request.
const USUAL_FLIGHT: usize = 2 * 1024;

/// What OpenSSL reads from and writes to. It reads from the socket straight into its own buffer; what
/// it writes is collected, so that its Finished and the first request leave in one segment.
///
/// A session is handed the socket anew at each call, and is given it only for that call.
#[derive(Debug)]
pub struct Wire {
    socket: Option<NonNull<Socket>>,
    /// What may still be received before the session has to get on.
    receivable: usize,
    unsent: Vec<u8>,
    sent: usize,
}

impl Wire {
    /// A wire that no byte has passed.
    pub fn new() -> Self {
        let unsent = Vec::with_capacity(USUAL_FLIGHT);
        Self { socket: None, receivable: FRUITLESS_LIMIT, unsent, sent: 0 }
    }

    /// Lets reads reach the socket until [`Self::detach`].
    ///
    /// # Safety
    /// The socket must stay where it is and must not be used by others until then.
    pub unsafe fn attach(&mut self, socket: &mut Socket) {
        self.socket = Some(NonNull::from(socket));
    }

    /// Takes note that the session has got on.
    pub fn got_on(&mut self) {
        self.receivable = FRUITLESS_LIMIT;
    }

    /// Ends what [`Self::attach`] began.
    pub fn detach(&mut self) {
        self.socket = None;
    }

    /// The bytes that wait to be sent.
    pub fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Sends what waits to be sent; `false` when the socket takes no more now.
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

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(mut socket) = self.socket else {
            return Err(ErrorKind::WouldBlock.into());
        };
        if self.receivable == 0 {
            return Err(io::Error::new(ErrorKind::InvalidData, FLOOD));
        }
        let most = buffer.len().min(self.receivable);
        // SAFETY: `attach` has the caller keep the socket in place, and to itself, until `detach`.
        let length = unsafe { socket.as_mut() }.read(&mut buffer[..most])?;
        self.receivable -= length;
        Ok(length)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsent() >= UNSENT_LIMIT {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.unsent.extend_from_slice(bytes);
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
    fn a_wire_without_a_socket_would_block_and_collects() {
        let mut wire = Wire::new();
        assert_eq!(wire.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(wire.write(b"abc").unwrap(), 3);
        assert_eq!(wire.unsent(), 3);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut wire = Wire::new();
        wire.write_all(&vec![0; UNSENT_LIMIT]).unwrap();
        assert_eq!(wire.write(b"x").unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_flood_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let flood = std::thread::spawn(move || peer.write_all(&vec![0; 2 * FRUITLESS_LIMIT]));
        let mut wire = Wire::new();
        // SAFETY: the socket stays in this frame and is used through the wire only.
        unsafe { wire.attach(&mut socket) };
        let end = loop {
            match wire.read(&mut [0; 4096]) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(e) => break e,
            }
        };
        wire.detach();
        assert_eq!((end.kind(), socket.received), (ErrorKind::InvalidData, FRUITLESS_LIMIT as u64));
        drop(socket);
        let _ = flood.join().unwrap();
    }
}

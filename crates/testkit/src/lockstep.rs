//! A TLS server without a socket, which acts only on the bytes that it is given. Its own bytes can
//! be delivered in any pieces, and nothing depends on time.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

use openssl::ssl::{Ssl, SslContext, SslStream};

use crate::tls_server::{self, Settings};

/// Creates the sessions of one server.
pub struct LockstepServer(SslContext);

impl LockstepServer {
    /// A server with these settings.
    pub fn new(settings: &Settings) -> Self {
        Self(tls_server::context(settings).build())
    }

    /// A session that answers the first request with these bytes, and then sends close_notify.
    pub fn session(&self, response: &[u8]) -> LockstepSession {
        let mut ssl = Ssl::new(&self.0).unwrap();
        ssl.set_accept_state();
        let stream = SslStream::new(ssl, Pipe::default()).unwrap();
        LockstepSession { stream, response: response.to_vec() }
    }
}

/// One session.
pub struct LockstepSession {
    stream: SslStream<Pipe>,
    response: Vec<u8>,
}

impl LockstepSession {
    /// Processes the client's bytes; returns the server's.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.stream.get_mut().incoming.extend(bytes);
        if self.stream.do_handshake().is_ok() && self.stream.ssl_read(&mut [0; 4096]).is_ok() {
            self.stream.write_all(&self.response).unwrap();
            let _ = self.stream.shutdown();
        }
        std::mem::take(&mut self.stream.get_mut().outgoing)
    }
}

/// The received and the sent bytes of a session.
#[derive(Debug, Default)]
struct Pipe {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.incoming.read(buffer)? {
            0 => Err(ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

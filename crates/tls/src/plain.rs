//! Connections without TLS, behind the same trait: the baseline of what TLS costs.

use std::io;

use super::{Backend, Progress, Session, Urgent};
use tlslab_system::socket::{self, Socket};
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::tls::Negotiated;

/// The name in specifications and records.
pub const NAME: &str = "none";

/// Opens connections without TLS.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainBackend;

impl Backend for PlainBackend {
    type Session = PlainSession;

    fn open(&mut self) -> Result<PlainSession, Failure> {
        Ok(PlainSession)
    }

    fn resume(&mut self) -> Result<Option<PlainSession>, Failure> {
        Ok(None)
    }

    fn resumable(&self) -> usize {
        0
    }

    fn keep(&mut self, _: usize) {}
}

/// A connection whose bytes are those of its socket.
#[derive(Debug, Clone, Copy)]
pub struct PlainSession;

fn lost(error: &io::Error) -> Failure {
    socket::failure(error, Step::FirstByte)
}

impl Session for PlainSession {
    fn unsent(&self) -> usize {
        0
    }

    fn send_early(&mut self, _: &[u8]) -> Result<usize, Failure> {
        Ok(0)
    }

    fn handshake(&mut self, _: &mut Socket, _: Urgent<'_>) -> Result<Progress, Failure> {
        Ok(Progress::Done(0))
    }

    fn facts(&self) -> Option<Negotiated> {
        None
    }

    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
        let sent = socket.send(plaintext).map_err(|error| lost(&error))?;
        Ok(sent.map_or(Progress::WantWrite, Progress::Done))
    }

    fn flush(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
        Ok(Progress::Done(0))
    }

    fn send_close_notify(&mut self, _: &mut Socket) -> Result<(), Failure> {
        Ok(())
    }

    /// `Closed` at the end of the stream: without TLS nothing else ends a connection in order (RFC
    /// 9112, section 9.6).
    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        Ok(match socket.receive(plaintext).map_err(|error| lost(&error))? {
            None => Progress::WantRead,
            Some(0) => Progress::Closed,
            Some(length) => Progress::Done(length),
        })
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

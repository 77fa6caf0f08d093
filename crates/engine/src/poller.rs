//! The poller of one worker: epoll, edge-triggered, one registration a connection.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::clock::Nanos;
use crate::socket::Socket;

/// The most events that one wait returns.
const EVENTS: usize = 1024;

/// One connection that can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The slot that the connection was registered with.
    pub slot: usize,
    /// There is something to receive.
    pub readable: bool,
    /// The peer has ended its side.
    pub ended: bool,
}

/// Waits for sockets.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
}

impl Poller {
    /// A poller without sockets.
    pub fn new() -> io::Result<Self> {
        Ok(Self { poll: Poll::new()?, events: Events::with_capacity(EVENTS) })
    }

    /// Registers a socket; for writing as well if it waits for that. Closing a socket ends its
    /// registration.
    pub fn add(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Changes whether a registered socket waits for writing as well.
    pub fn change(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().reregister(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Waits until a socket is ready or so much time has passed; fills `ready`.
    pub fn wait(&mut self, time: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        match self.poll.poll(&mut self.events, Some(Duration::from_nanos(time))) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        ready.extend(self.events.iter().map(|event| Ready {
            slot: event.token().0,
            readable: event.is_readable() || event.is_error(),
            ended: event.is_read_closed() || event.is_error(),
        }));
        Ok(())
    }
}

fn interest(writable: bool) -> Interest {
    if writable { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE }
}

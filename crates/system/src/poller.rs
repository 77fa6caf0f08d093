//! The poller of one worker: epoll, edge-triggered, one registration per connection, and one timer.
//!
//! The alarm is a separate timer (timerfd) instead of a time-out of each wait: with time-outs the
//! kernel would needlessly set and cancel a timer thousands of times a second.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clock::Nanos;
use crate::socket::Socket;

/// The highest number of events per wait.
const EVENTS: usize = 1024;

/// The token of the alarm; no slot has this number.
const ALARM: Token = Token(usize::MAX);

/// The token of a nested poller; no slot has this number.
const NESTED: Token = Token(usize::MAX - 1);

/// A connection that can continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The slot that the connection was registered with.
    pub slot: usize,
    /// Whether bytes can be received.
    pub readable: bool,
    /// Whether the peer has ended its side.
    pub ended: bool,
}

/// Waits for sockets, and for its alarm.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
    alarm: TimerFd,
    /// The instant of the alarm.
    alarm_at: Nanos,
}

impl Poller {
    /// A poller without sockets.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let alarm = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let fd = alarm.as_fd().as_raw_fd();
        poll.registry().register(&mut SourceFd(&fd), ALARM, Interest::READABLE)?;
        Ok(Self { poll, events: Events::with_capacity(EVENTS), alarm, alarm_at: 0 })
    }

    /// Registers a socket, and for writing as well if `writable`. Closing a socket ends its
    /// registration.
    pub fn add(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Makes another poller's sockets end a wait as well. The other poller serves them.
    pub fn nest(&self, other: &Self) -> io::Result<()> {
        let fd = other.poll.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), NESTED, Interest::READABLE)
    }

    /// Changes whether a registered socket also waits for writing.
    pub fn change(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().reregister(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Waits until a socket is ready or until an instant of the monotonic clock. Fills `ready`.
    pub fn wait(&mut self, until: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.set_alarm(until)?;
        self.poll(None, ready)
    }

    /// Fills `ready` with the sockets that are ready now.
    pub fn look(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.poll(Some(Duration::ZERO), ready)
    }

    fn poll(&mut self, patience: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        match self.poll.poll(&mut self.events, patience) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let sockets = self.events.iter().filter(|event| ![ALARM, NESTED].contains(&event.token()));
        ready.extend(sockets.map(|event| Ready {
            slot: event.token().0,
            readable: event.is_readable() || event.is_error(),
            ended: event.is_read_closed() || event.is_error(),
        }));
        Ok(())
    }

    /// The timer is never read: setting it again clears it, and each expiry is an edge.
    fn set_alarm(&mut self, at: Nanos) -> io::Result<()> {
        if at != self.alarm_at {
            // Zero would disarm the timer; an instant in the past expires at once.
            let time = TimeSpec::from_duration(Duration::from_nanos(at.max(1)));
            self.alarm.set(Expiration::OneShot(time), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.alarm_at = at;
        }
        Ok(())
    }
}

fn interest(writable: bool) -> Interest {
    if writable { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE }
}

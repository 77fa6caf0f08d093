//! The poller of one worker: epoll, edge-triggered, one registration a connection, and one alarm.
//!
//! The alarm is a timer of its own (timerfd), not a time-out of each wait: a time-out would have the
//! kernel set and cancel a timer thousands of times a second to no end.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clock::Nanos;
use crate::socket::Socket;

/// The most events that one wait returns.
const EVENTS: usize = 1024;

/// The alarm's registration; no slot has this number.
const ALARM: Token = Token(usize::MAX);

/// Another poller's registration; no slot has this number.
const NESTED: Token = Token(usize::MAX - 1);

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

/// Waits for sockets, and for its alarm.
#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    events: Events,
    alarm: TimerFd,
    /// The instant at which the alarm goes off.
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

    /// Registers a socket; for writing as well if it waits for that. Closing a socket ends its
    /// registration.
    pub fn add(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Has another poller's sockets end a wait as well; they are served by that one.
    pub fn nest(&self, other: &Self) -> io::Result<()> {
        let fd = other.poll.as_raw_fd();
        self.poll.registry().register(&mut SourceFd(&fd), NESTED, Interest::READABLE)
    }

    /// Changes whether a registered socket waits for writing as well.
    pub fn change(&self, socket: &Socket, slot: usize, writable: bool) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll.registry().reregister(&mut SourceFd(&fd), Token(slot), interest(writable))
    }

    /// Waits until a socket is ready, or at the longest until an instant of the monotonic clock; fills
    /// `ready`.
    pub fn wait(&mut self, until: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.set_alarm(until)?;
        self.poll(None, ready)
    }

    /// Fills `ready` with what is ready now.
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

    /// Nobody reads the timer: setting it anew clears it, and each time that it goes off is an edge.
    fn set_alarm(&mut self, at: Nanos) -> io::Result<()> {
        if at != self.alarm_at {
            // An instant of zero would disarm it; one that has passed goes off at once.
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

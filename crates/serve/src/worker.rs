//! A worker: one thread, one poller, one listening socket, and the accepted connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use super::burn::Burner;
use super::connection::{Connection, Fate};
use super::context::{Context, Timing};
use super::http::Responder;
use super::limits::WorkerLimits;
use super::stats::Shared;
use super::tls::Acceptor;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos, SECOND, ThreadClock};

/// Tokens other than connections; connections are numbered from 0.
const LISTENER: Token = Token(usize::MAX - 1);
const WAKER: Token = Token(usize::MAX - 2);

/// The highest number of events per call of the poller.
const EVENTS: usize = 1024;

/// The highest number of bytes per read of a socket.
const RECEIVED: usize = 32 * 1024;

/// The interval of deadline checks; deadlines are tens of seconds long.
const ROUND: Nanos = SECOND;

/// How long accepting pauses if files or memory are exhausted.
const PAUSE: Nanos = 50 * MILLISECOND;

/// The longest time for current exchanges when the server stops.
const GRACE: Nanos = SECOND;

/// One thread's part of the server.
pub(super) struct Worker<A: Acceptor> {
    acceptor: A,
    poll: Poll,
    listener: Option<TcpListener>,
    connections: Slab<Connection<A::Session>>,
    /// Connections that can continue although their sockets report no event.
    continuing: Vec<usize>,
    /// Connections that pause before a response, by the instant of the response.
    pausing: BinaryHeap<Reverse<(Nanos, usize)>>,
    timing: Timing,
    /// Wastes processor time on new connections, if requested.
    burner: Option<Burner<ThreadClock>>,
    /// The instant to accept again, if connections may be waiting that the listener does not
    /// report.
    accept_due: Option<Nanos>,
    next_round: Nanos,
    limits: WorkerLimits,
    clock: MonotonicClock,
    shared: Arc<Shared>,
    index: usize,
    responder: Responder,
    received: Box<[u8]>,
    plaintext: Vec<u8>,
    spare: Vec<u8>,
}

impl<A: Acceptor> Worker<A> {
    pub fn new(
        acceptor: A,
        mut listener: TcpListener,
        shared: Arc<Shared>,
        index: usize,
        limits: WorkerLimits,
        timing: Timing,
        burn: Option<f64>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            acceptor,
            poll,
            listener: Some(listener),
            connections: Slab::new(),
            continuing: Vec::new(),
            pausing: BinaryHeap::new(),
            timing,
            burner: burn.map(|share| Burner::new(ThreadClock, share)),
            accept_due: None,
            next_round: 0,
            limits,
            clock: MonotonicClock,
            shared,
            index,
            responder: Responder::new(),
            received: vec![0; RECEIVED].into_boxed_slice(),
            plaintext: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// The waker with which the server stops the worker.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Serves until the server stops the worker.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.shared.is_stopping() {
            self.turn(&mut events)?;
        }
        self.drain(&mut events)
    }

    /// Waits for an event and handles it.
    fn turn(&mut self, events: &mut Events) -> io::Result<()> {
        match self.poll.poll(events, self.time_out()) {
            Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let now = self.clock.now();
        let mut continuing = std::mem::take(&mut self.continuing);
        continuing.sort_unstable();
        continuing.dedup();
        for key in continuing {
            self.serve(key, now, |connection, context| connection.go_on(context));
        }
        self.end_pauses(now);
        for event in events.iter() {
            match event.token() {
                LISTENER => self.accept_due = Some(now),
                WAKER => {}
                Token(key) => {
                    self.serve(key, now, |connection, context| connection.serve(event, context));
                }
            }
        }
        if self.accept_due.is_some_and(|due| due <= now) {
            self.accept_all(now);
        }
        if now >= self.next_round {
            self.next_round = now + ROUND;
            self.serve_all(now, |connection, context| connection.expire(context));
        }
        Ok(())
    }

    /// Continues connections whose pause is over. If a connection has ended meanwhile and another
    /// one has its key, the other one continues needlessly and waits again.
    fn end_pauses(&mut self, now: Nanos) {
        while let Some(&Reverse((due, key))) = self.pausing.peek()
            && due <= now
        {
            self.pausing.pop();
            self.serve(key, now, |connection, context| connection.go_on(context));
        }
    }

    /// The time limit of the next wait for events; `None`: unlimited.
    fn time_out(&self) -> Option<Duration> {
        if !self.continuing.is_empty() {
            return Some(Duration::ZERO);
        }
        let round = (!self.connections.is_empty()).then_some(self.next_round);
        let pause = self.pausing.peek().map(|Reverse((due, _))| *due);
        let due = [round, self.accept_due, pause].into_iter().flatten().min()?;
        Some(Duration::from_nanos(due.saturating_sub(self.clock.now())))
    }

    /// Accepts all waiting connections, within the limits.
    fn accept_all(&mut self, now: Nanos) {
        self.accept_due = None;
        let Some(listener) = self.listener.take() else { return };
        loop {
            if self.connections.len() >= self.limits.connections {
                // Tried again when a connection ends, or after a pause.
                self.accept_due = Some(now + PAUSE);
                break;
            }
            let before = self.thread_time();
            match listener.accept() {
                Ok((socket, _)) => {
                    self.open(socket, now);
                    self.burn(before);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // The peer has given up, or a signal arrived: the next connection may be fine.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ECONNABORTED | libc::EINTR)) => {}
                Err(_) => {
                    self.accept_due = Some(now + PAUSE);
                    break;
                }
            }
        }
        self.listener = Some(listener);
    }

    fn open(&mut self, socket: TcpStream, now: Nanos) {
        self.shared.worker(self.index).connections.count();
        let Ok(session) = self.acceptor.accept() else { return };
        let entry = self.connections.vacant_entry();
        let token = Token(entry.key());
        let connection = entry.insert(Connection::new(socket, session, now));
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(connection.socket(), token, interest).is_err() {
            self.connections.remove(token.0);
        }
    }

    /// Serves one connection, unless it has ended.
    fn serve<F>(&mut self, key: usize, now: Nanos, how: F)
    where
        F: FnOnce(&mut Connection<A::Session>, &mut Context<'_>) -> Fate,
    {
        let before = self.thread_time();
        let Some(connection) = self.connections.get_mut(key) else { return };
        let is_new = connection.is_new();
        let mut context = Context {
            now,
            timing: self.timing,
            counts: self.shared.worker(self.index),
            shared: &self.shared,
            responder: &mut self.responder,
            received: &mut self.received,
            plaintext: &mut self.plaintext,
            spare: &mut self.spare,
        };
        match how(connection, &mut context) {
            Fate::Waits => {}
            Fate::Continues => self.continuing.push(key),
            Fate::Pauses(due) => self.pausing.push(Reverse((due, key))),
            // Closing the socket removes it from the poller.
            Fate::Over => {
                self.connections.remove(key);
                // A waiting connection may have room now.
                self.accept_due = self.accept_due.map(|_| now);
            }
        }
        if is_new {
            self.burn(before);
        }
    }

    /// The processor time of this thread, if a share of it is to be wasted.
    fn thread_time(&self) -> Option<Nanos> {
        self.burner.as_ref().map(Burner::now)
    }

    /// Wastes the share of the processor time since `before`.
    fn burn(&mut self, before: Option<Nanos>) {
        if let (Some(burner), Some(before)) = (&mut self.burner, before) {
            self.shared.worker(self.index).burned_ns.set(burner.burn(before));
        }
    }

    fn serve_all<F>(&mut self, now: Nanos, how: F)
    where
        F: Fn(&mut Connection<A::Session>, &mut Context<'_>) -> Fate,
    {
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.serve(key, now, &how);
        }
    }

    /// Stops listening, ends idle connections, and gives the others a short time.
    fn drain(&mut self, events: &mut Events) -> io::Result<()> {
        let end = self.clock.now() + GRACE;
        // Closing the listener would reset connections that the kernel has already established.
        self.accept_all(self.clock.now());
        self.listener = None;
        self.serve_all(self.clock.now(), |connection, context| connection.stop(context));
        while self.clock.now() < end && !self.is_drained() {
            self.next_round = end.min(self.clock.now() + ROUND);
            self.turn(events)?;
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.connections.iter().all(|(_, connection)| connection.is_lingering())
    }
}

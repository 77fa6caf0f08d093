//! One connection of this back end: rustls over the unbuffered interface, or the minimal client.
//!
//! With the unbuffered interface the caller owns the buffers: one receive buffer serves all
//! connections of a worker, and a connection keeps bytes of its own only if a record arrives in
//! pieces or the socket does not accept all bytes at once.

mod processing;

use std::cell::RefCell;
use std::mem;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::ConnectionState;

use self::processing::{Machine, State};
use super::client_identity::take_shown;
use super::facts::negotiated;
use super::failure::reason;
use super::flight::{encode_close_notify, encode_flight, encrypt, encrypt_early};
use super::handover::Handover;
use super::minimal::{ClientHelloTemplate, MinimalClient, MinimalTicket};
use super::tickets::{self, LibraryTicket, Ticket};
use super::{inspection, signed_with};
use crate::observer::Observer;
use crate::pool::Pool;
use crate::{FLOOD, FRUITLESS_LIMIT, Negotiated, Progress, Session, Urgent};
use tlslab_system::socket::{self, Socket};
use tlslab_wire::names::SignatureScheme;
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::reason::Reason;
use tlslab_wire::rule::Rule;
use tlslab_wire::tls::messages::is_retry_or_older;

/// The highest number of received bytes that a connection may keep: rustls limits a handshake
/// message to 64 KiB, and a record has at most 16 KiB + 256 bytes (RFC 8446, section 5.2).
const PARTIAL_LIMIT: usize = 96 * 1024;

/// The size of a receive call: room for several full records (of 16 KiB and their headers), of which
/// only the last one may be cut.
const RECEIVE_SIZE: usize = 64 * 1024;

/// The highest number of bytes waiting to be sent beside requests: answers to the peer's KeyUpdates.
/// A peer that causes more without reading is attacking.
const OUTGOING_LIMIT: usize = 64 * 1024;

thread_local! {
    /// The receive buffer of the worker on this thread; its content does not outlive a call. In the
    /// back end it would need a reference-counted pointer in each session, although a worker has
    /// its own thread.
    static INCOMING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One connection.
pub struct RustlsSession {
    machine: Machine,
    /// The processed bytes: encoded ones to send, and decrypted ones to read.
    state: State,
    /// Received bytes that do not form a complete record or message yet.
    partial: Vec<u8>,
    /// The index of this session's server name in the settings.
    asked_name: usize,
    /// Bytes received since the session last made progress.
    fruitless: usize,
    /// Bytes that waited to be sent after the last request was written.
    requested: usize,
    /// The pool for the sessions that the server issues.
    pool: Option<Pool<Ticket>>,
    /// The number of sessions added to the pool.
    gained: u32,
    /// Whether a ticket has arrived since the last question.
    has_ticket: bool,
    /// Checks the server's unencrypted messages to rustls; the minimal client checks them itself.
    observer: Observer,
    /// The first rule that the observer has seen broken.
    broken: Option<Rule>,
    /// Continues the minimal client's connection by the library, if the server's answer needs that.
    handover: Option<Arc<Handover>>,
}

impl RustlsSession {
    pub(super) fn new(
        config: Arc<ClientConfig>,
        server_name: ServerName<'static>,
        authenticated: bool,
        asked_name: usize,
        ticket: Option<LibraryTicket>,
    ) -> Result<Self, Failure> {
        let limit = ticket.as_ref().map_or(0, LibraryTicket::early_data_limit);
        let resumes = ticket.is_some();
        let connection =
            tickets::resuming(ticket, || UnbufferedClientConnection::new(config, server_name))
                .map_err(|_| Failure::TlsProtocol)?;
        let mut session = Self::with(Machine::Library(Box::new(connection)), asked_name);
        session.state.seen.ticket_offered = resumes;
        session.state.seen.early.limit = limit;
        session.state.seen.authenticated = authenticated;
        Ok(session)
    }

    /// A connection by the minimal client.
    pub(super) fn minimal(
        template: Arc<ClientHelloTemplate>,
        asked_name: usize,
        ticket: Option<MinimalTicket>,
    ) -> Result<Self, Failure> {
        let client = MinimalClient::new(template, ticket)?;
        Ok(Self::with(Machine::Minimal(Box::new(client)), asked_name))
    }

    /// Lets the library continue, if the server answers the minimal client with what only the
    /// library supports.
    pub(super) fn hand_over_by(&mut self, handover: Option<Arc<Handover>>) {
        self.handover = handover;
    }

    /// True if the minimal client makes the connection.
    #[cfg(test)]
    pub(super) fn is_minimal(&self) -> bool {
        matches!(self.machine, Machine::Minimal(_))
    }

    fn with(machine: Machine, asked_name: usize) -> Self {
        Self {
            machine,
            state: State::new(),
            partial: Vec::new(),
            asked_name,
            fruitless: 0,
            requested: 0,
            pool: None,
            gained: 0,
            has_ticket: false,
            observer: Observer::new(),
            broken: None,
            handover: None,
        }
    }

    /// Adds the sessions that the server issues to this pool.
    pub(super) fn keep_tickets(&mut self, pool: Pool<Ticket>) {
        self.pool = Some(pool);
        if let Machine::Minimal(client) = &mut self.machine {
            client.keep_sessions();
        }
    }

    /// Adds the sessions that have arrived to the pool. `lifetime`: see [`tickets::delivered`].
    fn pool_tickets(&mut self, lifetime: Option<u32>) {
        let Some(pool) = &self.pool else { return };
        let mut put = |ticket| {
            pool.put(ticket);
            self.gained += 1;
        };
        match &mut self.machine {
            Machine::Minimal(client) => {
                client.take_sessions().into_iter().map(Ticket::Minimal).for_each(put);
            }
            Machine::Library(_) => {
                tickets::delivered(self.state.seen.authenticated, lifetime, &mut put);
            }
        }
    }

    /// Receives once and processes the bytes; plaintext goes into the room as far as it fits.
    /// Returns the length of that plaintext; `Ok(None)` if nothing has arrived.
    fn receive(
        &mut self,
        socket: &mut Socket,
        step: Step,
        room: &mut [u8],
        urgent: Urgent<'_>,
    ) -> Result<Option<usize>, Failure> {
        INCOMING.with_borrow_mut(|buffer| {
            let kept = self.partial.len();
            buffer.resize(buffer.len().max(kept + RECEIVE_SIZE), 0);
            buffer[..kept].copy_from_slice(&self.partial);
            let mut length = 0;
            // rustls must see the bytes that it has not consumed again, together with the new ones.
            let cuttable = kept == 0 || self.state.stopped;
            if !mem::take(&mut self.state.stopped) {
                let room = &mut buffer[kept..kept + RECEIVE_SIZE];
                match socket.receive(room).map_err(|e| socket::failure(&e, step))? {
                    None => return Ok(None),
                    Some(0) => {
                        self.state.end.get_or_insert(Progress::Cut);
                        return Ok(Some(0));
                    }
                    Some(received) => length = received,
                }
            }
            self.fruitless += length;
            let mut filled = kept + self.observe(&mut buffer[kept..kept + length])?;
            if self.hand_over(&buffer[..filled]) {
                // The observer has seen nothing for the minimal client.
                filled = self.observe(&mut buffer[..filled])?;
            }
            if self.fruitless > FRUITLESS_LIMIT {
                return Err(self.state.give_up(&mut self.machine, FLOOD));
            }
            self.partial.clear();
            let incoming = &mut buffer[..filled];
            let (used, read) = match &mut self.machine {
                Machine::Library(connection) => {
                    let urgent = urgent.filter(|_| cuttable);
                    self.state.process(connection, incoming, room, urgent)?
                }
                Machine::Minimal(client) => {
                    self.state.process_minimal(client, incoming, room, urgent)?
                }
            };
            let found = inspection::take();
            self.has_ticket |= found.lifetime.is_some();
            if let Some(rule) = found.broken {
                return Err(self.break_off(Failure::Rule(rule)));
            }
            // Read at once: the next connection of this worker stores its own scheme.
            if let Some(scheme) = signed_with::take() {
                self.state.seen.signature_scheme = Some(SignatureScheme::from_code_point(scheme));
                self.state.seen.ocsp_response_bytes = signed_with::take_stapled();
            }
            self.state.seen.client_authenticated |= take_shown();
            self.pool_tickets(found.lifetime);
            if filled - used > PARTIAL_LIMIT {
                return Err(self.state.give_up(&mut self.machine, "a message without an end"));
            }
            self.partial.extend_from_slice(&buffer[used..filled]);
            Ok(Some(read))
        })
    }

    /// Lets the library continue the connection if this first answer of the server needs that.
    /// Returns whether it does.
    fn hand_over(&mut self, incoming: &[u8]) -> bool {
        let (Some(handover), Machine::Minimal(client)) = (&self.handover, &mut self.machine) else {
            return false;
        };
        if !is_retry_or_older(incoming) {
            return false;
        }
        let Some((message, exchange)) = client.give_up_hello() else { return false };
        let taken_over = handover.take_over(message, exchange);
        let Some((connection, record)) = taken_over else { return false };
        self.observer.sent(&record);
        self.state.seen.authenticated = handover.authenticates;
        self.machine = Machine::Library(Box::new(connection));
        true
    }

    /// Checks rules that the library does not check; a broken one ends the session. Returns the
    /// number of bytes for the library.
    fn observe(&mut self, received: &mut [u8]) -> Result<usize, Failure> {
        if self.state.ready {
            self.observer.finished();
        }
        self.observer.received(received).map_err(|failure| self.break_off(failure))
    }

    /// Ends a session whose server has broken a rule, or has ended it.
    fn break_off(&mut self, failure: Failure) -> Failure {
        // Clears the library's values in thread-locals, which belong to this connection only.
        take_shown();
        signed_with::take();
        if let Failure::Rule(rule) = failure {
            self.broken = Some(rule);
        }
        self.state.outgoing.extend(self.observer.alert_for(failure).iter().flatten());
        failure
    }

    fn send_outgoing(&mut self, socket: &mut Socket, step: Step) -> Result<Progress, Failure> {
        let mut sent = 0;
        while sent < self.state.outgoing.len() {
            match socket.send(&self.state.outgoing[sent..]) {
                Ok(Some(length)) => sent += length,
                Ok(None) => break,
                Err(e) => return Err(socket::failure(&e, step)),
            }
        }
        self.state.outgoing.drain(..sent);
        Ok(if self.state.outgoing.is_empty() { Progress::Done(0) } else { Progress::WantWrite })
    }

    /// Sends what the socket takes of a request of this length, which is encrypted already.
    fn send_request(&mut self, socket: &mut Socket, length: usize) -> Result<Progress, Failure> {
        let sent = self.send_outgoing(socket, Step::FirstByte);
        // If the peer has reset the connection, its answer may still be read.
        self.requested = self.state.outgoing.len();
        sent?;
        Ok(Progress::Done(length))
    }
}

impl Session for RustlsSession {
    fn unsent(&self) -> usize {
        self.state.outgoing.len()
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<usize, Failure> {
        let plaintext = &plaintext[..plaintext.len().min(self.state.seen.early.limit)];
        if plaintext.is_empty() {
            return Ok(0);
        }
        let Machine::Library(connection) = &mut self.machine else { return Ok(0) };
        loop {
            match connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(mut flight)) => {
                    encode_flight(&mut self.state.outgoing, &mut flight);
                }
                Ok(ConnectionState::TransmitTlsData(mut flight)) => {
                    self.state.seen.early.sent =
                        encrypt_early(&mut self.state.outgoing, &mut flight, plaintext);
                    flight.done();
                    return Ok(if self.state.seen.early.sent { plaintext.len() } else { 0 });
                }
                Ok(_) => return Ok(0),
                Err(error) => return Err(self.state.fail(error)),
            }
        }
    }

    fn handshake(&mut self, socket: &mut Socket, urgent: Urgent<'_>) -> Result<Progress, Failure> {
        if self.state.outgoing.is_empty() && !self.state.ready && self.partial.is_empty() {
            // Only the first call creates the ClientHello.
            self.state.start(&mut self.machine)?;
        }
        if matches!(self.machine, Machine::Library(_)) {
            // The observer sees the ClientHello before it is sent.
            self.observer.sent(&self.state.outgoing);
        }
        loop {
            if self.state.ready {
                self.fruitless = 0;
                return Ok(Progress::Done(0));
            }
            if self.send_outgoing(socket, Step::Handshake)? == Progress::WantWrite {
                return Ok(Progress::WantWrite);
            }
            if let Some(end) = self.state.end {
                return Ok(end);
            }
            if self.receive(socket, Step::Handshake, &mut [], urgent)?.is_none() {
                return Ok(Progress::WantRead);
            }
            if self.state.stopped {
                return Ok(Progress::WantWrite);
            }
        }
    }

    fn facts(&self) -> Option<Negotiated> {
        Some(match &self.machine {
            Machine::Library(connection) => negotiated(connection, &self.state.seen),
            Machine::Minimal(client) => client.facts(),
        })
    }

    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
        let connection = match &mut self.machine {
            Machine::Library(connection) => connection,
            Machine::Minimal(_) if self.state.end.is_some() => return Ok(Progress::Closed),
            Machine::Minimal(client) => {
                client.write(plaintext, &mut self.state.outgoing)?;
                return self.send_request(socket, plaintext.len());
            }
        };
        let Ok(ConnectionState::WriteTraffic(mut traffic)) =
            connection.process_tls_records(&mut self.partial).state
        else {
            return Ok(Progress::Closed);
        };
        if !encrypt(&mut self.state.outgoing, &mut traffic, plaintext) {
            return Err(self.state.give_up(&mut self.machine, "the keys are worn out"));
        }
        self.send_request(socket, plaintext.len())
    }

    fn flush(&mut self, socket: &mut Socket) -> Result<Progress, Failure> {
        self.send_outgoing(socket, Step::FirstByte)
    }

    fn send_close_notify(&mut self, socket: &mut Socket) -> Result<(), Failure> {
        match &mut self.machine {
            Machine::Minimal(client) => client.close(&mut self.state.outgoing)?,
            Machine::Library(connection) => {
                if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
                    connection.process_tls_records(&mut self.partial).state
                {
                    encode_close_notify(&mut self.state.outgoing, &mut traffic);
                }
            }
        }
        self.send_outgoing(socket, Step::Body).map(|_| ())
    }

    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        loop {
            if !self.state.plaintext.is_empty() {
                self.fruitless = 0;
                let length = plaintext.len().min(self.state.plaintext.len());
                plaintext[..length].copy_from_slice(&self.state.plaintext[..length]);
                self.state.plaintext.drain(..length);
                return Ok(Progress::Done(length));
            }
            if let Some(end) = self.state.end {
                return Ok(end);
            }
            let Some(read) = self.receive(socket, Step::Body, plaintext, None)? else {
                return Ok(Progress::WantRead);
            };
            if self.state.outgoing.len() > self.requested + OUTGOING_LIMIT {
                return Err(self
                    .state
                    .give_up(&mut self.machine, "a peer that has us answer and reads nothing"));
            }
            // A peer that reads nothing more may have said why before.
            let sent = self.send_outgoing(socket, Step::Body);
            if read > 0 {
                self.fruitless = 0;
                return Ok(Progress::Done(read));
            }
            if self.state.end.is_none() {
                sent?;
            }
        }
    }

    fn has_received(&self) -> bool {
        let State { plaintext, end, .. } = &self.state;
        !(plaintext.is_empty() && self.partial.is_empty()) || end.is_some()
    }

    fn asked_name(&self) -> usize {
        self.asked_name
    }

    fn gained(&self) -> u32 {
        self.gained
    }

    fn pass_over(&mut self) -> Result<Progress, Failure> {
        self.took_ticket();
        Ok(self.state.end.unwrap_or(Progress::WantRead))
    }

    fn took_ticket(&mut self) -> bool {
        let has_ticket = mem::take(&mut self.has_ticket);
        match &mut self.machine {
            Machine::Library(_) => has_ticket,
            Machine::Minimal(client) => client.took_ticket(),
        }
    }

    /// Frees unused capacity: after a large response it may exceed the whole state of rustls.
    fn rest(&mut self) {
        for buffer in [&mut self.partial, &mut self.state.outgoing, &mut self.state.plaintext] {
            buffer.shrink_to_fit();
        }
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        let Machine::Library(connection) = &self.machine else { return Vec::new() };
        let certificates = connection.peer_certificates().unwrap_or_default();
        certificates.iter().map(|certificate| certificate.as_ref().to_vec()).collect()
    }

    fn reason(&self) -> Option<Reason> {
        if let Some(rule) = self.broken {
            return Some(Reason::named(rule.explain()));
        }
        match (&self.state.error, &self.machine) {
            (Some(error), _) => Some(reason(error, self.state.whole)),
            (None, Machine::Minimal(client)) => client.reason(),
            (None, Machine::Library(_)) => None,
        }
    }
}

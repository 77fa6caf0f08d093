//! Processes received bytes, by rustls or by the minimal client.

use rustls::Error;
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::ConnectionState;

use crate::rustls::client_identity::take_shown;
use crate::rustls::facts::Seen;
use crate::rustls::failure::failure;
use crate::rustls::flight::{Early, encode_flight};
use crate::rustls::minimal::{Event, INTERNAL_ERROR, MinimalClient};
use crate::rustls::{inspection, signed_with};
use crate::{Progress, Urgent};
use tlslab_wire::outcome::Failure;
use tlslab_wire::tls::client_hello_reader::offers_ticket;

/// The TLS implementation. Boxed, because a connection is moved before it becomes idle.
pub enum Machine {
    /// rustls.
    Library(Box<UnbufferedClientConnection>),
    /// The minimal client, if it supports the run's settings.
    Minimal(Box<MinimalClient>),
}

/// The processed bytes of a session.
pub struct State {
    /// Encoded bytes that were not sent yet.
    pub outgoing: Vec<u8>,
    /// Decrypted bytes that were not read yet, because the reader had no room for them.
    pub plaintext: Vec<u8>,
    pub seen: Seen,
    pub ready: bool,
    /// Whether processing stopped early for urgent work.
    pub stopped: bool,
    /// How the peer has ended the session, if it has.
    pub end: Option<Progress>,
    pub error: Option<Error>,
    /// Whether the record with the error was authentic, if known.
    pub whole: Option<bool>,
}

impl State {
    /// The state before the ClientHello.
    pub fn new() -> Self {
        Self {
            outgoing: Vec::new(),
            plaintext: Vec::new(),
            seen: Seen {
                signature_scheme: None,
                ocsp_response_bytes: 0,
                client_authenticated: false,
                ticket_offered: false,
                early: Early::default(),
                authenticated: false,
            },
            ready: false,
            stopped: false,
            end: None,
            error: None,
            whole: None,
        }
    }

    /// Creates the ClientHello, unless it exists already.
    pub fn start(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        match machine {
            Machine::Minimal(client) => return client.begin(&mut self.outgoing),
            Machine::Library(connection) => self.process(connection, &mut [], &mut [], None)?,
        };
        if !self.outgoing.is_empty() {
            self.seen.ticket_offered = self.seen.ticket_offered && offers_ticket(&self.outgoing);
        }
        Ok(())
    }

    /// As [`Self::process`], by the minimal client, which keeps no part of a record.
    pub fn process_minimal(
        &mut self,
        client: &mut MinimalClient,
        incoming: &mut [u8],
        room: &mut [u8],
        urgent: Urgent<'_>,
    ) -> Result<(usize, usize), Failure> {
        let (mut used, mut read) = (0, 0);
        while self.end.is_none()
            && let Some(length) = client.record_length(&incoming[used..], &mut self.outgoing)?
            && let Some(record) = incoming.get_mut(used..used + length)
        {
            match client.record_into(record, &mut room[read..], &mut self.outgoing)? {
                Event::Nothing => {}
                Event::Read(length) => read += length,
                Event::Plaintext(payload) => {
                    read += deliver(payload, &mut room[read..], &mut self.plaintext);
                }
                Event::Closed => self.end = Some(Progress::Closed),
            }
            used += length;
            self.ready = client.is_ready();
            self.stopped =
                used < incoming.len() && !self.ready && urgent.is_some_and(|urgent| urgent());
            if self.stopped {
                break;
            }
        }
        Ok((used, read))
    }

    /// Processes these bytes as far as possible. Returns the number of consumed bytes, and the
    /// length of the plaintext in the room. Stops between two records for urgent work.
    pub fn process(
        &mut self,
        connection: &mut UnbufferedClientConnection,
        incoming: &mut [u8],
        room: &mut [u8],
        urgent: Urgent<'_>,
    ) -> Result<(usize, usize), Failure> {
        let (mut used, mut read) = (0, 0);
        let mut end = if urgent.is_some() { record_end(incoming, 0) } else { incoming.len() };
        loop {
            let status = connection.process_tls_records(&mut incoming[used..end]);
            let discard = status.discard;
            let done = match status.state {
                Ok(ConnectionState::EncodeTlsData(mut flight)) => {
                    let start = self.outgoing.len();
                    encode_flight(&mut self.outgoing, &mut flight);
                    self.seen.early.notice(&self.outgoing[start..]);
                    false
                }
                Ok(ConnectionState::TransmitTlsData(flight)) => {
                    flight.done();
                    false
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = match record {
                            Ok(record) => record,
                            Err(error) => return Err(self.fail(error)),
                        };
                        read += deliver(record.payload, &mut room[read..], &mut self.plaintext);
                    }
                    false
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.end = Some(Progress::Closed);
                    true
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.ready = true;
                    true
                }
                Ok(_) => true,
                Err(error) => {
                    let left = &mut incoming[used + discard..end];
                    self.whole = was_authentic(self.ready, holds_record(left), discard > 0);
                    make_alert(connection, left, &mut self.outgoing);
                    return Err(self.fail(error));
                }
            };
            used += discard;
            if done && self.end.is_some() {
                // A server may answer early data and close with its first flight: the handshake has
                // completed all the same.
                self.ready |= !connection.is_handshaking();
            }
            if done && end == incoming.len() {
                return Ok((used, read));
            }
            if done {
                self.stopped = used == end && !self.ready && urgent.is_some_and(|urgent| urgent());
                if self.stopped {
                    return Ok((used, read));
                }
                end = record_end(incoming, end);
            }
        }
    }

    /// Stores the error of the session; returns the failure.
    pub fn fail(&mut self, error: Error) -> Failure {
        take_shown();
        inspection::take();
        let failure = failure(&error, signed_with::take().is_some());
        self.error = Some(error);
        failure
    }

    /// Ends a session that the library would continue.
    pub fn give_up(&mut self, machine: &mut Machine, words: &str) -> Failure {
        self.error = Some(Error::General(words.to_owned()));
        if let Machine::Minimal(client) = machine {
            client.end_with(INTERNAL_ERROR, &mut self.outgoing);
        }
        Failure::TlsProtocol
    }
}

/// Whether the record with the error was authentic. rustls has one name for two errors: a record
/// that cannot be decrypted, which stays in the input, and a wrong Finished, which does not.
/// `is_left`: a complete record is left in the input; `has_taken`: earlier records were consumed,
/// one of which may have been a Finished.
fn was_authentic(is_ready: bool, is_left: bool, has_taken: bool) -> Option<bool> {
    match (is_left, has_taken) {
        _ if is_ready => Some(false),
        (false, _) => Some(true),
        (true, false) => Some(false),
        (true, true) => None,
    }
}

/// The highest number of outputs of the library after an error: its last flight, and the alert.
const LAST_WORDS: usize = 8;

/// Encodes the alert of the library after an error, and the output before it. The library returns
/// them if it is called again with the remaining input. It must not be called once more: it would
/// report the same bytes as a second error.
fn make_alert(
    connection: &mut UnbufferedClientConnection,
    left: &mut [u8],
    outgoing: &mut Vec<u8>,
) {
    for _ in 0..LAST_WORDS {
        if !connection.wants_write() {
            return;
        }
        match connection.process_tls_records(left).state {
            Ok(ConnectionState::EncodeTlsData(mut flight)) => encode_flight(outgoing, &mut flight),
            _ => return,
        }
    }
}

/// Copies plaintext into the room and appends the rest to `kept`; returns the copied length.
fn deliver(payload: &[u8], room: &mut [u8], kept: &mut Vec<u8>) -> usize {
    let (now, later) = payload.split_at(payload.len().min(room.len()));
    room[..now.len()].copy_from_slice(now);
    kept.extend_from_slice(later);
    now.len()
}

/// True if these bytes begin with a complete record.
fn holds_record(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|&[_, _, _, high, low]: &[u8; 5]| {
        bytes.len() - 5 >= usize::from(u16::from_be_bytes([high, low]))
    })
}

/// The end of the record that begins at `start` (RFC 8446, section 5.1), or of its received part.
fn record_end(incoming: &[u8], start: usize) -> usize {
    let length = incoming
        .get(start + 3..start + 5)
        .map_or(0, |bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
    incoming.len().min(start + 5 + length)
}

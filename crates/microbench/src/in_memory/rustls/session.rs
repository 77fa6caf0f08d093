//! The rustls session of one side, client or server.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{CommonState, HandshakeKind, ProtocolVersion};

use super::trouble;
use crate::in_memory::buffer::Buffer;
use crate::in_memory::library::{HandshakeError, Seen, Side};
use crate::in_memory::role::Role;
use tlslab_tls::rustls::signed_with;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};

/// The common interface of rustls' two kinds of connection.
pub trait Connection {
    /// The data of the connection.
    type Data;

    /// Processes records; see rustls.
    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// The common state of both kinds.
    fn common(&self) -> &CommonState;
}

impl Connection for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn common(&self) -> &CommonState {
        self
    }
}

impl Connection for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn common(&self) -> &CommonState {
        self
    }
}

/// The session of one side.
pub struct RustlsSide<C> {
    connection: C,
    role: Role,
    peer_scheme: Option<SignatureScheme>,
}

impl<C: Connection> RustlsSide<C> {
    pub(super) fn new(connection: C, role: Role) -> Self {
        Self { connection, role, peer_scheme: None }
    }

    fn failed(&self, message: &str) -> HandshakeError {
        HandshakeError { side: self.role, message: message.to_owned() }
    }

    /// Processes all received records: passes on plaintext, appends the bytes to send.
    fn process(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError> {
        loop {
            let status = self.connection.process(incoming.unread());
            let discard = status.discard;
            let waits = match status.state.map_err(|error| trouble(self.role, &error))? {
                ConnectionState::EncodeTlsData(mut flight) => {
                    written(outgoing, |room| match flight.encode(room) {
                        Ok(length) => Ok(length),
                        Err(EncodeError::InsufficientSize(needs)) => Err(needs.required_size),
                        Err(EncodeError::AlreadyEncoded) => Ok(0),
                    });
                    false
                }
                ConnectionState::TransmitTlsData(flight) => {
                    flight.done();
                    false
                }
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        show(record.map_err(|error| trouble(self.role, &error))?.payload);
                    }
                    false
                }
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => true,
                _ => return Err(self.failed("the other side has ended the session")),
            };
            incoming.consume(discard);
            if waits {
                return Ok(());
            }
        }
    }
}

/// Appends the output of `write`, which returns the required room if it has too little.
fn written(outgoing: &mut Buffer, mut write: impl FnMut(&mut [u8]) -> Result<usize, usize>) {
    loop {
        match write(outgoing.spare()) {
            Ok(length) => return outgoing.fill(length),
            Err(needed) => outgoing.reserve(needed),
        }
    }
}

impl<C: Connection> Side for RustlsSide<C> {
    fn advance(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
    ) -> Result<(), HandshakeError> {
        self.process(incoming, outgoing, &mut |_| {})?;
        if let Some(scheme) = signed_with::take() {
            self.peer_scheme = Some(SignatureScheme::from_code_point(scheme));
        }
        if incoming.is_empty() { Ok(()) } else { Err(self.failed("part of a flight is left over")) }
    }

    fn is_done(&self) -> bool {
        !self.connection.common().is_handshaking()
    }

    fn seen(&self) -> Seen {
        let common = self.connection.common();
        let group = common.negotiated_key_exchange_group();
        Seen {
            version: match common.protocol_version() {
                Some(ProtocolVersion::TLSv1_3) => TlsVersion::Tls13,
                _ => TlsVersion::Tls12,
            },
            suite: CipherSuite::from_code_point(
                common.negotiated_cipher_suite().map_or(0, |suite| suite.suite().into()),
            ),
            group: group.map(|group| group.name().into()),
            peer_scheme: self.peer_scheme,
            resumed: common.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }

    fn seal(&mut self, plaintext: &[u8], outgoing: &mut Buffer) -> Result<(), HandshakeError> {
        let status = self.connection.process(&mut []);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else {
            return Err(self.failed("the session takes no plaintext"));
        };
        let mut exhausted = false;
        written(outgoing, |room| match traffic.encrypt(plaintext, room) {
            Ok(length) => Ok(length),
            Err(EncryptError::InsufficientSize(needs)) => Err(needs.required_size),
            Err(EncryptError::EncryptExhausted) => {
                exhausted = true;
                Ok(0)
            }
        });
        if exhausted { Err(self.failed("the key is used up")) } else { Ok(()) }
    }

    fn open(
        &mut self,
        incoming: &mut Buffer,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError> {
        // Only alerts and key updates would need an answer, and neither is sent here.
        self.process(incoming, &mut Buffer::empty(), show)
    }
}

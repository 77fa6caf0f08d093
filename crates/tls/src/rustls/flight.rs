//! Encodes the output of rustls into a connection's own buffer: messages, early data, records.

use rustls::client::ClientConnectionData;
use rustls::unbuffered::{EncodeError, EncodeTlsData, EncryptError, TransmitTlsData, WriteTraffic};

/// The initial room for an encoded flight in bytes. rustls reports if more is needed (the
/// ClientHello of a hybrid group has some 1,400 bytes).
const FLIGHT_SIZE: usize = 512;

/// The length of a record with EndOfEarlyData: record header, handshake header, content type, AEAD
/// tag (RFC 8446, sections 4.5 and 5.2). No other client message is that short.
const END_OF_EARLY_DATA: usize = 5 + 4 + 1 + 16;

/// Content type of encrypted records (RFC 8446, section 5.2).
const APPLICATION_DATA: u8 = 23;

/// The highest plaintext length of a record in bytes (RFC 8446, section 5.1).
const RECORD: usize = 16 * 1024;

/// Room for the bytes that encryption adds to a record.
const EXPANSION: usize = 64;

/// The state of one connection's early data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Early {
    /// The number of bytes of early data that the resumed session allows.
    pub limit: usize,
    /// Whether early data was sent.
    pub sent: bool,
    /// Whether the server has accepted the early data.
    pub accepted: bool,
}

impl Early {
    /// Detects from the client's own messages that the server has accepted the early data: only
    /// then does the client send EndOfEarlyData (RFC 8446, section 4.5). rustls reports the
    /// acceptance only in its buffered interface.
    pub fn notice(&mut self, encoded: &[u8]) {
        let ends = encoded.len() == END_OF_EARLY_DATA && encoded[0] == APPLICATION_DATA;
        self.accepted |= self.sent && ends;
    }
}

/// Appends a handshake message to the buffer.
pub fn encode_flight(buffer: &mut Vec<u8>, flight: &mut EncodeTlsData<'_, ClientConnectionData>) {
    encode(buffer, |buffer| match flight.encode(buffer) {
        Err(EncodeError::InsufficientSize(needs)) => Err(needs.required_size),
        Err(EncodeError::AlreadyEncoded) => Ok(0),
        Ok(length) => Ok(length),
    });
}

/// Encrypts early data; returns whether that succeeded. The buffer needs enough room at the first
/// call: rustls counts each call against the session's limit, even a call that finds too little
/// room.
pub fn encrypt_early(
    buffer: &mut Vec<u8>,
    flight: &mut TransmitTlsData<'_, ClientConnectionData>,
    plaintext: &[u8],
) -> bool {
    let Some(mut early) = flight.may_encrypt_early_data() else { return false };
    let kept = buffer.len();
    let records = plaintext.len() / RECORD + 1;
    buffer.resize(kept + plaintext.len() + records * EXPANSION, 0);
    let encrypted = early.encrypt(plaintext, &mut buffer[kept..]);
    buffer.truncate(kept + encrypted.as_ref().map_or(0, |length| *length));
    encrypted.is_ok()
}

/// Encrypts plaintext; returns false if the keys may not protect another record.
#[inline]
pub fn encrypt(
    buffer: &mut Vec<u8>,
    traffic: &mut WriteTraffic<'_, ClientConnectionData>,
    plaintext: &[u8],
) -> bool {
    let mut exhausted = false;
    encode(buffer, |buffer| match traffic.encrypt(plaintext, buffer) {
        Ok(length) => Ok(length),
        Err(EncryptError::InsufficientSize(needs)) => Err(needs.required_size),
        Err(EncryptError::EncryptExhausted) => {
            exhausted = true;
            Ok(0)
        }
    });
    !exhausted
}

/// Appends a close_notify alert, unless the keys may not protect another record.
pub fn encode_close_notify(
    buffer: &mut Vec<u8>,
    traffic: &mut WriteTraffic<'_, ClientConnectionData>,
) {
    encode(buffer, |buffer| match traffic.queue_close_notify(buffer) {
        Ok(length) => Ok(length),
        Err(EncryptError::InsufficientSize(needs)) => Err(needs.required_size),
        Err(EncryptError::EncryptExhausted) => Ok(0),
    });
}

/// Grows the buffer until `encoder` finds enough room after the content.
fn encode(buffer: &mut Vec<u8>, mut encoder: impl FnMut(&mut [u8]) -> Result<usize, usize>) {
    let kept = buffer.len();
    let mut room = FLIGHT_SIZE;
    loop {
        buffer.resize(kept + room, 0);
        match encoder(&mut buffer[kept..]) {
            Ok(length) => return buffer.truncate(kept + length),
            Err(needed) => room = needed,
        }
    }
}

//! Notes about the handshake messages of a client's session, which OpenSSL passes to a callback:
//! facts that no other call returns, and rules that the server breaks.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{SslContextBuilder, SslRef};
use foreign_types::ForeignTypeRef;
use openssl_sys as sys;

use crate::HELLO_RETRY_REQUEST;
use crate::observer::{Extensions, Offer, broken_by_encrypted};
use tlslab_wire::rule::Rule;

/// Content types, and types of handshake messages (RFC 8446, appendices B.1 and B.3).
const CHANGE_CIPHER_SPEC: c_int = 20;
const HANDSHAKE: c_int = 22;
const APPLICATION_DATA: c_int = 23;
const HELLO_REQUEST: u8 = 0;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;

/// The pseudo content type of the message callback for the header of a record (`SSL3_RT_HEADER` of
/// openssl/ssl3.h).
const RECORD_HEADER: c_int = 256;

const KEY_UPDATE: u8 = 24;

/// The parts of a session's note, in this order: the server sent a HelloRetryRequest; the client
/// signed with its own key; the ServerHello took a PSK without a key exchange; the server's
/// Finished has arrived; a ticket has arrived; the first rule that the server broke, by its place
/// in [`Rule::ALL`] from 1; the unit in which messages that carry nothing are counted.
const RETRIED: usize = 1;
const SIGNED: usize = 2;
const WITHOUT_EXCHANGE: usize = 4;
const IS_FINISHED: usize = 8;
const HAS_TICKET: usize = 16;
const ONE_RULE: usize = 32;
const ONE_MESSAGE: usize = 64 * ONE_RULE;

/// The length of the longest TLS 1.3 record: content, content type and tag (RFC 8446, sections 5.2
/// and 5.4). All suites but CCM_8 have tags of 16 bytes.
const LONGEST_PROTECTED: usize = (1 << 14) + 1 + 16;

/// Extensions of a ServerHello (RFC 8446, section 4.2).
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

/// The highest number of KeyUpdates and HelloRequests without plaintext between them: the limit of
/// rustls and of the minimal client. Tickets are limited by their bytes, as for every client
/// ([`FRUITLESS_LIMIT`](crate::FRUITLESS_LIMIT)).
const MESSAGE_LIMIT: usize = 32;

/// The place of the `random` in a ServerHello: after message type, length and version.
const RANDOM: std::ops::Range<usize> = 6..38;

type MessageCallback = unsafe extern "C" fn(
    write: c_int,
    version: c_int,
    content_type: c_int,
    message: *const c_void,
    length: usize,
    ssl: *mut sys::SSL,
    argument: *mut c_void,
);

unsafe extern "C" {
    fn SSL_CTX_set_msg_callback(context: *mut sys::SSL_CTX, callback: MessageCallback);
}

/// Makes the sessions of this context note their handshake messages: see
/// [`saw_hello_retry_request`], [`client_signed`] and [`is_flooded`].
pub fn watch(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    if note_index() < 0 || offered_index() < 0 {
        return Err(ErrorStack::get());
    }
    // SAFETY: the context is valid and the callback lives for ever.
    unsafe { SSL_CTX_set_msg_callback(context.as_ptr(), note_message) };
    Ok(())
}

/// True if the session's server sent a HelloRetryRequest.
pub fn saw_hello_retry_request(ssl: &SslRef) -> bool {
    note(ssl) & RETRIED != 0
}

/// True if the server requested a certificate and the session's client sent one. The client's
/// CertificateVerify message proves both.
pub fn client_signed(ssl: &SslRef) -> bool {
    note(ssl) & SIGNED != 0
}

/// True if the session's server took a PSK without a key exchange.
pub fn is_without_exchange(ssl: &SslRef) -> bool {
    note(ssl) & WITHOUT_EXCHANGE != 0
}

/// True if the session was closed because its server sent too many messages that carry nothing.
pub fn is_flooded(ssl: &SslRef) -> bool {
    note(ssl) / ONE_MESSAGE > MESSAGE_LIMIT
}

/// The rule that the session's server broke in the encrypted part of the connection; `None` if it
/// broke none.
pub fn broken(ssl: &SslRef) -> Option<Rule> {
    let place = (note(ssl) % ONE_MESSAGE / ONE_RULE).checked_sub(1)?;
    Rule::ALL.get(place).copied()
}

/// The note with the broken rule, unless it already has one.
fn with_broken(rule: Rule, noted: usize) -> usize {
    let place = Rule::ALL.iter().position(|known| *known == rule).map_or(0, |place| place + 1);
    let is_first = noted % ONE_MESSAGE < ONE_RULE;
    if is_first { noted + place * ONE_RULE } else { noted }
}

/// True if a ticket has arrived since the last call.
pub fn took_ticket(ssl: &SslRef) -> bool {
    let note = note(ssl);
    if note & HAS_TICKET != 0 {
        // SAFETY: the session is valid.
        unsafe { set_slot(ssl.as_ptr(), note_index(), note & !HAS_TICKET) };
    }
    note & HAS_TICKET != 0
}

/// Resets the count of messages that carry nothing, because plaintext has arrived.
pub fn got_on(ssl: &SslRef) {
    let note = note(ssl);
    if note >= ONE_MESSAGE {
        // SAFETY: the session is valid.
        unsafe { set_slot(ssl.as_ptr(), note_index(), note % ONE_MESSAGE) };
    }
}

/// A session's note: the bits from [`RETRIED`] to [`HAS_TICKET`], the broken rule, and
/// [`ONE_MESSAGE`] for each message that carries nothing.
fn note(ssl: &SslRef) -> usize {
    // SAFETY: the session is valid; the slot holds a number, which is never dereferenced.
    unsafe { sys::SSL_get_ex_data(ssl.as_ptr(), note_index()) }.addr()
}

/// # Safety
/// The session is valid.
unsafe fn set_slot(ssl: *mut sys::SSL, index: c_int, value: usize) {
    // SAFETY: by this function's own contract; the value is only a number.
    unsafe { sys::SSL_set_ex_data(ssl, index, ptr::without_provenance_mut(value)) };
}

/// The index of the slot of a session's extra data that holds its note. The slot is null until
/// there is something to note. It holds a plain number, so that a connection allocates nothing for
/// it.
fn note_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    *INDEX.get_or_init(new_index)
}

/// The index of the slot that holds the extensions that the client offered.
fn offered_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    *INDEX.get_or_init(new_index)
}

fn new_index() -> c_int {
    // SAFETY: no callbacks are registered, and the argument is never used.
    unsafe {
        sys::CRYPTO_get_ex_new_index(sys::CRYPTO_EX_INDEX_SSL, 0, ptr::null_mut(), None, None, None)
    }
}

/// Notes a HelloRetryRequest, the client's signature, and rules that the server breaks. Counts
/// messages that carry nothing, and closes the session if there are too many: OpenSSL itself
/// accepts any number, and each KeyUpdate costs it a tenth of a millisecond.
unsafe extern "C" fn note_message(
    write: c_int,
    _version: c_int,
    content_type: c_int,
    message: *const c_void,
    length: usize,
    ssl: *mut sys::SSL,
    _argument: *mut c_void,
) {
    if length == 0 {
        return;
    }
    // SAFETY: OpenSSL hands in the whole message, `length` bytes long, for the time of this call;
    // the session is valid during its own callback.
    let (message, before) = unsafe {
        let slot = sys::SSL_get_ex_data(ssl, note_index());
        (std::slice::from_raw_parts(message.cast::<u8>(), length), slot.addr())
    };
    let noted = match content_type {
        // SAFETY: as above.
        HANDSHAKE if write != 0 => unsafe { note_sent(ssl, message, before) },
        // SAFETY: as above.
        HANDSHAKE => unsafe { note_received(ssl, message, before) },
        // SAFETY: as above.
        RECORD_HEADER if write == 0 => unsafe { note_record(ssl, message, before) },
        _ => return,
    };
    if noted == before {
        return;
    }
    // SAFETY: as above.
    unsafe {
        set_slot(ssl, note_index(), noted);
        if noted / ONE_MESSAGE > MESSAGE_LIMIT {
            sys::SSL_set_shutdown(ssl, sys::SSL_RECEIVED_SHUTDOWN);
        }
    }
}

/// Notes a message from the client; returns the new note.
///
/// # Safety
/// The session is valid.
unsafe fn note_sent(ssl: *mut sys::SSL, message: &[u8], noted: usize) -> usize {
    match message[0] {
        CERTIFICATE_VERIFY => noted | SIGNED,
        CLIENT_HELLO => {
            let offered = Offer::of_client_hello(message).map_or(0, |offer| offer.extensions.0);
            // SAFETY: by this function's own contract.
            unsafe { set_slot(ssl, offered_index(), offered as usize) };
            noted
        }
        _ => noted,
    }
}

/// Notes a message from the server; returns the new note.
///
/// # Safety
/// The session is valid.
unsafe fn note_received(ssl: *mut sys::SSL, message: &[u8], noted: usize) -> usize {
    // SAFETY: by this function's own contract.
    let is_tls13 = || unsafe { sys::SSL_version(ssl) } == sys::TLS1_3_VERSION;
    // SAFETY: as above.
    let offered =
        || Extensions(unsafe { sys::SSL_get_ex_data(ssl, offered_index()) }.addr() as u64);
    match message[0] {
        SERVER_HELLO if message.get(RANDOM) == Some(&HELLO_RETRY_REQUEST) => noted | RETRIED,
        SERVER_HELLO if takes_key_alone(message) => noted | WITHOUT_EXCHANGE,
        NEW_SESSION_TICKET => noted | HAS_TICKET,
        KEY_UPDATE => noted + ONE_MESSAGE,
        FINISHED if is_tls13() => noted | IS_FINISHED,
        HELLO_REQUEST if is_tls13() => with_broken(Rule::HelloRequest, noted),
        HELLO_REQUEST => noted + ONE_MESSAGE,
        _ if is_tls13() => match broken_by_encrypted(message, offered()) {
            Some(rule) => with_broken(rule, noted),
            None => noted,
        },
        _ => noted,
    }
}

/// Notes the header of a record; returns the new note.
///
/// # Safety
/// The session is valid.
unsafe fn note_record(ssl: *mut sys::SSL, header: &[u8], noted: usize) -> usize {
    let &[kind, _, _, high, low] = header else { return noted };
    let (kind, length) = (c_int::from(kind), usize::from(u16::from_be_bytes([high, low])));
    let is_late = noted & IS_FINISHED != 0;
    // SAFETY: by this function's own contract.
    let is_tls13 = || unsafe { sys::SSL_version(ssl) } == sys::TLS1_3_VERSION;
    match kind {
        CHANGE_CIPHER_SPEC if is_late || length != 1 => with_broken(Rule::ChangeCipherSpec, noted),
        APPLICATION_DATA if length > LONGEST_PROTECTED && is_tls13() => {
            with_broken(Rule::RecordOverflow, noted)
        }
        _ => noted,
    }
}

/// True if a ServerHello takes a PSK and has no key share.
fn takes_key_alone(message: &[u8]) -> bool {
    extensions(message).is_some_and(|mut extensions| {
        let (mut key, mut share) = (false, false);
        while let Some(([a, b, c, d], rest)) = extensions.split_first_chunk() {
            let number = u16::from_be_bytes([*a, *b]);
            key |= number == PRE_SHARED_KEY;
            share |= number == KEY_SHARE;
            let length = usize::from(u16::from_be_bytes([*c, *d]));
            extensions = rest.get(length..).unwrap_or_default();
        }
        key && !share
    })
}

/// The extensions of a ServerHello, which follow the session ID, the suite, the compression method
/// and their own length (RFC 8446, section 4.1.3). `None` if the message is too short.
fn extensions(message: &[u8]) -> Option<&[u8]> {
    let session_id = usize::from(*message.get(RANDOM.end)?);
    message.get(RANDOM.end + 1 + session_id + 2 + 1 + 2..)
}

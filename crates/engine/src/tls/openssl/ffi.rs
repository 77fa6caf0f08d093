//! What the `openssl` crate does not wrap: every call into the C library outside of it is here.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{SslContextBuilder, SslRef, SslSessionRef};
use foreign_types::ForeignTypeRef;
use openssl_sys as sys;

use crate::tls::{EarlyData, HELLO_RETRY_REQUEST};

/// `SSL_CTRL_SET_MAX_CERT_LIST` of openssl/ssl.h.
const SET_MAX_CERT_LIST: c_int = 51;

/// `SSL_CTRL_GET_PEER_SIGNATURE_NAME` of openssl/ssl.h, since OpenSSL 3.5.
const GET_PEER_SIGNATURE_NAME: c_int = 141;

/// Content type of handshake messages, and types of some (RFC 8446, appendices B.1 and B.3).
const HANDSHAKE: c_int = 22;
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const CERTIFICATE_VERIFY: u8 = 15;
const KEY_UPDATE: u8 = 24;

/// The parts of a session's note: whether there was a HelloRetryRequest, whether the client signed
/// with its own key, whether the ServerHello took a pre-shared key without a key exchange, and the
/// number of messages since that carry nothing.
const RETRIED: usize = 1;
const SIGNED: usize = 2;
const WITHOUT_EXCHANGE: usize = 4;
const ONE_MESSAGE: usize = 8;

/// Extensions of a ServerHello (RFC 8446, section 4.2).
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

/// `SSL_OP_ALLOW_NO_DHE_KEX` and `SSL_OP_PREFER_NO_DHE_KEX` of openssl/ssl.h.
const ALLOW_NO_DHE_KEX: u64 = 1 << 10;
const PREFER_NO_DHE_KEX: u64 = 1 << 35;

/// `SSL_EARLY_DATA_REJECTED` and `SSL_EARLY_DATA_ACCEPTED` of openssl/ssl.h.
const EARLY_DATA_REJECTED: c_int = 1;
const EARLY_DATA_ACCEPTED: c_int = 2;

/// The most tickets and KeyUpdates that may come without plaintext between them; rustls and the
/// OpenSSL of old draw the line there too.
const MESSAGE_LIMIT: usize = 32;

/// Where a ServerHello's random lies: behind message type, length and version.
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

type VerifyCallback =
    unsafe extern "C" fn(store: *mut sys::X509_STORE_CTX, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_msg_callback(context: *mut sys::SSL_CTX, callback: MessageCallback);
    fn SSL_CTX_set_cert_verify_callback(
        context: *mut sys::SSL_CTX,
        callback: VerifyCallback,
        argument: *mut c_void,
    );
    fn SSL_CTX_set_options(context: *mut sys::SSL_CTX, options: u64) -> u64;
    fn SSL_SESSION_has_ticket(session: *const sys::SSL_SESSION) -> c_int;
    fn SSL_get_early_data_status(ssl: *const sys::SSL) -> c_int;
}

/// Lets a TLS 1.3 session be resumed by its key alone, without a key exchange. A client then offers
/// both ways, and the server chooses; a server chooses this one.
pub fn allow_psk_without_key_exchange(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call takes a number and no pointer.
    unsafe { SSL_CTX_set_options(context.as_ptr(), ALLOW_NO_DHE_KEX | PREFER_NO_DHE_KEX) };
}

/// Whether a session of TLS 1.2 is resumed by a ticket, and not by its ID.
pub fn has_ticket(session: &SslSessionRef) -> bool {
    // SAFETY: the session is valid.
    unsafe { SSL_SESSION_has_ticket(session.as_ptr()) == 1 }
}

/// What became of early data.
pub fn early_data(ssl: &SslRef) -> EarlyData {
    // SAFETY: the session is valid.
    match unsafe { SSL_get_early_data_status(ssl.as_ptr()) } {
        EARLY_DATA_ACCEPTED => EarlyData::Accepted,
        EARLY_DATA_REJECTED => EarlyData::Rejected,
        _ => EarlyData::None,
    }
}

/// Limits the size of the certificate message that a server may send, in bytes.
pub fn limit_certificates(context: &mut SslContextBuilder, bytes: usize) {
    // SAFETY: the context is valid; this control takes a number and no pointer.
    unsafe {
        sys::SSL_CTX_ctrl(context.as_ptr(), SET_MAX_CERT_LIST, bytes as c_long, ptr::null_mut());
    }
}

/// Takes every certificate chain for good, without looking at it. With `SSL_VERIFY_NONE` alone
/// OpenSSL still verifies the chain, pays for it, and drops the result.
pub fn accept_any_chain(context: &mut SslContextBuilder) {
    unsafe extern "C" fn accept(_: *mut sys::X509_STORE_CTX, _: *mut c_void) -> c_int {
        1
    }
    // SAFETY: the context is valid, and the callback lives for ever and uses none of its arguments.
    unsafe { SSL_CTX_set_cert_verify_callback(context.as_ptr(), accept, ptr::null_mut()) }
}

/// Takes servers that do not know secure renegotiation (RFC 5746), as those of old do not. Clients
/// here never renegotiate.
pub fn accept_legacy_servers(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call sets a flag.
    unsafe { sys::SSL_CTX_set_options(context.as_ptr(), sys::SSL_OP_LEGACY_SERVER_CONNECT) };
}

/// Makes the sessions of this context watch their handshake messages: see
/// [`saw_hello_retry_request`], [`client_signed`] and [`is_flooded`].
pub fn watch_messages(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    if note_index() < 0 {
        return Err(ErrorStack::get());
    }
    // SAFETY: the context is valid and the callback lives for ever.
    unsafe { SSL_CTX_set_msg_callback(context.as_ptr(), note_message) };
    Ok(())
}

/// Whether the session's server sent a HelloRetryRequest.
pub fn saw_hello_retry_request(ssl: &SslRef) -> bool {
    note(ssl) & RETRIED != 0
}

/// Whether the server asked the session's client for a certificate, and the client showed one: its
/// CertificateVerify message proves both.
pub fn client_signed(ssl: &SslRef) -> bool {
    note(ssl) & SIGNED != 0
}

/// Whether the session's server took a pre-shared key without a key exchange.
pub fn is_without_exchange(ssl: &SslRef) -> bool {
    note(ssl) & WITHOUT_EXCHANGE != 0
}

/// Whether the session was closed because its server sent too many messages that carry nothing.
pub fn is_flooded(ssl: &SslRef) -> bool {
    note(ssl) / ONE_MESSAGE > MESSAGE_LIMIT
}

/// Forgives the messages that carried nothing, since there was plaintext now.
pub fn got_on(ssl: &SslRef) {
    let note = note(ssl);
    if note >= ONE_MESSAGE {
        // SAFETY: the session is valid.
        unsafe { set_note(ssl.as_ptr(), note % ONE_MESSAGE) };
    }
}

/// A session's note: [`RETRIED`], [`SIGNED`], [`WITHOUT_EXCHANGE`], and how often [`ONE_MESSAGE`].
fn note(ssl: &SslRef) -> usize {
    // SAFETY: the session is valid; the slot holds a number, which is never dereferenced.
    unsafe { sys::SSL_get_ex_data(ssl.as_ptr(), note_index()) }.addr()
}

/// # Safety
/// The session is valid.
unsafe fn set_note(ssl: *mut sys::SSL, note: usize) {
    // SAFETY: by this function's own contract; the value is only a number.
    unsafe { sys::SSL_set_ex_data(ssl, note_index(), ptr::without_provenance_mut(note)) };
}

/// The slot of a session's extra data that holds its note: null until there is something to note.
/// A plain slot, so that a connection allocates nothing for it.
fn note_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    // SAFETY: no callbacks are registered, and the argument is never used.
    *INDEX.get_or_init(|| unsafe {
        sys::CRYPTO_get_ex_new_index(sys::CRYPTO_EX_INDEX_SSL, 0, ptr::null_mut(), None, None, None)
    })
}

/// Notes a HelloRetryRequest, and a signature of the client's; counts messages that carry nothing, and
/// closes the session at too many: OpenSSL itself takes any number, and each KeyUpdate costs it a tenth
/// of a millisecond.
unsafe extern "C" fn note_message(
    write: c_int,
    _version: c_int,
    content_type: c_int,
    message: *const c_void,
    length: usize,
    ssl: *mut sys::SSL,
    _argument: *mut c_void,
) {
    if content_type != HANDSHAKE || length == 0 {
        return;
    }
    // SAFETY: OpenSSL hands in the whole message, `length` bytes long, for the time of this call;
    // the session is valid during its own callback.
    let (message, noted) = unsafe {
        let slot = sys::SSL_get_ex_data(ssl, note_index());
        (std::slice::from_raw_parts(message.cast::<u8>(), length), slot.addr())
    };
    let noted = match message[0] {
        CERTIFICATE_VERIFY if write != 0 => noted | SIGNED,
        _ if write != 0 => return,
        SERVER_HELLO if message.get(RANDOM) == Some(&HELLO_RETRY_REQUEST) => noted | RETRIED,
        SERVER_HELLO if takes_key_alone(message) => noted | WITHOUT_EXCHANGE,
        NEW_SESSION_TICKET | KEY_UPDATE => noted + ONE_MESSAGE,
        _ => return,
    };
    // SAFETY: as above.
    unsafe {
        set_note(ssl, noted);
        if noted / ONE_MESSAGE > MESSAGE_LIMIT {
            sys::SSL_set_shutdown(ssl, sys::SSL_RECEIVED_SHUTDOWN);
        }
    }
}

/// Whether a ServerHello takes a pre-shared key and has no key share.
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

/// The extensions of a ServerHello: behind the session ID, the suite and the compression method, and
/// behind their own length (RFC 8446, section 4.1.3).
fn extensions(message: &[u8]) -> Option<&[u8]> {
    let session_id = usize::from(*message.get(RANDOM.end)?);
    message.get(RANDOM.end + 1 + session_id + 2 + 1 + 2..)
}

/// OpenSSL's name of the group that the handshake used; `None` when it used none that has a name.
pub fn group_name(ssl: &SslRef) -> Option<&str> {
    // SAFETY: the session is valid; the name belongs to its context, which it keeps alive.
    unsafe { text(sys::SSL_get0_group_name(ssl.as_ptr())) }
}

/// IANA's name of the scheme that the peer signed the handshake with; `None` when it signed none.
pub fn peer_signature_name(ssl: &SslRef) -> Option<&str> {
    let mut name: *const c_char = ptr::null();
    // SAFETY: the control stores a pointer to a name that its context owns, or leaves it alone.
    unsafe {
        sys::SSL_ctrl(ssl.as_ptr(), GET_PEER_SIGNATURE_NAME, 0, (&raw mut name).cast());
        text(name)
    }
}

/// # Safety
/// The pointer is null, or points to a string that lives as long as the result is used.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: by this function's own contract.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }).and_then(|name| name.to_str().ok())
}

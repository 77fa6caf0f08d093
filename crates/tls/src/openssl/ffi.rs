//! What the `openssl` crate does not wrap: every call into OpenSSL outside of it is here, for all
//! crates. Those into aws-lc are in `rustls/ffi.rs`.

pub mod key_exchange;
pub mod session;

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::ptr;
use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{SslContextBuilder, SslRef, SslSessionRef};
use ::openssl::x509::X509Ref;
use foreign_types::ForeignTypeRef;
use openssl_sys as sys;

use crate::observer::{EMPTY_PROTECTED, Extensions, field};
use crate::{EarlyData, HELLO_RETRY_REQUEST};
use tlslab_wire::rule::Rule;

/// `SSL_CTRL_SET_MAX_CERT_LIST` of openssl/ssl.h.
const SET_MAX_CERT_LIST: c_int = 51;

/// `SSL_CTRL_GET_PEER_SIGNATURE_NAME` of openssl/ssl.h, since OpenSSL 3.5.
const GET_PEER_SIGNATURE_NAME: c_int = 141;

/// `SSL_CTRL_GET_RI_SUPPORT` of openssl/ssl.h.
const GET_RI_SUPPORT: c_int = 76;

/// Content type of handshake messages, and types of some (RFC 8446, appendices B.1 and B.3).
const CHANGE_CIPHER_SPEC: c_int = 20;
const HANDSHAKE: c_int = 22;
const HELLO_REQUEST: u8 = 0;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;

/// Pseudo content types of the message callback: it gets a record's header, or the content type within
/// a record of TLS 1.3 (`SSL3_RT_HEADER` and `SSL3_RT_INNER_CONTENT_TYPE` of openssl/ssl3.h).
const RECORD_HEADER: c_int = 256;
const INNER_CONTENT_TYPE: c_int = 257;

const KEY_UPDATE: u8 = 24;

/// The parts of a session's note: whether there was a HelloRetryRequest, whether the client signed
/// with its own key, whether the ServerHello took a pre-shared key without a key exchange, whether the
/// server's Finished is there, whether the record that is read is empty, which rules the server has
/// broken, and the number of messages since that carry nothing.
const RETRIED: usize = 1;
const SIGNED: usize = 2;
const WITHOUT_EXCHANGE: usize = 4;
const IS_FINISHED: usize = 8;
const IS_EMPTY: usize = 16;
const BROKEN_EXTENSION: usize = 32;
const BROKEN_EMPTY: usize = 64;
const BROKEN_CHANGE: usize = 128;
const BROKEN_REQUEST: usize = 256;
const ONE_MESSAGE: usize = 512;

/// Extensions of a ServerHello (RFC 8446, section 4.2).
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

/// `SSL_OP_ALLOW_NO_DHE_KEX` and `SSL_OP_PREFER_NO_DHE_KEX` of openssl/ssl.h.
const ALLOW_NO_DHE_KEX: u64 = 1 << 10;
const PREFER_NO_DHE_KEX: u64 = 1 << 35;

/// `SSL_EARLY_DATA_REJECTED` and `SSL_EARLY_DATA_ACCEPTED` of openssl/ssl.h.
const EARLY_DATA_REJECTED: c_int = 1;
const EARLY_DATA_ACCEPTED: c_int = 2;

/// The most tickets and KeyUpdates that may come without plaintext between them: the limit of rustls
/// and of older releases of OpenSSL.
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
    fn SSL_SESSION_get_ticket_lifetime_hint(session: *const sys::SSL_SESSION) -> c_ulong;
    fn SSL_renegotiate(ssl: *mut sys::SSL) -> c_int;
}

/// Lets a TLS 1.3 session be resumed by its key alone, without a key exchange. A client then offers
/// both ways, and the server chooses; a server chooses this one.
pub fn allow_psk_without_key_exchange(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call takes a number and no pointer.
    unsafe { SSL_CTX_set_options(context.as_ptr(), ALLOW_NO_DHE_KEX | PREFER_NO_DHE_KEX) };
}

/// Whether a session is resumed by a ticket, and not by its ID.
pub fn has_ticket(session: &SslSessionRef) -> bool {
    // SAFETY: the session is valid.
    unsafe { SSL_SESSION_has_ticket(session.as_ptr()) == 1 }
}

/// The lifetime that came with a session's ticket, in seconds.
pub fn ticket_lifetime_s(session: &SslSessionRef) -> u64 {
    // SAFETY: the session is valid.
    unsafe { SSL_SESSION_get_ticket_lifetime_hint(session.as_ptr()) }
}

/// Whether the server supports secure renegotiation (RFC 5746).
pub fn has_secure_renegotiation(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid; this control takes nothing and returns a flag.
    unsafe { sys::SSL_ctrl(ssl.as_ptr(), GET_RI_SUPPORT, 0, ptr::null_mut()) == 1 }
}

/// Has the next handshake call of a connection negotiate anew; false where its version cannot.
pub fn begin_renegotiation(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid; the call notes that a handshake is to be made.
    unsafe { SSL_renegotiate(ssl.as_ptr()) == 1 }
}

/// Has a server choose the primes of DHE suites by the strength of its key (RFC 3526, RFC 7919).
pub fn choose_dh_parameters(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call sets a flag.
    unsafe { sys::SSL_CTX_set_dh_auto(context.as_ptr(), 1) };
}

/// Whether the server accepted early data.
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

/// Accepts every certificate chain without verification. With `SSL_VERIFY_NONE` alone OpenSSL still
/// verifies the chain, which costs time, and ignores the result.
pub fn accept_any_chain(context: &mut SslContextBuilder) {
    unsafe extern "C" fn accept(_: *mut sys::X509_STORE_CTX, _: *mut c_void) -> c_int {
        1
    }
    // SAFETY: the context is valid, and the callback lives for ever and uses none of its arguments.
    unsafe { SSL_CTX_set_cert_verify_callback(context.as_ptr(), accept, ptr::null_mut()) }
}

/// Accepts servers without secure renegotiation (RFC 5746), as old servers are. No client under load
/// renegotiates.
pub fn accept_legacy_servers(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call sets a flag.
    unsafe { sys::SSL_CTX_set_options(context.as_ptr(), sys::SSL_OP_LEGACY_SERVER_CONNECT) };
}

/// Makes the sessions of this context watch their handshake messages: see
/// [`saw_hello_retry_request`], [`client_signed`] and [`is_flooded`].
pub fn watch_messages(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    if note_index() < 0 || offered_index() < 0 {
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

/// The rule that the session's server has broken within what is encrypted, if it has.
pub fn broken(ssl: &SslRef) -> Option<Rule> {
    let note = note(ssl);
    BROKEN.iter().find(|(bit, _)| note & bit != 0).map(|(_, rule)| *rule)
}

const BROKEN: [(usize, Rule); 4] = [
    (BROKEN_EXTENSION, Rule::Extension),
    (BROKEN_EMPTY, Rule::EmptyRecord),
    (BROKEN_CHANGE, Rule::ChangeCipherSpec),
    (BROKEN_REQUEST, Rule::HelloRequest),
];

/// Sets the count of messages that carry nothing to zero: plaintext has arrived.
pub fn got_on(ssl: &SslRef) {
    let note = note(ssl);
    if note >= ONE_MESSAGE {
        // SAFETY: the session is valid.
        unsafe { set_slot(ssl.as_ptr(), note_index(), note % ONE_MESSAGE) };
    }
}

/// A session's note: [`RETRIED`], [`SIGNED`], [`WITHOUT_EXCHANGE`], and how often [`ONE_MESSAGE`].
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

/// The slot of a session's extra data that holds its note: null until there is something to note.
/// A plain slot, so that a connection allocates nothing for it.
fn note_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    *INDEX.get_or_init(new_index)
}

/// The slot that holds the extensions that the client has offered.
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

/// Notes a HelloRetryRequest, a signature of the client's, and rules that the server breaks; counts
/// messages that carry nothing, and closes the session at too many: OpenSSL itself takes any number,
/// and each KeyUpdate costs it a tenth of a millisecond.
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
        RECORD_HEADER | INNER_CONTENT_TYPE if write == 0 => note_record(message, before),
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

/// Notes a message of the client's.
///
/// # Safety
/// The session is valid.
unsafe fn note_sent(ssl: *mut sys::SSL, message: &[u8], noted: usize) -> usize {
    match message[0] {
        CERTIFICATE_VERIFY => noted | SIGNED,
        CLIENT_HELLO => {
            let offered = Extensions::of_client_hello(message);
            let offered = offered.map_or(0, |(offered, ..)| offered.0);
            // SAFETY: by this function's own contract.
            unsafe { set_slot(ssl, offered_index(), offered as usize) };
            noted
        }
        _ => noted,
    }
}

/// Notes a message of the server's.
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
        NEW_SESSION_TICKET | KEY_UPDATE => noted + ONE_MESSAGE,
        FINISHED if is_tls13() => noted | IS_FINISHED,
        HELLO_REQUEST if is_tls13() => noted | BROKEN_REQUEST,
        HELLO_REQUEST => noted + ONE_MESSAGE,
        ENCRYPTED_EXTENSIONS if offered().allow(&message[4..]) == Some(false) => {
            noted | BROKEN_EXTENSION
        }
        CERTIFICATE if is_tls13() && has_strange_extension(&message[4..], offered()) => {
            noted | BROKEN_EXTENSION
        }
        _ => noted,
    }
}

/// Notes the header of a record, or the content type within it.
fn note_record(bytes: &[u8], noted: usize) -> usize {
    match *bytes {
        [kind, _, _, _, _]
            if c_int::from(kind) == CHANGE_CIPHER_SPEC && noted & IS_FINISHED != 0 =>
        {
            noted | BROKEN_CHANGE
        }
        [_, _, _, high, low] if usize::from(u16::from_be_bytes([high, low])) == EMPTY_PROTECTED => {
            noted | IS_EMPTY
        }
        [_, _, _, _, _] => noted & !IS_EMPTY,
        [kind] if c_int::from(kind) == HANDSHAKE && noted & IS_EMPTY != 0 => noted | BROKEN_EMPTY,
        _ => noted,
    }
}

/// Whether an entry of a Certificate's body has an extension that was not offered (RFC 8446, section
/// 4.4.2).
fn has_strange_extension(body: &[u8], offered: Extensions) -> bool {
    let list = field(body, 1).and_then(|(_context, rest)| field(rest, 3));
    let mut list = list.map_or(&[][..], |(list, _)| list);
    while let Some((_certificate, rest)) = field(list, 3) {
        let Some((extensions, behind)) = field(rest, 2) else { return false };
        if offered.allow(&rest[..2 + extensions.len()]) == Some(false) {
            return true;
        }
        list = behind;
    }
    false
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

/// Adds an intermediate certificate to the chain of the certificate that was set last. (The safe
/// `add_extra_chain_cert` would send it with every certificate of the context.)
pub fn add_to_chain(context: &SslContextBuilder, certificate: &X509Ref) -> Result<(), ErrorStack> {
    /// SSL_CTX_add1_chain_cert: the context takes a reference of its own.
    const TAKE_REFERENCE: c_long = 1;
    // SAFETY: both pointers are alive; SSL_CTRL_CHAIN_CERT takes an X509 and counts its reference.
    let added = unsafe {
        sys::SSL_CTX_ctrl(
            context.as_ptr(),
            sys::SSL_CTRL_CHAIN_CERT,
            TAKE_REFERENCE,
            certificate.as_ptr().cast(),
        )
    };
    if added == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

//! OpenSSL's functions that the `openssl` crate does not wrap. Every call into OpenSSL outside of
//! that crate is here, for all crates. Calls into aws-lc are in `rustls/ffi.rs`.

pub mod key_exchange;
pub(super) mod messages;
pub mod session;

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::ptr;
use std::sync::OnceLock;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{SslContextBuilder, SslRef, SslSessionRef};
use ::openssl::x509::X509Ref;
use foreign_types::ForeignTypeRef;
use openssl_sys as sys;

use crate::EarlyData;

/// `SSL_CTRL_SET_MAX_CERT_LIST` of openssl/ssl.h.
const SET_MAX_CERT_LIST: c_int = 51;

/// `SSL_CTRL_GET_PEER_SIGNATURE_NAME` of openssl/ssl.h, since OpenSSL 3.5.
const GET_PEER_SIGNATURE_NAME: c_int = 141;

/// `SSL_CTRL_GET_RI_SUPPORT` of openssl/ssl.h.
const GET_RI_SUPPORT: c_int = 76;

/// `SSL_OP_ALLOW_NO_DHE_KEX` and `SSL_OP_PREFER_NO_DHE_KEX` of openssl/ssl.h.
const ALLOW_NO_DHE_KEX: u64 = 1 << 10;
const PREFER_NO_DHE_KEX: u64 = 1 << 35;

/// `SSL_EARLY_DATA_REJECTED` and `SSL_EARLY_DATA_ACCEPTED` of openssl/ssl.h.
const EARLY_DATA_REJECTED: c_int = 1;
const EARLY_DATA_ACCEPTED: c_int = 2;

type ClientCertificateCallback = unsafe extern "C" fn(
    ssl: *mut sys::SSL,
    certificate: *mut *mut sys::X509,
    key: *mut *mut sys::EVP_PKEY,
) -> c_int;

type VerifyCallback =
    unsafe extern "C" fn(store: *mut sys::X509_STORE_CTX, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_cert_verify_callback(
        context: *mut sys::SSL_CTX,
        callback: VerifyCallback,
        argument: *mut c_void,
    );
    fn SSL_CTX_set_client_cert_cb(context: *mut sys::SSL_CTX, callback: ClientCertificateCallback);
    fn SSL_CTX_set_options(context: *mut sys::SSL_CTX, options: u64) -> u64;
    fn SSL_SESSION_has_ticket(session: *const sys::SSL_SESSION) -> c_int;
    fn SSL_get_early_data_status(ssl: *const sys::SSL) -> c_int;
    fn SSL_SESSION_get_ticket_lifetime_hint(session: *const sys::SSL_SESSION) -> c_ulong;
    fn SSL_renegotiate(ssl: *mut sys::SSL) -> c_int;
}

/// Makes the sessions of this client's context note that the server asks for a certificate: see
/// [`is_asked_for_certificate`]. They have none to send.
pub fn note_certificate_request(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and the callback lives for ever.
    unsafe { SSL_CTX_set_client_cert_cb(context.as_ptr(), note_request) };
}

/// True if the session's server asked for a certificate.
pub fn is_asked_for_certificate(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid; the slot holds a number, which is never dereferenced.
    !unsafe { sys::SSL_get_ex_data(ssl.as_ptr(), request_index()) }.is_null()
}

/// The index of the slot of a session's extra data that notes the server's request: null or 1.
fn request_index() -> c_int {
    static INDEX: OnceLock<c_int> = OnceLock::new();
    // SAFETY: no callbacks are registered, and the argument is never used.
    *INDEX.get_or_init(|| unsafe {
        sys::CRYPTO_get_ex_new_index(sys::CRYPTO_EX_INDEX_SSL, 0, ptr::null_mut(), None, None, None)
    })
}

/// Notes the request; 0: there is no certificate to send.
unsafe extern "C" fn note_request(
    ssl: *mut sys::SSL,
    _certificate: *mut *mut sys::X509,
    _key: *mut *mut sys::EVP_PKEY,
) -> c_int {
    // SAFETY: the session is valid during its own callback; the value is only a number.
    unsafe { sys::SSL_set_ex_data(ssl, request_index(), ptr::without_provenance_mut(1)) };
    0
}

/// Allows the resumption of TLS 1.3 sessions by PSK alone, without a key exchange (psk_ke). A
/// client then offers both modes, and the server chooses. A server then chooses psk_ke.
pub fn allow_psk_without_key_exchange(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call takes a number and no pointer.
    unsafe { SSL_CTX_set_options(context.as_ptr(), ALLOW_NO_DHE_KEX | PREFER_NO_DHE_KEX) };
}

/// True if a session is resumed by a ticket and not by its ID.
pub fn has_ticket(session: &SslSessionRef) -> bool {
    // SAFETY: the session is valid.
    unsafe { SSL_SESSION_has_ticket(session.as_ptr()) == 1 }
}

/// The lifetime that the server sent with a session's ticket, in seconds.
pub fn ticket_lifetime_s(session: &SslSessionRef) -> u64 {
    // SAFETY: the session is valid.
    unsafe { SSL_SESSION_get_ticket_lifetime_hint(session.as_ptr()) }
}

/// True if the server supports secure renegotiation (RFC 5746).
pub fn has_secure_renegotiation(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid; this control takes nothing and returns a flag.
    unsafe { sys::SSL_ctrl(ssl.as_ptr(), GET_RI_SUPPORT, 0, ptr::null_mut()) == 1 }
}

/// Makes the next handshake call of a connection renegotiate. Returns false if the connection's TLS
/// version does not allow it.
pub fn begin_renegotiation(ssl: &SslRef) -> bool {
    // SAFETY: the session is valid; the call notes that a handshake is to be made.
    unsafe { SSL_renegotiate(ssl.as_ptr()) == 1 }
}

/// Makes a server choose the primes of DHE suites by the strength of its key (RFC 3526, RFC 7919).
pub fn choose_dh_parameters(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call sets a flag.
    unsafe { sys::SSL_CTX_set_dh_auto(context.as_ptr(), 1) };
}

/// The server's answer to early data.
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

/// Accepts servers without secure renegotiation (RFC 5746), such as old ones. No client under load
/// renegotiates.
pub fn accept_legacy_servers(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid; the call sets a flag.
    unsafe { sys::SSL_CTX_set_options(context.as_ptr(), sys::SSL_OP_LEGACY_SERVER_CONNECT) };
}

/// OpenSSL's name of the group that the handshake used; `None` if it used no group with a name.
pub fn group_name(ssl: &SslRef) -> Option<&str> {
    // SAFETY: the session is valid; the name belongs to its context, which it keeps alive.
    unsafe { text(sys::SSL_get0_group_name(ssl.as_ptr())) }
}

/// IANA's name of the scheme with which the peer signed the handshake; `None` if the peer did not
/// sign.
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

/// Adds an intermediate certificate to the chain of the certificate that was set last. The safe
/// `add_extra_chain_cert` would send it with every certificate of the context.
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

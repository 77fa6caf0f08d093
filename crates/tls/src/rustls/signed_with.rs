//! The signature scheme of a handshake, and the length of the OCSP response with the certificate: rustls
//! passes them only to its verifier, which it calls without a connection. So the verifier leaves both in
//! thread-locals: a thread handles one handshake at a time, and fetches them at once.

use std::cell::Cell;

use rustls::DigitallySignedStruct;

thread_local! {
    static SIGNED_WITH: Cell<Option<u16>> = const { Cell::new(None) };
    static STAPLED: Cell<u32> = const { Cell::new(0) };
}

/// Notes the scheme of a signature.
pub fn note(signed: &DigitallySignedStruct) {
    SIGNED_WITH.set(Some(u16::from(signed.scheme)));
}

/// The scheme of the last signature seen on this thread; clears it.
pub fn take() -> Option<u16> {
    SIGNED_WITH.take()
}

/// Notes the length of the OCSP response that comes with a certificate, before its signature is seen; an
/// empty one: none comes.
pub fn note_stapled(response: &[u8]) {
    // A message of a handshake is shorter than that.
    STAPLED.set(response.len() as u32);
}

/// The length of the OCSP response that came with the last certificate seen on this thread; clears it.
pub fn take_stapled() -> u32 {
    STAPLED.take()
}

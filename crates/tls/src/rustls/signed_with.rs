//! The signature scheme of a handshake, and the length of the OCSP response stapled to the
//! certificate. rustls passes both only to its verifier, which it calls without a connection. So
//! the verifier stores them in thread-locals: a thread handles one handshake at a time, and reads
//! them at once.

use std::cell::Cell;

use rustls::DigitallySignedStruct;

thread_local! {
    static SIGNED_WITH: Cell<Option<u16>> = const { Cell::new(None) };
    static STAPLED: Cell<u32> = const { Cell::new(0) };
}

/// Stores the scheme of a signature.
pub fn note(signed: &DigitallySignedStruct) {
    SIGNED_WITH.set(Some(u16::from(signed.scheme)));
}

/// Returns and clears the scheme of the last signature on this thread.
pub fn take() -> Option<u16> {
    SIGNED_WITH.take()
}

/// Stores the length of the OCSP response stapled to a certificate, before its signature is
/// verified; 0 without a response.
pub fn note_stapled(response: &[u8]) {
    // A handshake message is shorter than 4 GiB.
    STAPLED.set(response.len() as u32);
}

/// Returns and clears the length of the OCSP response of the last certificate on this thread.
pub fn take_stapled() -> u32 {
    STAPLED.take()
}

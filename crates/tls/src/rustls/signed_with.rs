//! The signature scheme of a handshake, which rustls shows to its verifier only.
//!
//! A thread is at work on one handshake at a time, and fetches the scheme at once.

use std::cell::Cell;

use rustls::DigitallySignedStruct;

thread_local! {
    static SIGNED_WITH: Cell<Option<u16>> = const { Cell::new(None) };
}

/// Notes the scheme of a signature.
pub fn note(signed: &DigitallySignedStruct) {
    SIGNED_WITH.set(Some(u16::from(signed.scheme)));
}

/// The scheme of the last signature seen on this thread; clears it.
pub fn take() -> Option<u16> {
    SIGNED_WITH.take()
}

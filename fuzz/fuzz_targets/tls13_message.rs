//! Any bytes as the body of a server's message of TLS 1.3; the first says of which type.
#![no_main]

use tlslab_wire::tls::invariants::messages::{TYPES, hold};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    hold(TYPES[usize::from(*choice) % TYPES.len()], body);
});

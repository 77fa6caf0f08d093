//! Any bytes as a server's answer to a probe; the first says in what pieces they arrive, or that
//! they arrive without end.
#![no_main]

use tlslab_wire::tls::invariants::answers::{hold_answer, hold_end};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((piece, answer)) = bytes.split_first() else { return };
    hold_answer(answer, usize::from(*piece));
    if *piece == 0 {
        hold_end(answer);
    }
});

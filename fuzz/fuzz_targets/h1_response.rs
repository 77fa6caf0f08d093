//! Any bytes as a server's response; the first says in what pieces they arrive.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((piece, response)) = bytes.split_first() else { return };
    tlslab_wire::http::invariants::responses::hold(response, usize::from(*piece));
});

//! Any bytes as a request to the reference server; the first says in what pieces they arrive.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((piece, request)) = bytes.split_first() else { return };
    tlslab_wire::http::invariants::requests::hold(request, usize::from(*piece));
});

//! Any bytes as a server's side of an HTTP/2 connection; the first says in what pieces they arrive.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A failure is as good as none; what must not happen is a panic, an error in memory or a stop.
    let _ = tlslab_wire::http::h2::feed(bytes);
});

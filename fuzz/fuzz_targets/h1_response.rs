#![no_main]
use libfuzzer_sys::fuzz_target;
use tlslab_fuzz::http::h1::ResponseReader;

fuzz_target!(|bytes: &[u8]| {
    let _ = ResponseReader::default().take(bytes);
});

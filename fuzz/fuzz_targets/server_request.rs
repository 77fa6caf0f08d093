#![no_main]
use libfuzzer_sys::fuzz_target;
use tlslab_fuzz::serve::http::request::{Parsed, parse};

fuzz_target!(|bytes: &[u8]| {
    if let Parsed::Request(_, length) = parse(bytes) {
        assert!(length <= bytes.len());
    }
});

//! Any bytes as a run specification.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tlslab_fuzz::spec_laws::hold(bytes);
});

//! Any bytes as a run specification.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tlslab_contract::spec::invariants::hold(bytes);
});

//! The minimal client for its fuzz target, built from its files with ring for the cryptography
//! (docs/adr/0019). The other targets call `tlslab-wire` and `tlslab-contract`.
#![allow(dead_code, reason = "only the minimal client is called")]

#[path = "../../crates/tls/src/rustls"]
pub mod rustls {
    pub mod certificate_error;
    mod failure;
    mod flight;
    mod key_schedule;
    pub mod minimal;
    mod signed_with;
    mod variant_name;
    #[path = "../../../../fuzz/src/verifier.rs"]
    pub mod verifier;
    /// As the back end's, but the same in each run.
    pub mod random {
        use rustls::crypto::{GetRandomFailed, SecureRandom};

        #[derive(Debug)]
        pub struct Random;

        impl SecureRandom for Random {
            fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
                bytes.fill(7);
                Ok(())
            }
        }
    }
}

#[path = "../../crates/tls/src/staple.rs"]
mod staple;

pub use tlslab_wire::tls::*;

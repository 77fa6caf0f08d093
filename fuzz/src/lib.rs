//! What the fuzz targets call: the readers and their invariants from `tlslab-wire` and
//! `tlslab-contract`, and what stands in crates with a TLS library of its own, built from the files
//! (docs/adr/0019): the minimal client, with ring for its cryptography, and the reference server's
//! reader of requests.
#![allow(dead_code, reason = "only the readers are called")]

/// The client side.
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

/// The reference server's side.
#[path = "../../crates/serve/src/http"]
pub mod server_http {
    mod content;
    pub mod invariants;
    mod request;
}

pub use tlslab_wire::tls::*;

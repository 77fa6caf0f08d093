//! What the fuzz targets call: the readers and their invariants from `tlslab-wire` and
//! `tlslab-contract`, and what stands in crates with a TLS library of its own, built from the files
//! (docs/adr/0019): the minimal client, with ring for its cryptography, and the reference server's
//! reader of requests.
#![allow(dead_code, reason = "only the readers are called")]

#[path = "../../crates/engine/src"]
mod engine {
    /// The client's side.
    pub mod tls {
        pub use tlslab_wire::tls::*;
        pub mod rustls {
            mod failure;
            mod flight;
            mod key_schedule;
            pub mod own;
            mod signed_with;
            #[path = "../../../../../fuzz/src/verifier.rs"]
            pub mod verifier;
            /// As the engine's, but the same in each run.
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
    }

    /// The reference server's side.
    pub mod serve {
        pub mod http {
            mod content;
            pub mod laws;
            mod request;
        }
    }
}

pub use engine::{serve, tls};
pub use tlslab_contract::spec;
pub use tlslab_wire::{http, names, outcome, reason, sanitize};

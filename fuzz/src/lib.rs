//! The engine's readers, built from the engine's own files, but without what they never use: TLS
//! libraries, sockets, workers (docs/adr/0019). A reader that begins to use another module of the
//! engine needs that module here.
#![allow(dead_code, reason = "only the readers are called")]

#[path = "../../crates/engine/src"]
mod engine {
    pub mod clock;
    pub mod hostile;
    /// The client's side.
    pub mod http;
    pub mod names;
    pub mod obsolete;
    pub mod outcome;
    /// What a probe offers, and reads of the answer.
    pub mod probe {
        pub mod answer;
        pub mod flight;
        pub mod hello;
        pub mod invariants;
        pub mod registry;
        /// As the engine's, but the same for each input.
        mod random {
            pub fn random() -> [u8; 32] {
                [7; 32]
            }
        }
    }
    pub mod reason;
    pub mod spec;
    pub mod target;

    /// What a specification needs to know of the handshakes; and what a server says in them.
    pub mod tls {
        mod alpn;
        mod flood;
        mod hello_retry_request;
        mod negotiated;
        pub mod rules;
        pub use alpn::Alpn;
        pub use alpn::{HTTP_1_1, HTTP_2, PROTOCOL_NAME_LIMIT};
        pub(crate) use flood::FRUITLESS_LIMIT;
        pub use hello_retry_request::HELLO_RETRY_REQUEST;
        pub use negotiated::*;
        pub mod rustls {
            pub mod client_hello;
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

    #[path = "http/laws.rs"]
    pub mod http_laws;
    #[path = "spec/laws.rs"]
    pub mod spec_laws;
}

pub use engine::tls::rustls::own::laws as own_laws;
pub use engine::{
    clock, hostile, http, http_laws, names, obsolete, outcome, probe, reason, serve, spec,
    spec_laws, target, tls,
};

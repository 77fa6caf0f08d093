//! The engine's readers, built from the engine's own files at their own paths, but without what they
//! never use: TLS libraries, sockets, workers (docs/adr/0019). A reader that begins to use another
//! module of the engine needs that module here.
#![allow(dead_code, unused_imports, reason = "only the readers are called")]

#[path = "../../crates/engine/src/hostile.rs"]
pub mod hostile;
#[path = "../../crates/engine/src/names/mod.rs"]
pub mod names;
#[path = "../../crates/engine/src/spec.rs"]
pub mod spec;
#[path = "../../crates/engine/src/target.rs"]
pub mod target;

/// The client's side of HTTP.
#[path = "../../crates/engine/src/http"]
pub mod http {
    pub mod h1;
}

/// The reference server's side of HTTP.
#[path = "../../crates/engine/src/serve"]
pub mod serve {
    /// What it reads.
    pub mod http {
        mod content;
        pub mod request;
    }
}

//! TLS without a network: handshakes in memory, and the cost of each primitive.

mod default_scheme;
#[cfg(feature = "openssl")]
pub mod in_memory;
pub mod primitives;

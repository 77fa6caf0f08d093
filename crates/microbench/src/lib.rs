//! TLS without a network: handshakes in memory, and the cost of each primitive.

pub mod in_memory;
pub mod primitives;

//! TLS without a network: client and server back to back in memory, and what each primitive costs.

pub mod in_memory;
pub mod primitives;

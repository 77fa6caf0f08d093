//! Invariants of the answers that a probe reads, for any input, and of its ClientHellos. Property
//! tests and the fuzz targets `probe_flight` and `client_hello` check them.

pub mod answers;
pub mod hellos;
pub mod messages;

//! What must be true of what a probe reads, whatever a server answers, and of what it offers. Property
//! tests and the fuzz targets `probe_flight` and `client_hello` hold it to this.

pub mod answers;
pub mod hellos;
pub mod messages;

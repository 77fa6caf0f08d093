//! Invariants of the readers of responses and requests, for any input. Property tests and the fuzz
//! targets `h1_response` and `server_request` check them.

pub mod requests;
pub mod responses;

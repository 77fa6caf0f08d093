//! HTTP/1.1 as the server speaks it (RFC 9110, RFC 9112): no input or output, only bytes.

mod content;
mod date;
mod digests;
#[cfg(test)]
mod laws;
mod request;
mod response;

pub(super) use content::Body;
pub use content::{BODY_LIMIT, BODY_PERIOD};
pub(super) use request::{Parsed, Request, parse};
pub(super) use response::Responder;

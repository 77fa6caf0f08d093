//! The server's HTTP, versions 1.1 (RFC 9112) and 2 (RFC 9113). These modules process bytes and do
//! no I/O.

mod content;
mod date;
mod digests;
mod multiplexed;
mod request;
mod response;

pub(super) use content::Body;
pub use content::{BODY_LIMIT, BODY_PERIOD};
pub(super) use multiplexed::Multiplexed;
pub(super) use request::{Asked, Request, read};
pub(super) use response::Responder;

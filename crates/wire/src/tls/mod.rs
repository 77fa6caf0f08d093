//! TLS on the wire: names and code points, messages, rules, and negotiated facts.

pub mod alpn;
pub mod answer;
pub mod client_hello;
pub mod client_hello_reader;
pub mod fault;
pub mod flood;
mod hello_retry_request;
#[cfg(any(test, feature = "invariants"))]
pub mod invariants;
pub mod messages;
mod negotiated;
pub mod observer;
pub mod obsolete;
pub mod registry;
mod resume;
pub mod server_flight;

pub use alpn::{Alpn, HTTP_1_1, HTTP_2, PROTOCOL_NAME_LIMIT};
pub use hello_retry_request::HELLO_RETRY_REQUEST;
pub use negotiated::{EarlyData, Facts, HandshakeKind, KeyExchangeGroup, Negotiated};
pub use resume::Resume;

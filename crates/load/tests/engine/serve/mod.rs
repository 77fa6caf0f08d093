//! The reference server, seen from outside by OpenSSL's client.

pub mod client;
mod http;
mod http2_errors;
mod lifecycle;
mod tls;

//! The reference server, seen from outside by OpenSSL's client.

mod client;
mod http;
mod http2_errors;
mod lifecycle;
mod tls;

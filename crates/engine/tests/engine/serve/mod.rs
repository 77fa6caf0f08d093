//! The reference server, seen from outside by OpenSSL's client.

mod client;
mod http;
mod lifecycle;
mod tls;

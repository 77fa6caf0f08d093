//! Servers, proxies and certificates for tlslab's own tests. All code here panics on failure, so
//! that the test fails.

pub mod certificates;
mod der;
pub mod h2;
pub mod lockstep;
pub mod memory;
pub mod peers;
pub mod tamper;
pub mod tls_server;

pub use der::{ocsp_response, ocsp_response_until};

//! What stands on the wire, and how it is read and written: names and code points, URLs, the rules
//! and readers of TLS and HTTP, and how a connection ends. Sans I/O, and without a TLS library: this is
//! what the fuzz targets build.

pub mod http;
pub mod names;
pub mod outcome;
pub mod reason;
pub mod rule;
pub mod sanitize;
pub mod target;
pub mod time;
pub mod tls;

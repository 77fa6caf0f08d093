//! The formats on the wire, their readers and writers: names and code points, URLs, TLS and HTTP with
//! their rules, and how a connection ends. No I/O and no TLS library: the fuzz targets build this crate.

pub mod http;
pub mod names;
pub mod outcome;
pub mod reason;
pub mod rule;
pub mod sanitize;
pub mod target;
pub mod time;
pub mod tls;

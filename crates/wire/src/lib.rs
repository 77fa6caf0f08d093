//! Formats on the wire, with their readers and writers: names and code points, URLs, TLS and HTTP
//! with their rules, the outcomes of connections, and the wording of numbers. No I/O and no TLS library, so that the fuzz
//! targets can build this crate.

pub mod http;
pub mod names;
pub mod outcome;
pub mod reason;
pub mod rule;
pub mod sanitize;
pub mod starttls;
pub mod target;
pub mod time;
pub mod tls;
pub mod wording;

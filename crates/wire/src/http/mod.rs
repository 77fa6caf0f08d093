//! HTTP, sans I/O: bytes in, progress out.

pub mod body;
pub mod h1;
pub mod h2;
#[cfg(any(test, feature = "invariants"))]
pub mod invariants;
pub mod message;
pub mod request;

use crate::sanitize::sanitize;
use body::Hash;

/// The highest length of a response head in bytes; longer ones are an attack or a mistake.
pub const HEAD_LIMIT: usize = 64 * 1024;

/// The highest number of interim (1xx) responses before the final one.
const INTERIM_LIMIT: u32 = 8;

/// The highest number of characters kept of the Server field.
const SERVER_LIMIT: usize = 128;

/// A set of status codes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusSet([u64; 10]);

impl StatusSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 10]);

    /// Adds a status code. Codes of 640 or more are ignored.
    pub fn add(&mut self, status: u16) {
        if let Some(word) = self.0.get_mut(usize::from(status / 64)) {
            *word |= 1 << (status % 64);
        }
    }

    /// True if a status code is in the set.
    pub fn contains(&self, status: u16) -> bool {
        self.0.get(usize::from(status / 64)).is_some_and(|word| word >> (status % 64) & 1 == 1)
    }
}

impl Default for StatusSet {
    /// The success statuses, 200 to 299.
    fn default() -> Self {
        let mut set = Self::EMPTY;
        (200..300).for_each(|status| set.add(status));
        set
    }
}

/// The properties of a single response, for the preflight and for examples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The status code; 0 before the head has arrived.
    pub status: u16,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// The digest of the body, if it was computed.
    pub digest: Option<Hash>,
    /// The Server field, shortened, without control characters.
    pub server: Option<String>,
}

/// A number of decimal digits only.
#[inline]
pub fn decimal(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

/// The Server field in its kept form.
fn server_name(value: &[u8]) -> Option<String> {
    str::from_utf8(value).ok().map(|name| sanitize(name, SERVER_LIMIT))
}

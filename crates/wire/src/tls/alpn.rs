//! Application protocol names in ALPN (RFC 7301).

use std::fmt;

/// The highest length of a kept name in bytes. IANA's longest has 22; ALPN allows 255.
pub const PROTOCOL_NAME_LIMIT: usize = 64;

/// HTTP/1.1.
pub const HTTP_1_1: &str = "http/1.1";

/// HTTP/2 over TLS (RFC 9113, section 3.2).
pub const HTTP_2: &str = "h2";

/// A selected application protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alpn {
    /// `http/1.1`.
    Http11,
    /// `h2`, HTTP/2 over TLS.
    Http2,
    /// A protocol that the engine does not support, by name.
    Other(ProtocolName),
}

/// A protocol's name, stored inline so that facts stay cheap to copy and compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProtocolName {
    length: u8,
    bytes: [u8; PROTOCOL_NAME_LIMIT],
}

impl Alpn {
    /// The protocol with this name on the wire. Names are cut at [`PROTOCOL_NAME_LIMIT`]. No name
    /// of that length can be offered, so a cut name never equals an offered one.
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"http/1.1" => Self::Http11,
            b"h2" => Self::Http2,
            other => {
                let length = other.len().min(PROTOCOL_NAME_LIMIT);
                let mut bytes = [0; PROTOCOL_NAME_LIMIT];
                bytes[..length].copy_from_slice(&other[..length]);
                let length = other.len().min(usize::from(u8::MAX)) as u8;
                Self::Other(ProtocolName { length, bytes })
            }
        }
    }
}

impl fmt::Display for Alpn {
    /// Printable ASCII unchanged, all other bytes escaped: the name comes from the server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http11 => f.write_str("http/1.1"),
            Self::Http2 => f.write_str("h2"),
            Self::Other(name) => {
                let length = usize::from(name.length);
                let held = &name.bytes[..length.min(PROTOCOL_NAME_LIMIT)];
                write!(f, "{}", held.escape_ascii())?;
                if length > PROTOCOL_NAME_LIMIT { f.write_str("...") } else { Ok(()) }
            }
        }
    }
}

/// The ALPN list in OpenSSL's form: each name after its length (RFC 7301, section 3.1). Names have
/// 1 to [`PROTOCOL_NAME_LIMIT`] bytes.
pub fn wire_list(names: &[String]) -> Vec<u8> {
    names.iter().flat_map(|name| std::iter::once(name.len() as u8).chain(name.bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_reported_apart_and_shown() {
        for name in ["http/1.1", "h2", "acme-tls/1", "x"] {
            assert_eq!(Alpn::of(name.as_bytes()).to_string(), name);
        }
        assert_ne!(Alpn::of(b"ftp"), Alpn::of(b"imap"));
    }

    #[test]
    fn a_hostile_name_is_bounded_and_sanitised() {
        assert_eq!(Alpn::of(b"\x1b[2J\xff").to_string(), r"\x1b[2J\xff");
        let longest = Alpn::of(&[b'a'; PROTOCOL_NAME_LIMIT]);
        let longer = Alpn::of(&[b'a'; 255]);
        assert_ne!(longest, longer);
        assert_eq!(longer.to_string(), "a".repeat(PROTOCOL_NAME_LIMIT) + "...");
    }

    #[test]
    fn a_list_has_each_name_behind_its_length() {
        assert_eq!(wire_list(&["h2".to_owned(), "http/1.1".to_owned()]), b"\x02h2\x08http/1.1");
    }
}

//! Reads extensions from the bytes of a ClientHello, because rustls does not report them.

/// The session_ticket extension (RFC 5077, section 3.2).
const SESSION_TICKET: u16 = 35;

/// The offset of the session ID: record header, handshake header, version and random precede it
/// (RFC 5246, sections 6.2.1, 7.4 and 7.4.1.2).
const BEFORE_SESSION_ID: usize = 5 + 4 + 2 + 32;

/// True if the TLS 1.2 ClientHello at the start of these records offers a ticket.
pub fn offers_ticket(records: &[u8]) -> bool {
    extension(records, SESSION_TICKET).is_some_and(|ticket| !ticket.is_empty())
}

/// All extensions, each with its number and length, after the total length.
pub fn extensions(records: &[u8]) -> Option<&[u8]> {
    let rest = records.get(BEFORE_SESSION_ID..)?;
    let (_session_id, rest) = split(rest, 1)?;
    let (_suites, rest) = split(rest, 2)?;
    split(rest, 1).map(|(_compression, extensions)| extensions)
}

/// The content of an extension of the ClientHello at the start of these records. `None` if the
/// ClientHello has no such extension or is cut short.
pub fn extension(records: &[u8], number: u16) -> Option<&[u8]> {
    let (mut extensions, _) = split(extensions(records)?, 2)?;
    while let Some((found, rest)) = extensions.split_first_chunk() {
        let (content, rest) = split(rest, 2)?;
        if u16::from_be_bytes(*found) == number {
            return Some(content);
        }
        extensions = rest;
    }
    None
}

/// Splits off a field after its length of N bytes.
pub fn split(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ClientHello with one suite, no session ID and these extensions.
    fn hello(extensions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; BEFORE_SESSION_ID];
        bytes.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
        bytes.extend((extensions.len() as u16).to_be_bytes());
        bytes.extend(extensions);
        bytes
    }

    #[test]
    fn a_ticket_is_reported_from_the_bare_offer_to_take_one() {
        let other = [0, 23, 0, 0];
        assert!(offers_ticket(&hello(&[&other[..], &[0, 35, 0, 3, 1, 2, 3]].concat())));
        assert!(!offers_ticket(&hello(&[&other[..], &[0, 35, 0, 0]].concat())));
        assert!(!offers_ticket(&hello(&other)));
    }

    #[test]
    fn what_is_cut_short_offers_nothing() {
        let whole = hello(&[0, 35, 0, 3, 1, 2, 3]);
        for length in 0..whole.len() {
            assert!(!offers_ticket(&whole[..length]), "{length} bytes");
        }
    }
}

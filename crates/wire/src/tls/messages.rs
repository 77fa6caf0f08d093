//! Stateless readers of a server's records (RFC 8446, section 5.1) and of the bodies of its
//! messages (section 4). Each reader gets a complete body, and returns the fault of an invalid one.
//! They accept nothing that rustls rejects: see `invariants`.

use super::fault::{
    Fault, MISSING_EXTENSION, PROTOCOL_VERSION, RECORD_OVERFLOW, UNSUPPORTED_EXTENSION, illegal,
    unexpected,
};
use crate::names::SignatureScheme;
use crate::tls::HELLO_RETRY_REQUEST;
use crate::tls::client_hello_reader::split;
use crate::tls::observer::OF_ENCRYPTED_EXTENSIONS;

/// Length of a record's header.
pub const HEADER: usize = 5;

/// Content types.
pub const CHANGE_CIPHER_SPEC: u8 = 20;
/// The type `alert`.
pub const ALERT: u8 = 21;
/// The type `handshake`.
pub const HANDSHAKE: u8 = 22;
/// The type `application_data`.
pub const APPLICATION_DATA: u8 = 23;

/// The highest plaintext length of a record, and the most bytes that encryption adds (sections 5.1
/// and 5.2).
pub const RECORD: usize = 1 << 14;
const EXPANSION: usize = 256;

/// Types of handshake messages.
pub const CLIENT_HELLO: u8 = 1;
/// The type `server_hello`.
pub const SERVER_HELLO: u8 = 2;
/// The type `new_session_ticket`.
pub const NEW_SESSION_TICKET: u8 = 4;
/// The type `encrypted_extensions`.
pub const ENCRYPTED_EXTENSIONS: u8 = 8;
/// The type `certificate`.
pub const CERTIFICATE: u8 = 11;
/// The type `certificate_request`.
pub const CERTIFICATE_REQUEST: u8 = 13;
/// The type `certificate_verify`.
pub const CERTIFICATE_VERIFY: u8 = 15;
/// The type `finished`.
pub const FINISHED: u8 = 20;
/// The type `key_update`.
pub const KEY_UPDATE: u8 = 24;

/// Length of the random in a hello.
pub const RANDOM_LENGTH: usize = 32;

/// Versions: `legacy_version` of a hello, and the version in its extension.
const TLS12: [u8; 2] = [3, 3];

/// Extensions (section 4.2).
const SERVER_NAME: u16 = 0;
/// The extension `status_request`.
pub const STATUS_REQUEST: u16 = 5;
/// The extension `signature_algorithms`.
pub const SIGNATURE_ALGORITHMS: u16 = 13;
const ALPN: u16 = 16;
const COMPRESS_CERTIFICATE: u16 = 27;
/// The extension `pre_shared_key`.
pub const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;
/// The extension `psk_key_exchange_modes`.
pub const PSK_KEY_EXCHANGE_MODES: u16 = 45;
const CERTIFICATE_AUTHORITIES: u16 = 47;
/// The extension `key_share`.
pub const KEY_SHARE: u16 = 51;

/// The highest number of extensions in a message: fewer are defined.
const EXTENSIONS: usize = 64;

/// The only type of certificate status (RFC 6066, section 8).
const OCSP: u8 = 1;

/// Section 4.2: an extension answers an extension of the client.
const UNASKED: Fault = Fault::new(UNSUPPORTED_EXTENSION, "an extension that was not asked for");

/// Section 6.2: a known version that was not offered.
const OLD_VERSION: Fault =
    Fault::new(PROTOCOL_VERSION, "the server does not take TLS 1.3, and nothing else is offered");

/// The length of the record at the start of these bytes, including its header. `None` until known;
/// an error if the bytes begin no record, or one above the length limit.
pub fn record_length(bytes: &[u8]) -> Result<Option<usize>, Fault> {
    let Some(&[kind, major, _, high, low]) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if !(CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&kind) {
        return Err(unexpected("a record of no known type"));
    }
    if major != 3 {
        return Err("a record of no known version".into());
    }
    if length > RECORD + EXPANSION {
        return Err(Fault::new(RECORD_OVERFLOW, "a record that is longer than any may be"));
    }
    Ok(Some(HEADER + length))
}

/// The choices in a ServerHello, by number.
pub struct ServerHello<'m> {
    /// The cipher suite's code point.
    pub suite: u16,
    /// The group of the server's key share.
    pub group: u16,
    /// The server's public key.
    pub share: &'m [u8],
    /// Whether the server resumes the session of the offered PSK.
    pub is_resumed: bool,
}

/// Reads a TLS 1.3 ServerHello that answers a ClientHello with this session ID and with one PSK for
/// a resumption with key exchange, or without a PSK (section 4.1.3).
pub fn server_hello<'m>(
    body: &'m [u8],
    session_id: &[u8],
    offers_psk: bool,
) -> Result<ServerHello<'m>, Fault> {
    let cut = "the ServerHello is cut short";
    let (legacy_version, rest) = body.split_first_chunk().ok_or(cut)?;
    match legacy_version {
        &TLS12 => {}
        [3, 0..=2] => return Err(OLD_VERSION),
        _ => return Err(illegal("the ServerHello has no legacy version")),
    }
    let (random, rest) = rest.split_at_checked(RANDOM_LENGTH).ok_or(cut)?;
    if random == HELLO_RETRY_REQUEST {
        return Err(illegal("the server asks for another key share, and none is offered"));
    }
    let (echo, rest) = split(rest, 1).ok_or(cut)?;
    let (suite, rest) = rest.split_first_chunk().ok_or(cut)?;
    let (compression, rest) = rest.split_first().ok_or(cut)?;
    let (mut version, mut share, mut psk, mut unasked) = (None, None, None, false);
    // Older versions allow a ServerHello without extensions.
    let rest = if rest.is_empty() { &[0, 0] } else { rest };
    let behind = for_each_extension(rest, |number, content| {
        match number {
            SUPPORTED_VERSIONS => version = Some(content),
            KEY_SHARE => share = Some(content),
            PRE_SHARED_KEY if offers_psk => psk = Some(content),
            _ => unasked = true,
        }
        Ok(())
    })?;
    if !behind.is_empty() {
        return Err("something lies behind the ServerHello's extensions".into());
    }
    // All other rules depend on the version.
    match version {
        Some([3, 4]) => {}
        Some(_) => return Err(illegal("the server chooses a version that is not offered")),
        None => return Err(OLD_VERSION),
    }
    match () {
        () if echo != session_id => {
            return Err(illegal("the server does not repeat the session ID"));
        }
        () if *compression != 0 => return Err(illegal("the server compresses")),
        () if unasked => return Err(UNASKED),
        () => {}
    }
    let is_resumed = psk.map(selects_only_psk).transpose()?.is_some();
    let (group, share) = key_share(share, is_resumed)?;
    Ok(ServerHello { suite: u16::from_be_bytes(*suite), group, share, is_resumed })
}

/// The group and the public key of the server's share (section 4.2.8).
fn key_share(share: Option<&[u8]>, is_resumed: bool) -> Result<(u16, &[u8]), Fault> {
    let Some(share) = share else {
        return Err(match is_resumed {
            // Section 4.2.11: the only offered mode has a key exchange.
            true => illegal("the server resumes without a share"),
            false => Fault::new(MISSING_EXTENSION, "the server sends no share"),
        });
    };
    let cut = "the server's key share is cut short";
    let (group, share) = share.split_first_chunk().ok_or(cut)?;
    let (share, behind) = split(share, 2).ok_or(cut)?;
    if share.is_empty() || !behind.is_empty() {
        return Err("the server's key share has a wrong length".into());
    }
    Ok((u16::from_be_bytes(*group), share))
}

/// True if the first of these records begins with a complete ServerHello that asks for a second
/// ClientHello or selects an older version than TLS 1.3 (section 4.1.3).
pub fn is_retry_or_older(records: &[u8]) -> bool {
    let first = || {
        let content = records.get(HEADER..record_length(records).ok()??)?;
        let message = content.strip_prefix(&[SERVER_HELLO])?;
        let (body, _) = split(message, 3).filter(|_| records[0] == HANDSHAKE)?;
        let (random, rest) = body.get(2..)?.split_at_checked(RANDOM_LENGTH)?;
        let (_session_id, rest) = split(rest, 1)?;
        let extensions = rest.get(3..)?;
        Some((random == HELLO_RETRY_REQUEST, extensions))
    };
    let Some((is_retry, extensions)) = first() else { return false };
    let mut is_new = false;
    let read = extensions.is_empty()
        || for_each_extension(extensions, |number, _| {
            is_new |= number == SUPPORTED_VERSIONS;
            Ok(())
        })
        .is_ok();
    is_retry || (read && !is_new)
}

/// Checks that the server selects the only offered PSK (section 4.2.11).
fn selects_only_psk(content: &[u8]) -> Result<(), Fault> {
    match content {
        [0, 0] => Ok(()),
        [_, _] => Err(illegal("the server selects a PSK that is not offered")),
        _ => Err("the server's selection of a PSK has a wrong length".into()),
    }
}

/// The application protocol that EncryptedExtensions select, if any. The server was offered
/// extensions with these numbers (sections 4.2 and 4.3.1).
pub fn encrypted_extensions<'m>(
    body: &'m [u8],
    offered: &[u16],
) -> Result<Option<&'m [u8]>, Fault> {
    let mut protocols = None;
    let behind = for_each_extension(body, |number, content| {
        if number == ALPN {
            protocols = Some(content);
        }
        if !offered.contains(&number) {
            return Err(UNASKED);
        }
        // Section 4.2: the extension belongs in another message, or is not defined for TLS 1.3.
        if !OF_ENCRYPTED_EXTENSIONS.contains(&number) {
            return Err(illegal("an extension that has no place in EncryptedExtensions"));
        }
        well_formed(number != SERVER_NAME || content.is_empty())
    })?;
    if !behind.is_empty() {
        return Err("something lies behind the extensions".into());
    }
    let Some(protocols) = protocols else { return Ok(None) };
    // A list with one name (RFC 7301, section 3.1).
    whole(protocols, 2)
        .and_then(|list| whole(list, 1))
        .filter(|name| !name.is_empty())
        .map(Some)
        .ok_or("the server does not choose one protocol".into())
}

/// Reads a CertificateRequest in a handshake: without a context, and with signature schemes
/// (section 4.3.2).
pub fn certificate_request(body: &[u8]) -> Result<(), Fault> {
    let wrong = "a CertificateRequest that is malformed";
    let list = body.strip_prefix(&[0]).ok_or(wrong)?;
    let mut has_schemes = false;
    let behind = for_each_extension(list, |number, content| match number {
        SIGNATURE_ALGORITHMS => {
            has_schemes = whole(content, 2).is_some_and(are_numbers);
            well_formed(has_schemes)
        }
        CERTIFICATE_AUTHORITIES => well_formed(whole(content, 2).is_some_and(are_names)),
        COMPRESS_CERTIFICATE => well_formed(whole(content, 1).is_some_and(are_numbers)),
        _ => Ok(()),
    })?;
    if !behind.is_empty() {
        return Err(wrong.into());
    }
    let missing = Fault::new(MISSING_EXTENSION, "a CertificateRequest without schemes");
    has_schemes.then_some(()).ok_or(missing)
}

/// Reads the certificates of a Certificate message, the server's own first (section 4.4.2), each
/// with its stapled OCSP response; empty without one.
pub fn for_each_certificate<'m>(
    body: &'m [u8],
    mut take: impl FnMut(&'m [u8], &'m [u8]),
) -> Result<(), Fault> {
    let wrong = "a Certificate whose lengths are wrong";
    // The context precedes the list, and is empty in a handshake.
    let list = body.strip_prefix(&[0]).ok_or(wrong)?;
    let mut list = whole(list, 3).ok_or(wrong)?;
    while !list.is_empty() {
        let (certificate, rest) = split(list, 3).ok_or(wrong)?;
        if certificate.is_empty() {
            return Err("a certificate of no bytes".into());
        }
        let mut response: &[u8] = &[];
        // The only extension that the client requests for a certificate is its status (section
        // 4.4.2.1).
        list = for_each_extension(rest, |number, content| {
            if number != STATUS_REQUEST {
                return Err(UNASKED);
            }
            response = ocsp_response(content);
            well_formed(!response.is_empty())
        })?;
        take(certificate, response);
    }
    Ok(())
}

/// The scheme of the signature in a CertificateVerify (section 4.4.3).
pub fn certificate_verify(body: &[u8]) -> Result<SignatureScheme, Fault> {
    let wrong = "a CertificateVerify whose lengths are wrong";
    let (scheme, signature) = body.split_first_chunk().ok_or(wrong)?;
    let scheme = SignatureScheme::from_code_point(u16::from_be_bytes(*scheme));
    whole(signature, 2).map(|_| scheme).ok_or(wrong.into())
}

/// A session that the server has issued (section 4.6.1).
pub struct NewSessionTicket<'m> {
    /// The lifetime in seconds.
    pub lifetime: u32,
    /// Obfuscates the ticket's age.
    pub age_add: u32,
    /// Distinguishes the tickets of a connection.
    pub nonce: &'m [u8],
    /// The identity of the PSK.
    pub ticket: &'m [u8],
}

/// Reads a NewSessionTicket (section 4.6.1).
pub fn new_session_ticket(body: &[u8]) -> Result<NewSessionTicket<'_>, Fault> {
    let wrong = "a NewSessionTicket that is malformed";
    let (lifetime, rest) = body.split_first_chunk().ok_or(wrong)?;
    let (age_add, rest) = rest.split_first_chunk().ok_or(wrong)?;
    let (nonce, rest) = split(rest, 1).ok_or(wrong)?;
    let (ticket, rest) = split(rest, 2).ok_or(wrong)?;
    let behind = for_each_extension(rest, |number, content| {
        well_formed(number != EARLY_DATA || content.len() == size_of::<u32>())
    })?;
    if !behind.is_empty() || ticket.is_empty() {
        return Err(wrong.into());
    }
    let (lifetime, age_add) = (u32::from_be_bytes(*lifetime), u32::from_be_bytes(*age_add));
    Ok(NewSessionTicket { lifetime, age_add, nonce, ticket })
}

/// Reads a list of extensions after its length: number and content of each. Returns the bytes after
/// the list. Fails if an extension is cut short, repeated, or rejected by the callback.
pub fn for_each_extension<'m>(
    bytes: &'m [u8],
    mut take: impl FnMut(u16, &'m [u8]) -> Result<(), Fault>,
) -> Result<&'m [u8], Fault> {
    let cut = "an extension is cut short";
    let (mut list, behind) = split(bytes, 2).ok_or(cut)?;
    let (mut numbers, mut seen) = ([0; EXTENSIONS], 0);
    while !list.is_empty() {
        let (number, rest) = list.split_first_chunk().ok_or(cut)?;
        let number = u16::from_be_bytes(*number);
        let (content, rest) = split(rest, 2).ok_or(cut)?;
        let is_new = seen < EXTENSIONS && !numbers[..seen].contains(&number);
        if !is_new {
            return Err(illegal("an extension that is there twice, or one too many"));
        }
        take(number, content)?;
        numbers[seen] = number;
        seen += 1;
        list = rest;
    }
    Ok(behind)
}

fn well_formed(is_well_formed: bool) -> Result<(), Fault> {
    if is_well_formed { Ok(()) } else { Err("an extension that is malformed".into()) }
}

/// A field after its length of N bytes; nothing may follow it.
fn whole(bytes: &[u8], width: usize) -> Option<&[u8]> {
    split(bytes, width).and_then(|(field, behind)| behind.is_empty().then_some(field))
}

/// True for a list of two-byte numbers with at least one element.
fn are_numbers(list: &[u8]) -> bool {
    !list.is_empty() && list.len().is_multiple_of(2)
}

/// True for a list of at least one distinguished name, each of at least one byte.
fn are_names(mut list: &[u8]) -> bool {
    if list.is_empty() {
        return false;
    }
    while !list.is_empty() {
        match split(list, 2) {
            Some((name, rest)) if !name.is_empty() => list = rest,
            _ => return false,
        }
    }
    true
}

/// The OCSP response in a certificate's status, which is not parsed; empty without a response.
fn ocsp_response(content: &[u8]) -> &[u8] {
    let Some((&OCSP, response)) = content.split_first() else { return &[] };
    whole(response, 3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of a ServerHello with this random and these extensions after their length.
    fn hello(random: [u8; 32], extensions: &[u8]) -> Vec<u8> {
        let body = [&[3, 3], &random[..], &[1, 9], &[0x13, 1, 0], extensions].concat();
        let length = body.len() as u8;
        [&[HANDSHAKE, 3, 3, 0, length + 4, SERVER_HELLO, 0, 0, length], &body[..]].concat()
    }

    #[test]
    fn a_retry_and_an_older_version_are_no_server_hello_of_tls13() {
        let (new, old) = (&[0, 6, 0, 43, 0, 2, 3, 4][..], &[0, 4, 0, 23, 0, 0][..]);
        for (record, expected) in [
            (hello([7; 32], new), false),
            (hello([7; 32], old), true),
            (hello([7; 32], &[]), true),
            (hello(HELLO_RETRY_REQUEST, new), true),
            // What cannot be read is nothing of these.
            (hello([7; 32], &old[..5]), false),
            (vec![ALERT, 3, 3, 0, 2, 2, 40], false),
            (b"HTTP/1.1 400".to_vec(), false),
        ] {
            assert_eq!(is_retry_or_older(&record), expected, "{record:?}");
            // The rest of the flight does not matter, an incomplete record does.
            assert_eq!(is_retry_or_older(&[&record[..], &[22, 3]].concat()), expected);
            for length in 0..record.len() {
                assert!(!is_retry_or_older(&record[..length]));
            }
        }
    }

    #[test]
    fn a_chain_is_read_as_it_is_built() {
        let status = [0, 5, 0, 5, 1, 0, 0, 1, 9];
        let entry = |der: &[u8], extensions: &[u8]| {
            let (der_length, length) = (der.len() as u8, extensions.len() as u8);
            [&[0, 0, der_length], der, &[0, length], extensions].concat()
        };
        let list = |entries: &[Vec<u8>]| {
            let entries = entries.concat();
            [&[0, 0, 0, entries.len() as u8], &entries[..]].concat()
        };
        let read = |body: &[u8]| {
            let mut chain = Vec::new();
            let mut add = |one: &[u8], status: &[u8]| chain.push((one.to_vec(), status.to_vec()));
            for_each_certificate(body, &mut add).map(|()| chain)
        };
        let good = list(&[entry(&[1, 2], &status), entry(&[3], &[])]);
        assert_eq!(read(&good), Ok(vec![(vec![1, 2], vec![9]), (vec![3], vec![])]));
        assert_eq!(read(&[0, 0, 0, 0]), Ok(vec![]));
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "{length} bytes");
        }
        for wrong in [
            [&good[..], &[0]].concat(),
            [&[1, 7], &good[1..]].concat(),
            list(&[entry(&[1], &[0, 18, 0, 0])]),
            list(&[entry(&[1], &[status, status].concat())]),
            list(&[entry(&[1], &status[..6])]),
            // Another type, an empty response, and trailing bytes.
            list(&[entry(&[1], &[0, 5, 0, 5, 2, 0, 0, 1, 9])]),
            list(&[entry(&[1], &[0, 5, 0, 4, 1, 0, 0, 0])]),
            list(&[entry(&[1], &[0, 5, 0, 6, 1, 0, 0, 1, 9, 9])]),
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
    }
}

//! ClientHellos, read back by a parser without common code, and by the reader for the extensions of
//! rustls' ClientHellos.

use tls_parser::{
    TlsClientHelloContents, TlsExtension, TlsExtensionType, TlsMessage, TlsMessageHandshake,
    parse_tls_client_hello_extensions, parse_tls_plaintext,
};

use crate::tls::client_hello::{ClientHello, NO_COMPRESSION, extension};
use crate::tls::client_hello_reader;
use crate::tls::registry::Protocol;

/// Reading back a ClientHello yields exactly its offer.
///
/// Panics on a violation.
pub fn hold_hello(hello: &ClientHello) {
    let bytes = hello.bytes(|| [7; 32]);
    let read = Read::new(&bytes);
    let newest = *hello.versions.iter().max().expect("a hello offers a version");
    assert_eq!(read.version, newest.min(Protocol::Tls12).number());
    assert_eq!(read.suites, hello.suites);
    assert_eq!(read.compression, [&hello.compression[..], &[NO_COMPRESSION]].concat());
    let is_tls13 = newest == Protocol::Tls13;
    assert_eq!(read.session_id, if is_tls13 { 32 } else { 0 });
    let signs = newest >= Protocol::Tls12 && !hello.schemes.is_empty();
    let versions: Vec<u16> = hello.versions.iter().map(|one| one.number()).collect();
    let name = hello.server_name.clone().unwrap_or_default();
    let named = [&[0], &field(2, name.as_bytes())[..]].concat();
    let share = |(group, key): &(u16, Vec<u8>)| [&group.to_be_bytes()[..], &field(2, key)].concat();
    let shares: Vec<u8> = hello.shares.iter().flat_map(share).collect();
    let expected = [
        (extension::SERVER_NAME, hello.server_name.is_some(), field(2, &named)),
        (extension::SUPPORTED_GROUPS, !hello.groups.is_empty(), list(&hello.groups, 2)),
        (extension::SIGNATURE_ALGORITHMS, signs, list(&hello.schemes, 2)),
        (extension::SUPPORTED_VERSIONS, is_tls13, list(&versions, 1)),
        (extension::KEY_SHARE, is_tls13, field(2, &shares)),
    ];
    for (number, is_there, content) in expected {
        let right = (is_there && newest > Protocol::Ssl3).then_some(content);
        assert_eq!(read.content(number), right.as_deref(), "{number}");
    }
    for (place, (number, content)) in read.extensions.iter().enumerate() {
        let before = &read.extensions[..place];
        assert!(before.iter().all(|one| one.0 != *number), "{number} is there twice");
        assert_eq!(client_hello_reader::extension(&bytes, *number), Some(&content[..]), "{number}");
    }
    assert!(!client_hello_reader::offers_ticket(&bytes));
}

/// The reader of extensions accepts any bytes, and returns a part of them.
///
/// Panics on a violation.
pub fn hold_readers(bytes: &[u8], number: u16) {
    let lies_within = |part: &[u8]| bytes.as_ptr_range().contains(&part.as_ptr());
    if let Some(content) = client_hello_reader::extension(bytes, number) {
        assert!(content.is_empty() || lies_within(content));
        let all = client_hello_reader::extensions(bytes).expect("one extension is one of all");
        assert!(content.len() + 6 <= all.len());
    }
    let ticket = client_hello_reader::extension(bytes, extension::SESSION_TICKET);
    assert_eq!(
        client_hello_reader::offers_ticket(bytes),
        ticket.is_some_and(|one| !one.is_empty())
    );
}

/// A field after its length of N bytes.
fn field(width: usize, content: &[u8]) -> Vec<u8> {
    [&content.len().to_be_bytes()[size_of::<usize>() - width..], content].concat()
}

fn list(numbers: &[u16], width: usize) -> Vec<u8> {
    let content: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    field(width, &content)
}

/// A ClientHello as the parser reads it.
pub struct Read {
    /// `legacy_version`.
    pub version: u16,
    /// The length of the session ID.
    session_id: usize,
    /// Cipher suites.
    pub suites: Vec<u16>,
    /// Compression methods.
    pub compression: Vec<u8>,
    /// Extensions with their contents.
    pub extensions: Vec<(u16, Vec<u8>)>,
}

impl Read {
    /// Parses a record with a single ClientHello, all of whose extensions the parser knows.
    pub fn new(bytes: &[u8]) -> Self {
        let (rest, record) = parse_tls_plaintext(bytes).expect("it can be read");
        assert!(rest.is_empty());
        let [TlsMessage::Handshake(TlsMessageHandshake::ClientHello(hello))] = &record.msg[..]
        else {
            panic!("{record:?}");
        };
        let extensions = extensions(hello);
        let known = hello.ext.map_or_else(Vec::new, |list| {
            let (rest, known) = parse_tls_client_hello_extensions(list).expect("it can be read");
            assert!(rest.is_empty());
            assert!(!known.iter().any(|e| matches!(e, TlsExtension::Unknown(..))), "{known:?}");
            known.iter().map(|e| TlsExtensionType::from(e).0).collect()
        });
        assert!(extensions.iter().map(|one| one.0).eq(known));
        Self {
            version: hello.version.0,
            session_id: hello.session_id.map_or(0, <[u8]>::len),
            suites: hello.ciphers.iter().map(|suite| suite.0).collect(),
            compression: hello.comp.iter().map(|method| method.0).collect(),
            extensions,
        }
    }

    /// The content of the extension with this number.
    pub fn content(&self, number: u16) -> Option<&[u8]> {
        self.extensions.iter().find(|one| one.0 == number).map(|one| &one.1[..])
    }
}

fn extensions(hello: &TlsClientHelloContents<'_>) -> Vec<(u16, Vec<u8>)> {
    let (mut list, mut found) = (hello.ext.unwrap_or_default(), Vec::new());
    while let Some((&[a, b, c, d], rest)) = list.split_first_chunk() {
        let (content, rest) = rest.split_at(usize::from(u16::from_be_bytes([c, d])));
        found.push((u16::from_be_bytes([a, b]), content.to_vec()));
        list = rest;
    }
    assert!(list.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offers() -> impl Strategy<Value = ClientHello> {
        let versions =
            [Protocol::Ssl3, Protocol::Tls10, Protocol::Tls11, Protocol::Tls12, Protocol::Tls13];
        let numbers = |most| prop::collection::vec(any::<u16>(), 0..most);
        let key = prop::collection::vec(any::<u8>(), 1..1300);
        (
            prop::sample::subsequence(versions.to_vec(), 1..=versions.len()),
            prop::collection::vec(any::<u16>(), 1..400),
            numbers(80),
            numbers(80),
            prop::collection::vec((any::<u16>(), key), 0..4),
            prop::option::of("[a-z0-9.-]{1,252}"),
            prop::collection::vec(any::<u8>(), 0..3),
        )
            .prop_map(
                |(versions, suites, groups, schemes, shares, server_name, compression)| {
                    ClientHello {
                        versions,
                        suites,
                        groups,
                        schemes,
                        shares,
                        server_name,
                        compression,
                    }
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(1_000)
        })]

        #[test]
        fn whatever_is_offered_is_read_back(
            hello in offers(),
            place in any::<prop::sample::Index>(),
            mask in any::<u8>(),
            number in 0_u16..60,
        ) {
            hold_hello(&hello);
            let mut bytes = hello.bytes(|| [7; 32]);
            let place = place.index(bytes.len());
            hold_readers(&bytes[..place], number);
            bytes[place] ^= mask;
            hold_readers(&bytes, number);
        }
    }
}

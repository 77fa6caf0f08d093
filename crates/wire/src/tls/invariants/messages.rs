//! Invariants of the readers of a server's messages, for any input. Property tests and the fuzz
//! target `tls13_message` check them.

use rustls::internal::msgs::base::Payload;
use rustls::internal::msgs::message::{Message, PlainMessage};
use rustls::{ContentType, ProtocolVersion};

use crate::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, ENCRYPTED_EXTENSIONS, NEW_SESSION_TICKET,
    SERVER_HELLO, certificate_request, certificate_verify, encrypted_extensions,
    for_each_certificate, new_session_ticket, server_hello,
};

/// Extensions that clients offer, including a few that are not allowed in answers.
const OFFERED: [u16; 12] = [0, 5, 10, 11, 13, 16, 23, 41, 43, 45, 51, 0x3a3a];

/// The message types whose bodies are read.
pub const TYPES: [u8; 6] = [
    SERVER_HELLO,
    ENCRYPTED_EXTENSIONS,
    CERTIFICATE_REQUEST,
    CERTIFICATE,
    CERTIFICATE_VERIFY,
    NEW_SESSION_TICKET,
];

/// rustls accepts every body that the reader accepts. The reader rejects such a body without its
/// last byte, and with an additional byte. Returns whether the reader accepts the body.
///
/// Panics on a violation.
pub fn hold(kind: u8, body: &[u8]) -> bool {
    if !is_taken(kind, body) {
        return false;
    }
    if let Err(error) = rustls_reads(kind, body) {
        panic!("rustls: {error:?}: {kind} {body:?}");
    }
    assert!(!is_taken(kind, &body[..body.len() - 1]), "cut short: {kind} {body:?}");
    assert!(!is_taken(kind, &[body, &[0]].concat()), "with a byte behind: {kind} {body:?}");
    true
}

/// The result of rustls for the body.
fn rustls_reads(kind: u8, body: &[u8]) -> Result<(), rustls::InvalidMessage> {
    let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
    let payload = Payload::new([&[kind, high, middle, low], body].concat());
    let version = ProtocolVersion::TLSv1_3;
    let message = PlainMessage { typ: ContentType::Handshake, version, payload };
    Message::try_from(message).map(|_| ())
}

fn is_taken(kind: u8, body: &[u8]) -> bool {
    match kind {
        // The server repeats any session ID. Without an offered PSK nothing more is accepted.
        SERVER_HELLO => body.get(35..35 + 32).is_some_and(|id| {
            let is_taken = server_hello(body, id, true).is_ok();
            assert!(is_taken || server_hello(body, id, false).is_err(), "{body:?}");
            is_taken
        }),
        ENCRYPTED_EXTENSIONS => encrypted_extensions(body, &OFFERED).is_ok(),
        CERTIFICATE_REQUEST => certificate_request(body).is_ok(),
        CERTIFICATE => is_chain(body),
        CERTIFICATE_VERIFY => certificate_verify(body).is_ok(),
        NEW_SESSION_TICKET => new_session_ticket(body).is_ok(),
        _ => false,
    }
}

/// True for a Certificate whose certificates and OCSP responses all lie within the body.
fn is_chain(body: &[u8]) -> bool {
    let mut length = 4;
    let read = for_each_certificate(body, |certificate, response| {
        length += 3 + certificate.len() + 2 + response.len();
    });
    assert!(read.is_err() || length <= body.len());
    read.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A field after its length of N bytes.
    fn field(width: usize, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_be_bytes();
        [&length[4 - width..], content].concat()
    }

    fn extensions(list: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let one = |(number, content): &(u16, Vec<u8>)| {
            [&number.to_be_bytes()[..], &field(2, content)].concat()
        };
        field(2, &list.iter().map(one).collect::<Vec<_>>().concat())
    }

    fn body(kind: u8, list: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let extensions = extensions(list);
        match kind {
            SERVER_HELLO => {
                [&[3, 3][..], &[7; 32], &field(1, &[8; 32]), &[0x13, 1, 0], &extensions].concat()
            }
            CERTIFICATE_REQUEST => [&[0], &extensions[..]].concat(),
            CERTIFICATE => {
                let entry = [field(3, &[1, 2]), extensions].concat();
                [vec![0], field(3, &[&entry[..], &entry].concat())].concat()
            }
            CERTIFICATE_VERIFY => [vec![4, 3], field(2, &extensions)].concat(),
            NEW_SESSION_TICKET => {
                [&[0; 8][..], &field(1, &[0]), &field(2, &[5; 9]), &extensions].concat()
            }
            _ => extensions,
        }
    }

    /// Contents of extensions, some valid for one of them.
    const CONTENTS: [&[u8]; 14] = [
        b"",
        &[0, 0],
        &[3, 4],
        &[0, 29, 0, 2, 1, 1],
        &[0, 29, 0, 0],
        &[0, 3, 2, b'h', b'2'],
        &[0, 1, 0],
        &[0, 2, 4, 3],
        &[0, 3, 4, 3, 4],
        &[2, 0, 1],
        &[1, 0, 0, 1, 9],
        &[0, 4, 0, 2, 1, 1],
        &[0, 2, 0, 0],
        &[0, 0, 0, 1],
    ];

    fn list() -> impl Strategy<Value = Vec<(u16, Vec<u8>)>> {
        let numbers = prop_oneof![prop::sample::select(&OFFERED[..]), 24..50_u16];
        let contents = prop_oneof![
            4 => prop::sample::select(&CONTENTS[..]).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec((numbers, contents), 0..4)
    }

    /// The extensions that a message of this type may contain, with valid contents.
    fn fitting(kind: u8) -> Vec<(u16, &'static [u8])> {
        match kind {
            SERVER_HELLO => vec![(43, &[3, 4]), (51, &[0, 29, 0, 2, 1, 1]), (41, &[0, 0])],
            ENCRYPTED_EXTENSIONS => {
                vec![(0, &[]), (10, &[0, 2, 0, 29]), (16, &[0, 3, 2, b'h', b'2'])]
            }
            CERTIFICATE_REQUEST => vec![
                (13, &[0, 4, 4, 3, 8, 4]),
                (27, &[2, 0, 2]),
                (47, &[0, 3, 0, 1, 9]),
                (0x3a3a, &[1, 2, 3]),
            ],
            CERTIFICATE => vec![(5, &[1, 0, 0, 1, 9])],
            NEW_SESSION_TICKET => vec![(42, &[0, 0, 64, 0]), (0x3a3a, &[1]), (0x1234, &[])],
            _ => vec![],
        }
    }

    /// A subset of them in any order, which includes the mandatory ones.
    fn well_formed() -> impl Strategy<Value = (u8, Vec<(u16, Vec<u8>)>)> {
        prop::sample::select(&TYPES[..]).prop_flat_map(|kind| {
            let all = fitting(kind);
            let order = Just(all.clone()).prop_shuffle();
            let kept = prop::collection::vec(any::<bool>(), all.len());
            (order, kept).prop_map(move |(order, kept)| {
                let must = |number: u16| {
                    let is_psk = number == 41;
                    (kind == SERVER_HELLO && !is_psk)
                        || (kind == CERTIFICATE_REQUEST && number == 13)
                };
                let some = order.into_iter().zip(kept);
                let some = some.filter(|((number, _), kept)| *kept || must(*number));
                (kind, some.map(|((number, content), _)| (number, content.to_vec())).collect())
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            ..ProptestConfig::with_cases(4_000)
        })]

        #[test]
        fn what_is_well_formed_is_let_in((kind, list) in well_formed()) {
            prop_assert!(hold(kind, &body(kind, &list)), "{} {:?}", kind, list);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(20_000)
        })]

        #[test]
        fn nothing_is_let_in_that_rustls_refuses(
            kind in prop::sample::select(&TYPES[..]),
            list in list(),
            change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut body = body(kind, &list);
            if let Some((place, byte)) = change {
                let place = place.index(body.len());
                body[place] = byte;
            }
            hold(kind, &body);
        }
    }

    #[test]
    fn what_servers_say_is_let_in() {
        let named = |number: u16, content: &[u8]| (number, content.to_vec());
        for (kind, list) in [
            (SERVER_HELLO, vec![named(43, &[3, 4]), named(51, &[0, 29, 0, 2, 1, 1])]),
            (ENCRYPTED_EXTENSIONS, vec![]),
            (ENCRYPTED_EXTENSIONS, vec![named(0, &[]), named(16, &[0, 3, 2, b'h', b'2'])]),
            (ENCRYPTED_EXTENSIONS, vec![named(10, &[0, 2, 0, 29])]),
            (CERTIFICATE_REQUEST, vec![named(13, &[0, 2, 4, 3])]),
            (CERTIFICATE_REQUEST, vec![named(13, &[0, 2, 4, 3]), named(47, &[0, 3, 0, 1, 9])]),
            (CERTIFICATE_REQUEST, vec![named(13, &[0, 2, 4, 3]), named(27, &[2, 0, 2])]),
            (CERTIFICATE, vec![]),
            (CERTIFICATE, vec![named(5, &[1, 0, 0, 1, 9])]),
            (CERTIFICATE_VERIFY, vec![]),
            (NEW_SESSION_TICKET, vec![]),
            (NEW_SESSION_TICKET, vec![named(42, &[0, 0, 64, 0]), named(0x3a3a, &[])]),
        ] {
            assert!(hold(kind, &body(kind, &list)), "{kind} {list:?}");
        }
    }
}

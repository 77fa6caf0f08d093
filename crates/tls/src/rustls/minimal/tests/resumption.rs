//! Resumption by PSK (RFC 8446, sections 2.2, 4.2.11 and 4.6.1), against rustls servers and against
//! a scripted one.

use std::time::Duration;

use rustls::HandshakeKind as RustlsKind;
use rustls::crypto::aws_lc_rs::Ticketer;

use super::peer::Peer;
use super::*;
use crate::HandshakeKind;
use crate::rustls::minimal::invariants::script::{RIGHT, SELECTION, TICKET, message, plain};
use tlslab_wire::tls::client_hello_reader::{extension, extensions};
use tlslab_wire::tls::messages::{
    ENCRYPTED_EXTENSIONS, FINISHED, NEW_SESSION_TICKET, PRE_SHARED_KEY, SERVER_HELLO,
};

/// A connection with a completed handshake, which offers this session and keeps those that the
/// server issues.
fn resuming(
    template: &Arc<ClientHelloTemplate>,
    config: &Arc<ServerConfig>,
    ticket: Option<MinimalTicket>,
) -> (MinimalClient, ServerConnection) {
    let mut client = MinimalClient::new(Arc::clone(template), ticket).unwrap();
    client.keep_sessions();
    let mut outgoing = Vec::new();
    client.begin(&mut outgoing).unwrap();
    let mut server = ServerConnection::new(Arc::clone(config)).unwrap();
    exchange(&mut client, &mut server, &mut outgoing);
    assert!(client.is_ready() && !server.is_handshaking(), "{:?}", client.reason());
    (client, server)
}

/// Makes a full handshake; returns the newest session.
fn issued(template: &Arc<ClientHelloTemplate>, config: &Arc<ServerConfig>) -> MinimalTicket {
    let (mut client, mut server) = resuming(template, config, None);
    assert_eq!(server.handshake_kind(), Some(RustlsKind::Full));
    converse(&mut client, &mut server);
    client.take_sessions().pop().unwrap()
}

/// A server whose tickets hold the session, and one that keeps its sessions itself.
fn servers() -> [Arc<ServerConfig>; 2] {
    let mut with_tickets = server_config(false);
    with_tickets.ticketer = Ticketer::new().unwrap();
    [Arc::new(with_tickets), Arc::new(server_config(false))]
}

#[test]
fn sessions_are_resumed_again_and_again_with_every_suite_and_several_groups() {
    for group in GROUPS {
        for suite in &SUITES {
            let template = trusting(&config(group, &[suite.code_point]));
            for server in servers() {
                let mut ticket = issued(&template, &server);
                for _ in 0..3 {
                    let (mut client, mut server) = resuming(&template, &server, Some(ticket));
                    assert_eq!(server.handshake_kind(), Some(RustlsKind::Resumed));
                    let facts = client.facts();
                    assert_eq!(facts.suite, CipherSuite::from_code_point(suite.code_point));
                    assert_eq!(facts.group, Some(KeyExchangeGroup::Named(group.code_point())));
                    assert_eq!(
                        (facts.kind, facts.resumed_by),
                        (HandshakeKind::Resumed, Resume::Psk)
                    );
                    assert_eq!(facts.alpn, Some(Alpn::of(b"http/1.1")));
                    assert_eq!((facts.signature_scheme, facts.authenticated), (None, false));
                    converse(&mut client, &mut server);
                    ticket = client.take_sessions().pop().unwrap();
                    assert!(client.take_sessions().is_empty());
                }
            }
        }
    }
}

#[test]
fn a_server_that_does_not_know_the_session_makes_a_full_handshake() {
    let template = template(Group::X25519);
    let [server, other] = servers();
    let ticket = issued(&template, &server);
    let (mut client, mut server) = resuming(&template, &other, Some(ticket));
    assert_eq!(server.handshake_kind(), Some(RustlsKind::Full));
    let facts = client.facts();
    assert_eq!((facts.kind, facts.resumed_by), (HandshakeKind::Full, Resume::None));
    assert_eq!(facts.signature_scheme, Some(SignatureScheme::from_code_point(0x0403)));
    converse(&mut client, &mut server);
}

#[test]
fn a_session_of_another_hash_is_offered_and_declined() {
    let server = Arc::new(server_config(false));
    let [aes128, aes256, _] = SUITES.each_ref().map(|suite| suite.code_point);
    for (first, second) in [(aes256, aes128), (aes128, aes256)] {
        let of = |suite| trusting(&config(Group::X25519, &[suite]));
        let ticket = issued(&of(first), &server);
        let (mut client, mut server) = resuming(&of(second), &server, Some(ticket));
        assert_eq!(server.handshake_kind(), Some(RustlsKind::Full), "{first:x} {second:x}");
        assert_eq!(client.facts().kind, HandshakeKind::Full);
        converse(&mut client, &mut server);
    }
}

#[test]
fn a_session_is_as_authentic_as_the_handshake_that_issued_it() {
    let template = template(Group::X25519);
    for authenticated in [false, true] {
        let mut peer = Peer::keeping(&template, None);
        peer.say_first(RIGHT.len() + 1);
        peer.client.handshake.set_authenticated(authenticated);
        peer.say(NEW_SESSION_TICKET, &TICKET).unwrap();
        let mut peer = Peer::keeping(&template, Some(peer.issued()));
        peer.say_resumed();
        assert_eq!(peer.client.facts().authenticated, authenticated);
        // And so is a session that a resumption issues.
        peer.say(NEW_SESSION_TICKET, &TICKET).unwrap();
        let mut peer = Peer::keeping(&template, Some(peer.issued()));
        peer.say_resumed();
        assert_eq!(peer.client.facts().authenticated, authenticated);
    }
}

/// A connection of a scripted server that resumes, after its ServerHello.
fn resumed_peer() -> Peer {
    let template = template(Group::X25519);
    let mut peer = Peer::keeping(&template, None);
    peer.say_first(RIGHT.len() + 1);
    peer.say(NEW_SESSION_TICKET, &TICKET).unwrap();
    Peer::keeping(&template, Some(peer.issued()))
}

#[test]
fn a_resumption_has_no_certificate_and_no_message_is_missing_or_out_of_turn() {
    for (place, next) in [ENCRYPTED_EXTENSIONS, FINISHED].into_iter().enumerate() {
        for wrong in 0..=u8::MAX {
            if wrong == next {
                continue;
            }
            let mut peer = resumed_peer();
            RIGHT.iter().take(place).for_each(|(kind, body)| peer.say(*kind, body).unwrap());
            let body = peer.right_body(wrong);
            assert_eq!(peer.say(wrong, &body), Err(Failure::TlsProtocol), "{wrong} at {place}");
            let reason = peer.client.reason().unwrap().name;
            assert!(reason.contains("has no place here"), "{wrong} at {place}: {reason}");
        }
    }
    let mut peer = resumed_peer();
    peer.say_resumed();
    assert!(peer.client.is_ready());
}

#[test]
fn a_finished_under_another_key_completes_nothing() {
    let mut peer = resumed_peer();
    peer.say(RIGHT[0].0, RIGHT[0].1).unwrap();
    let mut content = peer.right_body(FINISHED);
    content[0] ^= 1;
    assert_eq!(peer.say(FINISHED, &content), Err(Failure::TlsProtocol));
    assert!(!peer.client.is_ready());
}

/// The alert to a ServerHello of a resumption with these bytes in place of [`SELECTION`] and the
/// share's extension; 0 without one.
fn alert_to(selection: &[u8], share: bool, suite: u8, offers: bool) -> u8 {
    let template = template(Group::X25519);
    let ticket = offers.then(|| {
        let mut peer = Peer::keeping(&template, None);
        peer.say_first(RIGHT.len() + 1);
        peer.say(NEW_SESSION_TICKET, &TICKET).unwrap();
        peer.issued().0
    });
    let mut client = MinimalClient::new(Arc::clone(&template), ticket).unwrap();
    client.begin(&mut Vec::new()).unwrap();
    let own = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
    let share: &[u8] =
        if share { &[&[0, 51, 0, 36, 0, 29, 0, 32], own.pub_key()].concat() } else { &[] };
    let list = [&[0, 43, 0, 2, 3, 4], share, selection].concat();
    let id = client.handshake.session_id();
    let body =
        [&[3, 3], &[7; 32][..], &[32], &id, &[0x13, suite, 0], &[0, list.len() as u8], &list];
    let mut record = plain(HANDSHAKE, &message(SERVER_HELLO, &body.concat()));
    let mut said = Vec::new();
    let taken = client.record(&mut record, &mut said);
    assert_eq!(taken.is_err(), client.fault.is_some());
    client.fault.map_or(0, |(alert, _)| alert)
}

#[test]
fn a_selection_that_was_not_offered_is_refused() {
    let (illegal, decode, unsupported, missing) = (47, 50, 110, 109);
    for (selection, share, suite, offers, alert) in [
        (&SELECTION[..], true, 1, true, 0),
        (&[], true, 1, true, 0),
        (&[], true, 2, true, 0),
        // Another session, and none that was offered.
        (&[0, 41, 0, 2, 0, 1], true, 1, true, illegal),
        (&[0, 41, 0, 2, 1, 0], true, 1, true, illegal),
        (&SELECTION, true, 1, false, unsupported),
        // Wrong lengths, and twice the same.
        (&[0, 41, 0, 0], true, 1, true, decode),
        (&[0, 41, 0, 1, 0], true, 1, true, decode),
        (&[0, 41, 0, 3, 0, 0, 0], true, 1, true, decode),
        (&[SELECTION, SELECTION].concat(), true, 1, true, illegal),
        // A suite of another hash, and one of the same.
        (&SELECTION, true, 2, true, illegal),
        (&SELECTION, true, 3, true, 0),
        // Without the key exchange that the client insists on.
        (&SELECTION, false, 1, true, illegal),
        (&[], false, 1, true, missing),
    ] {
        assert_eq!(
            alert_to(selection, share, suite, offers),
            alert,
            "{selection:?} {share} {suite}"
        );
    }
}

#[test]
fn the_offer_is_the_last_extension_and_all_lengths_count_it() {
    let template = template(Group::X25519);
    let (_, plain) = begun(&template);
    let mut peer = Peer::keeping(&template, None);
    peer.say_first(RIGHT.len() + 1);
    peer.say(NEW_SESSION_TICKET, &TICKET).unwrap();
    let (ticket, _) = peer.issued();
    let mut client = MinimalClient::new(Arc::clone(&template), Some(ticket)).unwrap();
    // What lies in front of the record is left as it is.
    let mut bytes = b"before".to_vec();
    client.begin(&mut bytes).unwrap();
    let record = bytes.strip_prefix(b"before").unwrap();
    assert_eq!(record_length(record), Ok(Some(record.len())));
    assert_eq!(record[6..9], (record.len() as u32 - 9).to_be_bytes()[1..]);
    let mut numbers = Vec::new();
    let behind = for_each_extension(extensions(record).unwrap(), |number, _| {
        numbers.push(number);
        Ok(())
    });
    assert_eq!((behind, numbers.last()), (Ok(&[][..]), Some(&PRE_SHARED_KEY)));
    let offer = extension(record, PRE_SHARED_KEY).unwrap();
    assert_eq!(record.len(), plain.len() + 4 + offer.len());
    // The ticket and its age, to which the server's number is added; a binder.
    assert_eq!(offer[..5], [0, 7, 0, 1, 7]);
    let age = u32::from_be_bytes(*offer[5..].first_chunk().unwrap()).wrapping_sub(0x01020304);
    assert!(age < 60_000, "{age} ms");
    assert_eq!((offer.len(), &offer[9..12]), (12 + 32, &[0, 33, 32][..]));
}

/// The sessions that a client keeps of a NewSessionTicket with this body.
fn kept(body: &[u8]) -> Vec<MinimalTicket> {
    let mut peer = Peer::keeping(&template(Group::X25519), None);
    peer.say_first(RIGHT.len() + 1);
    peer.say(NEW_SESSION_TICKET, body).unwrap();
    peer.client.take_sessions()
}

/// A NewSessionTicket with this lifetime, nonce and ticket.
fn ticket(lifetime: u32, nonce: &[u8], ticket: &[u8]) -> Vec<u8> {
    let [length, ticket_length] = [nonce.len(), ticket.len()].map(|l| (l as u16).to_be_bytes());
    let parts = [&lifetime.to_be_bytes(), &[0; 4][..], &length[1..], nonce, &ticket_length, ticket];
    [&parts.concat()[..], &[0, 0]].concat()
}

#[test]
fn a_session_is_kept_for_its_lifetime_and_a_week_at_most() {
    assert!(kept(&ticket(0, &[], &[7])).is_empty());
    let week = 7 * 24 * 60 * 60;
    for (lifetime, expected) in [(1, 1), (week, week), (week + 1, week), (u32::MAX, week)] {
        let [session] = &kept(&ticket(lifetime, &[], &[7]))[..] else { panic!("{lifetime}") };
        let left = session.expires() - std::time::Instant::now();
        let expected = Duration::from_secs(expected.into());
        assert!(left <= expected && left > expected - Duration::from_secs(1), "{lifetime}");
    }
}

#[test]
fn a_session_is_kept_if_a_client_hello_of_one_record_can_offer_it() {
    let template = template(Group::X25519);
    let (_, hello) = begun(&template);
    // A record has 16 KiB.
    let longest = (1 << 14) - (hello.len() - HEADER) - (4 + 2 + 2 + 4 + 2 + 1 + 32);
    assert!(kept(&ticket(9, &[], &vec![7; longest + 1])).is_empty());
    let session = kept(&ticket(9, &[], &vec![7; longest])).pop();
    let mut client = MinimalClient::new(template, session).unwrap();
    let mut record = Vec::new();
    client.begin(&mut record).unwrap();
    assert_eq!(record_length(&record), Ok(Some(HEADER + (1 << 14))));
}

#[test]
fn a_nonce_may_be_as_long_as_its_length_allows() {
    for nonce in [&[][..], &[1], &[9; 64], &[9; 65], &[9; 255]] {
        assert_eq!(kept(&ticket(9, nonce, &[7])).len(), 1, "{}", nonce.len());
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn the_psk_of_a_ticket_is_that_of_the_standards_example() {
    // RFC 8448, section 3.
    let secret = "7df235f2031d2a051287d02b0241b0bfdaf86cc856231f2d5aba46c434ec196c";
    let psk = "4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3";
    let found = SUITES[0].psk(&OkmBlock::new(&unhex(secret)), &[0, 0]);
    assert_eq!(found.as_ref(), unhex(psk));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_resumption_that_was_tampered_with_completes_nothing(
        place in 0_usize..400,
        bit in 0_u8..8,
    ) {
        let template = template(Group::X25519);
        let server = &servers()[1];
        let ticket = issued(&template, server);
        let mut client = MinimalClient::new(template, Some(ticket)).unwrap();
        let mut outgoing = Vec::new();
        client.begin(&mut outgoing).unwrap();
        let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
        server.read_tls(&mut &outgoing[..]).unwrap();
        server.process_new_packets().unwrap();
        let mut flight = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut flight).unwrap();
        }
        let place = place % flight.len();
        let hello = record_length(&flight).unwrap().unwrap_or(0);
        flight[place] ^= 1 << bit;
        let is_free = [2, hello + 2].contains(&place);
        let said = feed(&mut client, &mut flight, &mut Vec::new());
        prop_assert!(is_free || said.is_err() || !client.is_ready());
        prop_assert!(!is_free || client.facts().kind == HandshakeKind::Resumed);
    }

    #[test]
    fn an_offer_that_was_tampered_with_resumes_nothing(place in 0_usize..400, bit in 0_u8..8) {
        let template = template(Group::X25519);
        let server = &servers()[0];
        let ticket = issued(&template, server);
        let mut client = MinimalClient::new(template, Some(ticket)).unwrap();
        let mut hello = Vec::new();
        client.begin(&mut hello).unwrap();
        let place = HEADER + place % (hello.len() - HEADER);
        hello[place] ^= 1 << bit;
        let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
        server.read_tls(&mut &hello[..]).unwrap();
        // Every byte of the ClientHello is bound to the session, or the server forgets the session.
        prop_assert!(
            server.process_new_packets().is_err()
                || server.handshake_kind() != Some(RustlsKind::Resumed)
        );
    }
}

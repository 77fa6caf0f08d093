//! The alert for a server that breaks a rule: encrypted as soon as there are keys.

use super::peer::Peer;
use super::*;
use crate::rustls::minimal::handshake::FOR_MIDDLE_BOXES;
use crate::rustls::minimal::invariants::script::{RIGHT, message, plain};
use tlslab_wire::outcome::alert_name;
use tlslab_wire::tls::messages::{
    CERTIFICATE_REQUEST, ENCRYPTED_EXTENSIONS, FINISHED, SERVER_HELLO,
};

/// The number of the alert that a client has sent last, as its server reads it. A middlebox record
/// precedes the alert, as it precedes a flight (RFC 8446, appendix D.4).
fn alert_of(peer: &Peer, said: &mut [u8]) -> u8 {
    let mut keys = SUITES[0].protect(peer.client_secret()).unwrap();
    let (for_middle_boxes, said) = said.split_at_mut(FOR_MIDDLE_BOXES.len());
    assert_eq!(for_middle_boxes, FOR_MIDDLE_BOXES);
    let (header, body) = said.split_first_chunk_mut::<HEADER>().unwrap();
    let (kind, content) = keys.open(*header, body).unwrap();
    assert_eq!((kind, content.len(), content[0]), (ALERT, 2, FATAL));
    content[1]
}

/// The reason after a record. The alert that the client sends must match that reason.
fn reported(mut peer: Peer, mut record: Vec<u8>) -> &'static str {
    let mut said = Vec::new();
    assert_eq!(peer.client.record(&mut record, &mut said), Err(Failure::TlsProtocol));
    let name = alert_name(alert_of(&peer, &mut said)).unwrap();
    let reason = peer.client.reason().unwrap().name;
    assert!(reason.starts_with(name), "{name}: {reason}");
    name
}

#[test]
fn each_kind_of_fault_has_its_alert() {
    let sealed = |kind: u8, content: &[u8]| {
        let mut peer = Peer::new();
        let record = peer.seal(kind, content);
        reported(peer, record)
    };
    let message = |kind: u8, body: &[u8]| {
        let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
        sealed(HANDSHAKE, &[&[kind, high, middle, low], body].concat())
    };
    assert_eq!(message(FINISHED, &[0; 32]), "unexpected_message");
    assert_eq!(message(ENCRYPTED_EXTENSIONS, &[0]), "decode_error");
    assert_eq!(message(ENCRYPTED_EXTENSIONS, &[0, 4, 0, 99, 0, 0]), "unsupported_extension");
    assert_eq!(message(ENCRYPTED_EXTENSIONS, &[0, 6, 0, 43, 0, 2, 3, 4]), "illegal_parameter");
    let twice = [0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(message(ENCRYPTED_EXTENSIONS, &twice), "illegal_parameter");
    assert_eq!(sealed(0, &[]), "unexpected_message");
    assert_eq!(sealed(APPLICATION_DATA, b"early"), "unexpected_message");
    assert_eq!(sealed(ALERT, &[2]), "decode_error");
    let mut peer = Peer::new();
    peer.say_first(1);
    let without = [CERTIFICATE_REQUEST, 0, 0, 3, 0, 0, 0];
    let record = peer.seal(HANDSHAKE, &without);
    assert_eq!(reported(peer, record), "missing_extension");
    let mut peer = Peer::new();
    peer.say_first(1);
    let no_names = [CERTIFICATE_REQUEST, 0, 0, 9, 0, 0, 6, 0, 47, 0, 2, 0, 0];
    let record = peer.seal(HANDSHAKE, &no_names);
    assert_eq!(reported(peer, record), "decode_error");
}

#[test]
fn an_alert_of_an_unknown_level_is_a_fault_and_still_the_alert_that_it_is() {
    let mut peer = Peer::new();
    let mut record = peer.seal(ALERT, &[0x42, 40]);
    let mut said = Vec::new();
    assert_eq!(peer.client.record(&mut record, &mut said), Err(Failure::Alert(40)));
    assert_eq!(alert_of(&peer, &mut said), 47);
}

#[test]
fn a_server_of_another_version_gets_its_alert_whatever_else_is_wrong() {
    let older = |legacy: [u8; 2], behind: &[u8]| {
        let body = [&legacy[..], &[7; 32], &[0, 0xc0, 0x2f, 0], behind].concat();
        let (mut client, _) = begun(&template(Group::X25519));
        let mut record = plain(HANDSHAKE, &message(SERVER_HELLO, &body));
        let mut said = Vec::new();
        client.record(&mut record, &mut said).unwrap_err();
        said[6]
    };
    // Without extensions, with renegotiation_info, and with a version that answers nothing.
    assert_eq!(older([3, 3], &[]), 70);
    assert_eq!(older([3, 1], &[]), 70);
    assert_eq!(older([3, 3], &[0, 5, 0xff, 1, 0, 1, 0]), 70);
    assert_eq!(older([3, 3], &[0, 6, 0, 43, 0, 2, 3, 3]), 47);
    assert_eq!(older([3, 4], &[]), 47);
}

#[test]
fn a_false_record_and_a_false_finished_are_reported_apart() {
    let mut peer = Peer::new();
    let mut record = peer.seal(HANDSHAKE, &[ENCRYPTED_EXTENSIONS, 0, 0, 2, 0, 0]);
    *record.last_mut().unwrap() ^= 1;
    assert_eq!(reported(peer, record), "bad_record_mac");
    let mut peer = Peer::new();
    peer.say_all_but_finished();
    let record = peer.seal(HANDSHAKE, &[&[FINISHED, 0, 0, 32], &[0; 32][..]].concat());
    assert_eq!(reported(peer, record), "decrypt_error");
}

#[test]
fn before_there_are_keys_the_alert_is_in_the_clear() {
    for (record, alert) in [
        (vec![HANDSHAKE, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3], 50),
        (vec![HANDSHAKE, 3, 3, 0, 6, 11, 0, 0, 2, 3, 3], 10),
        (vec![HANDSHAKE, 3, 3, 0, 6, 2, 0, 0, 2, 9, 9], 47),
    ] {
        let (mut client, _) = begun(&template(Group::X25519));
        let mut said = Vec::new();
        client.record(&mut record.clone(), &mut said).unwrap_err();
        assert_eq!(said, [ALERT, 3, 3, 0, 2, FATAL, alert], "{record:?}");
    }
    for (start, alert) in
        [(&[99, 3, 3, 0, 0], 10), (&[22, 2, 0, 0, 2], 50), (&[22, 3, 3, 99, 0], 22)]
    {
        let (mut client, _) = begun(&template(Group::X25519));
        let mut said = Vec::new();
        client.record_length(start, &mut said).unwrap_err();
        assert_eq!(said, [ALERT, 3, 3, 0, 2, FATAL, alert], "{start:?}");
    }
}

#[test]
fn a_server_that_has_sent_an_alert_gets_none() {
    let mut peer = Peer::new();
    let mut record = peer.seal(ALERT, &[2, 80]);
    let mut said = Vec::new();
    assert_eq!(peer.client.record(&mut record, &mut said), Err(Failure::Alert(80)));
    assert_eq!((said, peer.client.reason()), (Vec::new(), None));
}

#[test]
fn behind_the_handshake_the_alert_comes_under_the_keys_of_the_application() {
    let mut peer = Peer::new();
    peer.say_first(RIGHT.len() + 1);
    let [client, _] = peer.client.handshake.traffic().unwrap();
    let mut keys = SUITES[0].protect(client).unwrap();
    let mut said = Vec::new();
    let mut record = [&[APPLICATION_DATA, 3, 3, 0, 32], &[0; 32][..]].concat();
    peer.client.record(&mut record, &mut said).unwrap_err();
    let (header, body) = said.split_first_chunk_mut::<HEADER>().unwrap();
    assert_eq!(keys.open(*header, body), Ok((ALERT, &[FATAL, 20][..])));
    // The alert is sent only once.
    let mut more = Vec::new();
    peer.client.end_with(80, &mut more);
    assert!(more.is_empty());
}

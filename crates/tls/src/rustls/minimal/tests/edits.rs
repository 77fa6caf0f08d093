//! Valid messages with some bytes changed. None makes the client panic, and together they reach the
//! checks behind those of the lengths.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{TestRng, TestRunner};

use super::peer::{Peer, server_hello};
use super::*;
use crate::rustls::minimal::invariants::script::{message, plain};
use tlslab_wire::outcome::alert_name;
use tlslab_wire::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, ENCRYPTED_EXTENSIONS, FINISHED,
    KEY_UPDATE, NEW_SESSION_TICKET, SERVER_HELLO,
};

/// The number of edits that are tried on a message. Each run tries the same edits.
const CASES: u32 = 400;

/// A position, and the change of the byte there.
pub type Edit = (prop::sample::Index, u8);

/// At most two edits.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)
}

/// Valid bytes, changed by these edits.
pub fn edited(right: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = right.to_vec();
    for (place, edit) in edits {
        let at = place.index(bytes.len().max(1));
        match edit % 8 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), *edit),
            bit => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (bit - 1)),
        }
    }
    bytes
}

/// The messages after the ServerHello: the number of messages before each, its type, and the
/// results that its edits must reach. A result is the client's alert, or `taken` if the client
/// accepts the message.
const MESSAGES: [(usize, u8, &[&str]); 7] = [
    (0, ENCRYPTED_EXTENSIONS, &["decode_error", "illegal_parameter", "unsupported_extension"]),
    (1, CERTIFICATE_REQUEST, &["taken", "decode_error", "missing_extension"]),
    (1, CERTIFICATE, &["taken", "decode_error", "bad_certificate_status_response"]),
    (2, CERTIFICATE_VERIFY, &["taken", "decode_error", "illegal_parameter"]),
    (3, FINISHED, &["decrypt_error"]),
    (4, NEW_SESSION_TICKET, &["taken", "decode_error"]),
    (4, KEY_UPDATE, &["decode_error", "illegal_parameter"]),
];

/// A valid body for a message of this type at its place, with an extension if the message may have
/// one.
fn right_body(peer: &Peer, kind: u8) -> Vec<u8> {
    match kind {
        ENCRYPTED_EXTENSIONS => vec![0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'2'],
        // One certificate of four bytes, with an OCSP response.
        CERTIFICATE => {
            let response = tlslab_testkit::ocsp_response(&[], 4);
            let length = response.len() as u8;
            let status = [&[0, 5, 0, length + 4, 1, 0, 0, length], &response[..]].concat();
            let before = [0, 0, 0, length + 17, 0, 0, 4, 9, 9, 9, 9, 0, length + 8];
            [&before[..], &status].concat()
        }
        _ => peer.right_body(kind),
    }
}

/// Makes edits, and asserts that at least 1 % of the cases reach each wanted result. An edit that
/// changes nothing is left out: it has no result.
fn assert_reached(wanted: &[&str], named: impl Fn(&[Edit]) -> Option<&'static str>) {
    let seen = RefCell::new(BTreeMap::<&str, u32>::new());
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) };
    let rng = TestRng::deterministic_rng(cases.rng_algorithm);
    let run = TestRunner::new_with_rng(cases, rng).run(&edits(), |edits| {
        if let Some(name) = named(&edits) {
            *seen.borrow_mut().entry(name).or_default() += 1;
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    let seen = seen.into_inner();
    for name in wanted {
        let times = seen.get(name).copied().unwrap_or_default();
        assert!(times >= CASES / 100, "{name} is reached {times} times: {seen:?}");
    }
}

/// The alert that the client sends; `None` if the client has found no fault.
fn alert_of(client: &MinimalClient) -> Option<&'static str> {
    client.fault.as_ref().map(|(alert, _)| alert_name(*alert).unwrap())
}

#[test]
fn no_edit_of_a_message_makes_it_panic() {
    let template = template(Group::X25519);
    for (before, kind, wanted) in MESSAGES {
        assert_reached(wanted, |edits| {
            let mut peer = Peer::of(&template);
            peer.say_first(before);
            let right = right_body(&peer, kind);
            let body = edited(&right, edits);
            let is_taken = peer.say(kind, &body).is_ok();
            assert!(is_taken || body != right, "{kind}: {body:?}");
            assert_eq!(alert_of(&peer.client).is_none(), is_taken, "{kind}: {body:?}");
            (body != right).then(|| alert_of(&peer.client).unwrap_or("taken"))
        });
    }
}

#[test]
fn no_edit_of_the_first_record_makes_it_panic() {
    let template = template(Group::X25519);
    assert_reached(&["taken", "waited for", "decode_error", "illegal_parameter"], |edits| {
        let (mut client, _) = begun(&template);
        let share = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
        let right = plain(HANDSHAKE, &message(SERVER_HELLO, &server_hello(&client, &*share)));
        let mut record = edited(&right, edits);
        let is_edited = record != right;
        let is_taken = feed(&mut client, &mut record, &mut Vec::new()).is_ok();
        assert!(is_taken || is_edited);
        let waits = client.handshake.state() == State::ServerHello;
        let name = alert_of(&client).unwrap_or(if waits { "waited for" } else { "taken" });
        is_edited.then_some(name)
    });
}

//! KeyUpdates from a server (RFC 8446, section 4.6.3): the highest number of them, and the client's
//! answers.

use super::peer::Peer;
use super::*;
use crate::rustls::minimal::handshake::KEY_UPDATES;
use crate::rustls::minimal::invariants::script::{RIGHT, message};
use tlslab_wire::tls::messages::KEY_UPDATE;

/// A server after the handshake: its client, and the secret and keys under which it sends.
struct Updating {
    client: MinimalClient,
    traffic: OkmBlock,
    keys: Protection,
}

impl Updating {
    fn new() -> Self {
        let mut peer = Peer::new();
        peer.say_first(RIGHT.len() + 1);
        let [_, server] = peer.client.handshake.traffic().unwrap();
        let traffic = OkmBlock::new(server.as_ref());
        let keys = SUITES[0].protect(&traffic).unwrap();
        Self { client: peer.client, traffic, keys }
    }

    /// Sends a KeyUpdate and changes to the next keys. `asks` is 1 if the KeyUpdate requests one
    /// from the client, and 0 if not.
    fn update(&mut self, asks: u8, answer: &mut Vec<u8>) -> Result<(), Failure> {
        let mut record = Vec::new();
        self.keys.seal(HANDSHAKE, &message(KEY_UPDATE, &[asks]), &mut record).unwrap();
        self.traffic = SUITES[0].update(&self.traffic);
        self.keys = SUITES[0].protect(&self.traffic).unwrap();
        self.client.record(&mut record, answer).map(|_| ())
    }

    /// Sends as many KeyUpdates as may follow each other, and one more. Returns the client's answer
    /// to the last.
    fn update_too_often(&mut self) -> Result<(), Failure> {
        for number in 0..KEY_UPDATES {
            assert_eq!(self.update(0, &mut Vec::new()), Ok(()), "{number}");
        }
        self.update(0, &mut Vec::new())
    }

    /// Sends a byte of plaintext.
    fn write(&mut self) {
        let mut record = Vec::new();
        self.keys.seal(APPLICATION_DATA, b"x", &mut record).unwrap();
        let read = self.client.record(&mut record, &mut Vec::new());
        assert_eq!(read, Ok(Event::Plaintext(b"x")));
    }
}

#[test]
fn key_updates_without_end_are_refused() {
    assert_eq!(Updating::new().update_too_often(), Err(Failure::TlsProtocol));
}

#[test]
fn plaintext_between_key_updates_begins_their_count_anew() {
    let mut server = Updating::new();
    for _ in 0..3 {
        for _ in 0..KEY_UPDATES {
            server.update(0, &mut Vec::new()).unwrap();
        }
        server.write();
    }
    assert_eq!(server.update_too_often(), Err(Failure::TlsProtocol));
}

#[test]
fn key_updates_that_are_asked_for_are_answered_once_with_the_next_plaintext() {
    let mut server = Updating::new();
    let [before, _] = server.client.handshake.traffic().unwrap();
    let before = OkmBlock::new(before.as_ref());
    let mut said = Vec::new();
    for _ in 0..3 {
        server.update(1, &mut said).unwrap();
    }
    assert!(said.is_empty());
    server.client.write(b"x", &mut said).unwrap();
    server.client.write(b"y", &mut said).unwrap();
    // A KeyUpdate of 5 bytes, and twice one byte of plaintext. Each is in a record that adds 22
    // bytes.
    assert_eq!(said.len(), 27 + 23 + 23);
    let [now, _] = server.client.handshake.traffic().unwrap();
    assert_eq!(now.as_ref(), SUITES[0].update(&before).as_ref());
}

//! Tests against a scripted server that sends messages which no library would send.

use rustls::crypto::ActiveKeyExchange;

use super::*;
use crate::rustls::minimal::handshake::LONGEST_MESSAGE;
use crate::rustls::minimal::invariants::script::{RIGHT, SELECTION, TICKET, message, plain};
use crate::rustls::minimal::secrets::Side;
use tlslab_wire::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, ENCRYPTED_EXTENSIONS, FINISHED,
    KEY_UPDATE, NEW_SESSION_TICKET, SERVER_HELLO,
};

/// A server made of the client's own parts.
pub struct Peer {
    pub client: MinimalClient,
    secrets: Box<dyn Secrets>,
    keys: Protection,
    /// The resumption master secret, after the handshake.
    resumption: Option<OkmBlock>,
}

/// The body of a ServerHello.
pub fn server_hello(client: &MinimalClient, exchange: &dyn ActiveKeyExchange) -> Vec<u8> {
    let share = exchange.pub_key();
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.push(32);
    body.extend(client.handshake.session_id());
    body.extend([0x13, 0x01, 0, 0, 46, 0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32]);
    body.extend(share);
    body
}

impl Peer {
    /// A server and client after the ServerHello.
    pub fn new() -> Self {
        Self::of(&template(Group::X25519))
    }

    /// The same with a client of this template, whose group is X25519.
    pub fn of(template: &Arc<ClientHelloTemplate>) -> Self {
        Self::with(MinimalClient::new(Arc::clone(template), None).unwrap(), None)
    }

    /// The same with a client that keeps sessions, and resumes this one with this PSK.
    pub fn keeping(
        template: &Arc<ClientHelloTemplate>,
        session: Option<(MinimalTicket, OkmBlock)>,
    ) -> Self {
        let (ticket, psk) = session.unzip();
        let mut client = MinimalClient::new(Arc::clone(template), ticket).unwrap();
        client.keep_sessions();
        Self::with(client, psk)
    }

    fn with(mut client: MinimalClient, psk: Option<OkmBlock>) -> Self {
        let mut hello = Vec::new();
        client.begin(&mut hello).unwrap();
        let own = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
        let mut body = server_hello(&client, &*own);
        if psk.is_some() {
            body.extend(SELECTION);
            // The length of the extensions.
            body[71] += SELECTION.len() as u8;
        }
        let answer = message(SERVER_HELLO, &body);
        let theirs = client.handshake.share().unwrap().to_vec();
        let shared = own.complete(&theirs).unwrap();
        let (suite, hellos) = (&SUITES[0], [&hello[HEADER..], &answer]);
        let secrets = match psk {
            Some(psk) => suite.resume(&suite.bind(&psk, &[]).salt, shared.secret_bytes(), hellos),
            None => suite.begin(shared.secret_bytes(), hellos),
        };
        let keys = SUITES[0].protect(secrets.traffic(Side::Server)).unwrap();
        let mut record = plain(HANDSHAKE, &answer);
        assert_eq!(client.record(&mut record, &mut Vec::new()), Ok(Event::Nothing));
        Self { client, secrets, keys, resumption: None }
    }

    /// The client's handshake traffic secret.
    pub fn client_secret(&self) -> &OkmBlock {
        self.secrets.traffic(Side::Client)
    }

    pub fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        self.keys.seal(kind, content, &mut record).unwrap();
        record
    }

    /// Sends a handshake message in a record of its own.
    pub fn say(&mut self, kind: u8, body: &[u8]) -> Result<(), Failure> {
        let message = message(kind, body);
        self.secrets.add(&message);
        let mut record = self.seal(HANDSHAKE, &message);
        self.client.record(&mut record, &mut Vec::new()).map(|_| ())
    }

    /// Sends the messages up to the CertificateVerify.
    pub fn say_all_but_finished(&mut self) {
        self.say_first(RIGHT.len());
    }

    /// Sends the first N messages after the ServerHello; the fourth is the Finished.
    pub fn say_first(&mut self, count: usize) {
        RIGHT.iter().take(count).for_each(|(kind, body)| self.say(*kind, body).unwrap());
        if count > RIGHT.len() {
            self.say_last();
        }
    }

    /// The hash of the transcript so far.
    pub fn transcript(&self) -> Vec<u8> {
        self.secrets.so_far().as_ref().to_vec()
    }

    /// A valid body for a message of this type in this handshake.
    pub fn right_body(&self, kind: u8) -> Vec<u8> {
        match kind {
            SERVER_HELLO => {
                let own = implementation(Group::X25519, KeyShare::Reused).unwrap();
                server_hello(&self.client, &*own.start().unwrap())
            }
            FINISHED => self.secrets.finished(Side::Server).as_ref().to_vec(),
            CERTIFICATE_REQUEST => vec![0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3],
            NEW_SESSION_TICKET => TICKET.to_vec(),
            KEY_UPDATE => vec![0],
            _ => RIGHT.iter().find(|(right, _)| *right == kind).map_or(vec![], |(_, b)| b.to_vec()),
        }
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        let content = self.secrets.finished(Side::Server);
        self.say(FINISHED, content.as_ref())
    }

    /// Sends the messages of a resumption after the ServerHello.
    pub fn say_resumed(&mut self) {
        self.say(RIGHT[0].0, RIGHT[0].1).unwrap();
        self.say_last();
    }

    /// Sends the Finished, and changes to the keys of the application.
    fn say_last(&mut self) {
        self.finish().unwrap();
        let [_, server] = self.client.handshake.traffic().unwrap();
        self.keys = SUITES[0].protect(server).unwrap();
        self.secrets.application();
        let finished = self.secrets.finished(Side::Client);
        self.secrets.add(&message(FINISHED, finished.as_ref()));
        self.resumption = self.secrets.resumption();
    }

    /// The newest session of the client, and its PSK by the server's own derivation.
    pub fn issued(&mut self) -> (MinimalTicket, OkmBlock) {
        let session = self.client.take_sessions().pop().unwrap();
        (session, SUITES[0].psk(self.resumption.as_ref().unwrap(), &[]))
    }
}

#[test]
fn the_peer_of_these_tests_can_do_it_right() {
    let mut peer = Peer::new();
    peer.say_all_but_finished();
    peer.finish().unwrap();
    assert!(peer.client.is_ready());
}

#[test]
fn a_finished_that_does_not_fit_is_refused() {
    let mut peer = Peer::new();
    peer.say_all_but_finished();
    let mut content = peer.secrets.finished(Side::Server).as_ref().to_vec();
    content[31] ^= 1;
    assert_eq!(peer.say(FINISHED, &content), Err(Failure::TlsProtocol));
    assert!(!peer.client.is_ready());
    for wrong in [&content[..31], &[], &[0; 48]] {
        let mut peer = Peer::new();
        peer.say_all_but_finished();
        assert_eq!(peer.say(FINISHED, wrong), Err(Failure::TlsProtocol));
    }
}

#[test]
fn no_message_may_be_missing_out_of_turn_or_there_twice() {
    let right = [ENCRYPTED_EXTENSIONS, CERTIFICATE, CERTIFICATE_VERIFY, FINISHED];
    for (place, next) in right.into_iter().enumerate() {
        for wrong in 0..=u8::MAX {
            let asks = place == 1 && wrong == CERTIFICATE_REQUEST;
            if wrong == next || asks {
                continue;
            }
            let mut peer = Peer::new();
            peer.say_first(place);
            // The body is valid for a message of this type: only the order is wrong.
            let body = peer.right_body(wrong);
            assert_eq!(peer.say(wrong, &body), Err(Failure::TlsProtocol), "{wrong} at {place}");
            assert!(!peer.client.is_ready());
            let reason = peer.client.reason().unwrap().name;
            assert!(reason.contains("has no place here"), "{wrong} at {place}: {reason}");
        }
    }
}

#[test]
fn what_messages_may_not_hold_is_refused() {
    let refused = |kinds: &[(u8, &[u8])]| {
        let mut peer = Peer::new();
        let (last, before) = kinds.split_last().unwrap();
        before.iter().for_each(|(kind, body)| peer.say(*kind, body).unwrap());
        peer.say(last.0, last.1).unwrap_err()
    };
    let [extensions, certificate, _] = RIGHT;
    // A protocol that was not offered, two protocols, and wrong lengths; an extension that was not
    // requested, extensions of the ServerHello and of TLS 1.2, a server name with content, and a
    // duplicate.
    for body in [
        &[0, 4, 0, 99, 0, 0][..],
        &[0, 6, 0, 43, 0, 2, 3, 4],
        &[0, 4, 0, 23, 0, 0],
        &[0, 5, 0, 0, 0, 1, 9],
        &[0, 8, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'3'],
        &[0, 9, 0, 16, 0, 5, 0, 3, 2, b'h', b'2', b'x'],
        &[0, 10, 0, 16, 0, 6, 0, 4, 2, b'h', b'2', 0],
        &[0, 1, 0],
        &[0],
        &[],
        &[0, 0, 0],
    ] {
        assert_eq!(refused(&[(ENCRYPTED_EXTENSIONS, body)]), Failure::TlsProtocol, "{body:?}");
    }
    let none = [extensions, (CERTIFICATE, &[0, 0, 0, 0]), RIGHT[2]];
    assert_eq!(refused(&none), Failure::Certificate);
    for body in [&[][..], &[0], &[0, 0, 0], &[1, 9, 0, 0, 0], &[0, 0, 0, 1, 9]] {
        assert_eq!(refused(&[extensions, (CERTIFICATE, body)]), Failure::TlsProtocol);
    }
    for body in [&[][..], &[4], &[4, 3, 0], &[4, 3, 0, 1], &[4, 3, 0, 1, 9, 9]] {
        let kinds = [extensions, certificate, (CERTIFICATE_VERIFY, body)];
        assert_eq!(refused(&kinds), Failure::TlsProtocol);
    }
    let whole = [0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    let asks: (u8, &[u8]) = (CERTIFICATE_REQUEST, &whole);
    assert_eq!(refused(&[extensions, asks, asks]), Failure::TlsProtocol);
    for length in 0..whole.len() {
        let cut = (CERTIFICATE_REQUEST, &whole[..length]);
        assert_eq!(refused(&[extensions, cut]), Failure::TlsProtocol);
    }
    // Invalid authority names: empty, and cut short.
    for names in [&[0, 2, 0, 0][..], &[0, 3, 0, 2, 9], &[0, 1, 0]] {
        let list = [&whole[3..], &[0, 47, 0, names.len() as u8], names].concat();
        let body = [&[0, 0, list.len() as u8], &list[..]].concat();
        let wrong = (CERTIFICATE_REQUEST, &body[..]);
        assert_eq!(refused(&[extensions, wrong]), Failure::TlsProtocol, "{body:?}");
    }
    // With a context, with trailing bytes, without schemes, and with duplicate schemes.
    let schemes = &whole[3..];
    for body in [
        [&[1, 5], &whole[1..]].concat(),
        [&whole[..], &[0]].concat(),
        vec![0, 0, 0],
        vec![0, 0, 6, 0, 13, 0, 2, 0, 0],
        [&[0, 0, 16], schemes, schemes].concat(),
    ] {
        let wrong = (CERTIFICATE_REQUEST, &body[..]);
        assert_eq!(refused(&[extensions, wrong]), Failure::TlsProtocol, "{body:?}");
    }
}

#[test]
fn a_session_ticket_is_read_though_none_is_kept() {
    for (length, said) in [(TICKET.len(), Ok(())), (12, Err(Failure::TlsProtocol))] {
        let mut peer = Peer::new();
        peer.say_first(4);
        assert_eq!(peer.say(NEW_SESSION_TICKET, &TICKET[..length]), said);
        assert!(peer.client.take_sessions().is_empty());
    }
}

#[test]
fn a_message_is_as_long_as_rustls_lets_it_be() {
    for (length, class) in [(LONGEST_MESSAGE, None), (LONGEST_MESSAGE + 1, Some(()))] {
        let mut peer = Peer::new();
        let start = message(ENCRYPTED_EXTENSIONS, &vec![0; length])[..4].to_vec();
        let mut record = peer.seal(HANDSHAKE, &start);
        let said = peer.client.record(&mut record, &mut Vec::new());
        assert_eq!(said.err().map(|_| ()), class, "{length} bytes");
    }
}

#[test]
fn a_close_notify_ends_nothing_before_the_finished() {
    let mut peer = Peer::new();
    peer.say_all_but_finished();
    let mut record = peer.seal(ALERT, &[1, CLOSE_NOTIFY]);
    assert_eq!(peer.client.record(&mut record, &mut Vec::new()), Err(Failure::Alert(0)));
}

#[test]
fn nothing_comes_between_the_parts_of_a_message() {
    let mut peer = Peer::new();
    let mut record = peer.seal(HANDSHAKE, &message(ENCRYPTED_EXTENSIONS, &[0, 0])[..3]);
    assert_eq!(peer.client.record(&mut record, &mut Vec::new()), Ok(Event::Nothing));
    for between in [plain(20, &[1]), peer.seal(ALERT, &[1, USER_CANCELED])] {
        let mut between = between;
        assert_eq!(peer.client.record(&mut between, &mut Vec::new()), Err(Failure::TlsProtocol));
    }
}

#[test]
fn nothing_goes_on_behind_a_change_of_keys_in_one_record() {
    let assert_refused = |mut client: MinimalClient, mut record: Vec<u8>| {
        let said = client.record(&mut record, &mut Vec::new());
        assert_eq!(said, Err(Failure::TlsProtocol));
        let reason = client.reason().unwrap().name;
        assert!(reason.contains("goes on behind a change of keys"), "{reason}");
    };
    let (client, _) = begun(&template(Group::X25519));
    let own = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
    let hello = message(SERVER_HELLO, &server_hello(&client, &*own));
    let next = message(RIGHT[0].0, RIGHT[0].1);
    assert_refused(client, plain(HANDSHAKE, &[hello, next].concat()));
    for (before, kind) in [(RIGHT.len(), FINISHED), (RIGHT.len() + 1, KEY_UPDATE)] {
        let mut peer = Peer::new();
        peer.say_first(before);
        // Both messages are valid, each in a record of its own.
        let both = [kind, NEW_SESSION_TICKET].map(|kind| message(kind, &peer.right_body(kind)));
        let record = peer.seal(HANDSHAKE, &both.concat());
        assert_refused(peer.client, record);
    }
}

#[test]
fn only_what_may_come_unencrypted_does() {
    let mut empty = Vec::new();
    let mut peer = Peer::new();
    let client = &mut peer.client;
    for _ in 0..2 {
        assert_eq!(client.record(&mut plain(20, &[1]), &mut empty), Ok(Event::Nothing));
    }
    assert!(client.record(&mut plain(20, &[1]), &mut empty).is_err());
    for mut record in [
        plain(20, &[2]),
        plain(20, &[]),
        plain(20, &[1, 1]),
        plain(ALERT, &[2]),
        plain(HANDSHAKE, &[8, 0, 0, 2, 0, 0]),
        plain(24, &[1]),
        plain(APPLICATION_DATA, &[]),
        plain(APPLICATION_DATA, &[0; 64]),
    ] {
        let mut peer = Peer::new();
        assert_eq!(peer.client.record(&mut record, &mut empty), Err(Failure::TlsProtocol));
    }
    let (mut client, _) = begun(&template(Group::X25519));
    assert!(client.record(&mut plain(APPLICATION_DATA, &[0; 64]), &mut empty).is_err());
    let (mut client, _) = begun(&template(Group::X25519));
    assert_eq!(client.record(&mut plain(ALERT, &[2, 40]), &mut empty), Err(Failure::Alert(40)));
    // Nor unencrypted alerts, once a record was encrypted.
    let mut reported = Peer::new();
    reported.say_first(1);
    let mut alert = plain(ALERT, &[2, 40]);
    assert_eq!(reported.client.record(&mut alert, &mut empty), Err(Failure::TlsProtocol));
    // After the handshake, middlebox records are not allowed.
    peer.say_all_but_finished();
    peer.finish().unwrap();
    assert!(peer.client.record(&mut plain(20, &[1]), &mut empty).is_err());
}

#[test]
fn content_has_a_type_and_no_plaintext_comes_before_the_finished() {
    let mut peer = Peer::new();
    for (kind, content) in [(0, &[][..]), (APPLICATION_DATA, b"early"), (HANDSHAKE, &[])] {
        let mut other = Peer::new();
        let mut record = other.seal(kind, content);
        assert!(other.client.record(&mut record, &mut Vec::new()).is_err(), "{kind}");
    }
    let mut record = peer.seal(ALERT, &[1, USER_CANCELED]);
    assert_eq!(peer.client.record(&mut record, &mut Vec::new()), Ok(Event::Nothing));
    let mut record = peer.seal(ALERT, &[2, 80]);
    assert_eq!(peer.client.record(&mut record, &mut Vec::new()), Err(Failure::Alert(80)));
}

#[test]
fn a_server_hello_that_is_not_an_answer_is_refused() {
    let (client, _) = begun(&template(Group::X25519));
    let own = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
    let right = server_hello(&client, &*own);
    let read = |body: &[u8]| client.handshake.may_answer(body);
    read(&right).unwrap();
    for length in 0..right.len() {
        read(&right[..length]).unwrap_err();
    }
    read(&[&right[..], &[0]].concat()).unwrap_err();
    // Only the random and the value of the share may have any value.
    let free = |place: usize| (2..34).contains(&place) || place >= right.len() - 32;
    for place in (0..right.len()).filter(|place| !free(*place)) {
        for bit in 0..8 {
            let mut wrong = right.clone();
            wrong[place] ^= 1 << bit;
            // Another offered suite is a valid answer, too.
            let is_suite = place == 68 && (1..=3).contains(&wrong[place]);
            assert_eq!(read(&wrong).is_err(), !is_suite, "bit {bit} of byte {place}");
        }
    }
    let mut retry = right.clone();
    retry[2..34].copy_from_slice(&crate::HELLO_RETRY_REQUEST);
    assert!(read(&retry).unwrap_err().words.contains("another key share"));
}

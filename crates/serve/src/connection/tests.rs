//! Deadlines and endings, over a session without encryption.

use std::io::{Read, Write};
use std::net::TcpStream as Peer;
use std::time::Duration;

use super::*;
use crate::IDLE;
use crate::context::Timing;
use crate::http::Responder;
use crate::stats::{Shared, Stats};
use tlslab_contract::record::CpuTime;
use tlslab_tls::HandshakeKind;
use tlslab_wire::http::body::BodyRule;
use tlslab_wire::http::h2::Client;
use tlslab_wire::http::message::Message;
use tlslab_wire::target::Target;

/// A session whose handshake is one byte. A zero byte ends it, except over HTTP/2, where zero bytes
/// are common.
#[derive(Default)]
struct Plain {
    complete: bool,
    http2: bool,
    unsent: Vec<u8>,
}

impl Session for Plain {
    fn accepted_early_data(&self) -> bool {
        false
    }

    fn handshake(&self) -> Option<HandshakeKind> {
        self.complete.then_some(HandshakeKind::Full)
    }

    fn speaks_http2(&self) -> bool {
        self.http2
    }

    fn has_client_certificate(&self) -> bool {
        false
    }

    fn receive(&mut self, received: &[u8], plaintext: &mut Vec<u8>) -> Result<Inbound, TlsFailure> {
        let start = usize::from(!self.complete);
        self.complete = true;
        if self.http2 {
            plaintext.extend_from_slice(&received[start..]);
            return Ok(Inbound::Open);
        }
        if received[start..].contains(&0xff) {
            self.unsent.push(b'!');
            return Err(TlsFailure);
        }
        plaintext.extend_from_slice(&received[start..]);
        Ok(if received.ends_with(&[0]) { Inbound::Ended } else { Inbound::Open })
    }

    fn write(&mut self, plaintext: &[u8]) -> Result<(), TlsFailure> {
        self.unsent.extend_from_slice(plaintext);
        Ok(())
    }

    fn close(&mut self) {
        self.unsent.push(0);
    }

    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        socket.write_all(&std::mem::take(&mut self.unsent))?;
        Ok(true)
    }
}

/// A connection, its peer, and a clock that the test sets.
struct Bench {
    connection: Connection<Plain>,
    peer: Peer,
    shared: Shared,
    responder: Responder,
    now: Nanos,
    timing: Timing,
}

impl Bench {
    fn new() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Peer::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self {
            connection: Connection::new(TcpStream::from_std(socket), Plain::default(), 0),
            peer,
            shared: Shared::new(1, CpuTime::default()),
            responder: Responder::new(),
            now: 0,
            timing: Timing { pause: 0, idle: IDLE },
        }
    }

    fn with<F>(&mut self, how: F) -> Fate
    where
        F: FnOnce(&mut Connection<Plain>, &mut Context<'_>) -> Fate,
    {
        let mut context = Context {
            now: self.now,
            timing: self.timing,
            counts: self.shared.worker(0),
            shared: &self.shared,
            responder: &mut self.responder,
            received: &mut [0; 4096],
            plaintext: &mut Vec::new(),
            spare: &mut Vec::new(),
        };
        how(&mut self.connection, &mut context)
    }

    /// The peer sends bytes, and the connection receives them.
    fn take(&mut self, bytes: &[u8]) -> Fate {
        self.peer.write_all(bytes).unwrap();
        let mut seen = [0; 1];
        while !bytes.is_empty() && self.connection.socket().peek(&mut seen).is_err() {}
        self.with(|connection, context| {
            connection.socket.look_again();
            connection.go_on(context)
        })
    }

    fn expire_after(&mut self, seconds: u64) -> Fate {
        self.now += seconds * SECOND;
        self.with(Connection::expire)
    }

    fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// All bytes that the peer receives until the connection closes its sending side.
    fn rest(&mut self) -> String {
        let mut all = Vec::new();
        self.peer.read_to_end(&mut all).unwrap();
        String::from_utf8(all).unwrap()
    }
}

const HELLO: &[u8] = b"H";
const GET: &[u8] = b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_peer_that_never_begins_is_dropped_and_is_no_failed_handshake() {
    let mut bench = Bench::new();
    assert_eq!(bench.expire_after(29), Fate::Waits);
    assert_eq!(bench.expire_after(1), Fate::Over);
    assert_eq!(bench.stats().handshakes.failed, 0);
}

#[test]
fn an_idle_connection_is_ended_orderly() {
    let mut bench = Bench::new();
    assert_eq!(bench.take(HELLO), Fate::Waits);
    assert_eq!(bench.expire_after(30), Fate::Waits);
    assert_eq!(bench.rest(), "\0");
    assert!(bench.connection.is_lingering());
    assert_eq!(bench.expire_after(2), Fate::Over);
}

#[test]
fn a_request_that_never_ends_is_dropped() {
    let mut bench = Bench::new();
    bench.take(HELLO);
    for _ in 0..29 {
        bench.now += SECOND;
        assert_eq!(bench.take(b"G"), Fate::Waits);
    }
    assert_eq!(bench.expire_after(1), Fate::Over);
    assert_eq!(bench.stats().requests, 0);
}

#[test]
fn a_request_begins_its_time_anew() {
    let mut bench = Bench::new();
    bench.take(HELLO);
    bench.now += 20 * SECOND;
    assert_eq!(bench.take(GET), Fate::Waits);
    assert_eq!(bench.expire_after(20), Fate::Waits);
    assert_eq!(bench.take(GET), Fate::Waits);
    assert_eq!(bench.stats().requests, 2);
}

#[test]
fn the_time_between_two_requests_is_what_was_asked_for() {
    let mut bench = Bench::new();
    bench.timing.idle = 100 * SECOND;
    bench.take(HELLO);
    bench.take(GET);
    assert_eq!(bench.expire_after(99), Fate::Waits);
    assert!(!bench.connection.is_lingering());
    bench.expire_after(1);
    assert!(bench.connection.is_lingering());
}

#[test]
fn a_request_is_answered_when_its_pause_is_over_and_not_before() {
    let mut bench = Bench::new();
    bench.timing.pause = 3 * SECOND;
    bench.take(HELLO);
    bench.now = SECOND;
    assert_eq!(bench.take(GET), Fate::Pauses(4 * SECOND));
    bench.now = 4 * SECOND - 1;
    assert_eq!(bench.take(b""), Fate::Waits);
    assert_eq!(bench.stats().requests, 0);
    bench.now += 1;
    assert_eq!(bench.take(b""), Fate::Waits);
    assert_eq!(bench.stats().requests, 1);
    assert_eq!(bench.take(GET), Fate::Pauses(7 * SECOND));
}

/// The plaintext of another request over HTTP/2.
fn another(client: &mut Client) -> Vec<u8> {
    let target = Target::parse("https://a/bytes/1").unwrap();
    client.begin(&Message::get(&target).http2, 0, 0).unwrap();
    let bytes = client.outgoing().unwrap().to_vec();
    client.sent(bytes.len());
    bytes
}

#[test]
fn over_http2_each_answer_has_a_pause_of_its_own() {
    let mut bench = Bench::new();
    bench.connection.session.http2 = true;
    bench.timing.pause = 3 * SECOND;
    let mut client = Client::new(BodyRule::Count).unwrap();
    bench.take(HELLO);
    bench.now = SECOND;
    assert_eq!(bench.take(&another(&mut client)), Fate::Pauses(4 * SECOND));
    bench.now = 2 * SECOND;
    assert_eq!(bench.take(&another(&mut client)), Fate::Waits);
    for (now, requests, fate) in [
        (4 * SECOND - 1, 0, Fate::Waits),
        (4 * SECOND, 1, Fate::Pauses(5 * SECOND)),
        (5 * SECOND - 1, 1, Fate::Waits),
        (5 * SECOND, 2, Fate::Waits),
    ] {
        bench.now = now;
        assert_eq!((bench.take(b""), bench.stats().requests), (fate, requests), "{now}");
    }
    let (mut buffer, mut done) = ([0; 4096], 0);
    while done < 2 {
        let length = bench.peer.read(&mut buffer).unwrap();
        client.take(&buffer[..length], 0).unwrap();
        done += std::iter::from_fn(|| client.next_done()).count();
    }
}

#[test]
fn over_http2_a_connection_may_be_silent_for_as_long() {
    let mut bench = Bench::new();
    bench.connection.session.http2 = true;
    bench.timing.idle = 100 * SECOND;
    bench.take(HELLO);
    bench.take(&another(&mut Client::new(BodyRule::Count).unwrap()));
    assert_eq!(bench.expire_after(99), Fate::Waits);
    assert!(!bench.connection.is_lingering());
    bench.expire_after(1);
    assert!(bench.connection.is_lingering());
}

#[test]
fn stopping_ends_what_is_idle_and_answers_what_was_asked() {
    let mut idle = Bench::new();
    idle.take(HELLO);
    assert_eq!(idle.with(Connection::stop), Fate::Waits);
    assert_eq!(idle.rest(), "\0");

    let mut asking = Bench::new();
    asking.take(HELLO);
    asking.peer.write_all(GET).unwrap();
    while asking.connection.socket().peek(&mut [0]).is_err() {}
    assert_eq!(asking.with(Connection::stop), Fate::Waits);
    let answer = asking.rest();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\0"), "{answer:?}");
    assert!(answer.contains("Connection: close\r\n"));

    assert_eq!(Bench::new().with(Connection::stop), Fate::Over);
}

#[test]
fn a_peer_that_ends_gets_its_answers_first() {
    let mut bench = Bench::new();
    bench.take(HELLO);
    bench.take(&[GET, GET, b"\0"].concat());
    assert_eq!(bench.rest().matches("HTTP/1.1 200 OK").count(), 2);
    bench.peer.shutdown(std::net::Shutdown::Write).unwrap();
    while bench.connection.socket().peek(&mut [0]).is_err() {}
    assert_eq!(bench.take(b""), Fate::Over);
}

#[test]
fn a_peer_that_closes_in_the_middle_of_a_handshake_is_a_failed_one() {
    let mut bench = Bench::new();
    bench.connection.begun = true;
    bench.peer.shutdown(std::net::Shutdown::Write).unwrap();
    while bench.connection.socket().peek(&mut [0]).is_err() {}
    assert_eq!(bench.take(b""), Fate::Over);
    assert_eq!(bench.stats().handshakes.failed, 1);
}

#[test]
fn what_breaks_tls_gets_an_alert_before_the_end() {
    let mut bench = Bench::new();
    assert_eq!(bench.take(b"H\xff"), Fate::Waits);
    assert_eq!(bench.rest(), "!");
    assert_eq!(bench.stats().handshakes.failed, 1);
    assert_eq!(bench.take(b"more that nobody reads"), Fate::Waits);
    assert_eq!(bench.expire_after(2), Fate::Over);
    assert_eq!(bench.stats().handshakes.failed, 1);
}

#[test]
fn a_connection_is_new_until_its_second_answer() {
    let mut bench = Bench::new();
    assert!(bench.connection.is_new());
    bench.take(&[HELLO, GET].concat());
    assert!(bench.connection.is_new());
    bench.take(GET);
    assert!(!bench.connection.is_new());
}

#[test]
fn over_http2_a_connection_is_new_until_the_end_of_its_handshake() {
    let mut bench = Bench::new();
    bench.connection.session.http2 = true;
    assert!(bench.connection.is_new());
    bench.take(HELLO);
    assert!(!bench.connection.is_new());
}

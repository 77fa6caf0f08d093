use super::*;
use std::net::TcpListener;
use tlslab_contract::spec::Resume;
use tlslab_system::clock::ManualClock;
use tlslab_tls::expectation::Expectation;
use tlslab_tls::{EarlyData, Urgent};
use tlslab_wire::http::StatusSet;
use tlslab_wire::http::body::BodyRule;
use tlslab_wire::http::message::{Message, Messages};
use tlslab_wire::names::CipherSuite;
use tlslab_wire::target::Target;

/// A session whose peer sends without pause.
struct Endless(&'static [u8]);

impl Session for Endless {
    fn unsent(&self) -> usize {
        0
    }

    fn handshake(&mut self, _: &mut Socket, _: Urgent<'_>) -> Result<Progress, Failure> {
        Ok(Progress::Done(0))
    }

    fn send_early(&mut self, _: &[u8]) -> Result<usize, Failure> {
        Ok(0)
    }

    fn facts(&self) -> Option<Negotiated> {
        Some(negotiated())
    }

    fn write(&mut self, _: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
        Ok(Progress::Done(plaintext.len()))
    }

    fn flush(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
        Ok(Progress::Done(0))
    }

    fn send_close_notify(&mut self, _: &mut Socket) -> Result<(), Failure> {
        Ok(())
    }

    fn read(&mut self, _: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        let bytes = std::mem::replace(&mut self.0, b"x");
        plaintext[..bytes.len()].copy_from_slice(bytes);
        Ok(Progress::Done(bytes.len()))
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// The facts of a full TLS 1.3 handshake.
pub fn negotiated() -> Negotiated {
    Negotiated {
        version: TlsVersion::Tls13,
        suite: CipherSuite::from_code_point(0x1301),
        group: None,
        signature_scheme: Some("ed25519".parse().unwrap()),
        kind: HandshakeKind::Full,
        hello_retry_request: false,
        alpn: None,
        client_authenticated: false,
        resumed_by: Resume::None,
        early_data: EarlyData::None,
        ocsp_response_bytes: 0,
        authenticated: true,
        minimal_client: false,
    }
}

/// A script with one request per connection to this listener.
pub fn script(listener: &TcpListener) -> Script {
    Script {
        address: listener.local_addr().unwrap(),
        sources: Vec::new(),
        messages: Messages::one(Message::get(&Target::parse("https://localhost/").unwrap())),
        head_only: false,
        idempotent: true,
        statuses: StatusSet::default(),
        requests: Some(1),
        think: 0,
        handshake_only: false,
        close: Close::Reset,
        finished: Finished::WithRequest,
        early_data: false,
        deadlines: [1; 4],
        expectation: Expectation::default(),
        body: BodyRule::Count,
        http2: None,
    }
}

#[test]
fn connections_take_the_sources_in_turn() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = script(&listener);
    assert_eq!([0, 1].map(|number| free.source(number)), [None; 2]);
    let sources = ["127.0.0.5", "127.0.0.6"].map(|text| text.parse().unwrap());
    let bound = Script { sources: sources.to_vec(), ..free };
    assert_eq!([0, 1, 2].map(|number| bound.source(number)), [0, 1, 0].map(|n| Some(sources[n])));
}

#[test]
fn a_peer_that_never_pauses_leaves_time_for_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = script(&listener);
    let session = Endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    let socket = Socket::connect(script.address).unwrap();
    let at = Milestones::default();
    let mut connection = Connection::new(socket, session, HandshakeKind::Full, &script, at);
    let clock = ManualClock::default();
    let mut plaintext = [0; 64];
    let mut context = Context {
        script: &script,
        clock: &clock,
        recorder: None,
        plaintext: &mut plaintext,
        urgent_at: Nanos::MAX,
        draining: false,
    };
    let _accepted = listener.accept().unwrap();
    for turn in 1..=3 {
        assert_eq!(connection.advance(&mut context), Turn::Write);
        assert_eq!(connection.last_response().body_bytes, u64::from(turn * READS - 1));
    }
    let late = Turn::Ended(Outcome::Failed(Failure::TimedOut(Step::Body)));
    assert_eq!(connection.expire(1, &mut context), Some(late));
}

//! The client against nghttp2's own server in memory, and against bytes that are made up.

use super::session::{Events, FrameHead, GoAway, Kind, Session};
use super::*;

/// A server in memory that answers each request with N bytes.
struct Server {
    session: Session<Answers>,
    answers: Answers,
}

#[derive(Default)]
struct Answers {
    asked: Vec<i32>,
    fields: Vec<(String, String)>,
    left: std::collections::HashMap<i32, usize>,
}

impl Events for Answers {
    fn begin(&mut self, _: &FrameHead) -> Result<(), Broken> {
        Ok(())
    }

    fn field(&mut self, _: i32, name: &[u8], value: &[u8]) -> Result<(), Broken> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.fields.push((text(name), text(value)));
        Ok(())
    }

    fn data(&mut self, _: i32, _: &[u8]) -> Result<(), Broken> {
        Ok(())
    }

    fn frame(&mut self, frame: &FrameHead) -> Result<(), Broken> {
        if frame.kind == Kind::Headers {
            assert!(frame.ends_stream(), "a request of ours has no body");
            self.asked.push(frame.stream);
        }
        Ok(())
    }

    fn go_away(&mut self, _: GoAway) -> Result<(), Broken> {
        Ok(())
    }

    fn violation(&mut self, _: &'static str) {
        panic!("the client broke the protocol");
    }

    fn closed(&mut self, _: i32, code: u32) {
        assert_eq!(code, 0);
    }

    fn fill(&mut self, stream: i32, room: &mut [u8]) -> (usize, bool) {
        let left = self.left.get_mut(&stream).unwrap();
        let length = room.len().min(*left);
        room[..length].fill(b'x');
        *left -= length;
        (length, *left == 0)
    }
}

impl Server {
    fn new(streams: u32) -> Self {
        let mut session = Session::server().unwrap();
        let limit = libnghttp2_sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS;
        session.settings(&[(limit, streams)], 65_535).unwrap();
        Self { session, answers: Answers::default() }
    }

    /// Takes what the client says and gives what it answers.
    fn serve(&mut self, received: &[u8], body: usize) -> Vec<u8> {
        self.session.receive(&mut self.answers, received).unwrap();
        for stream in std::mem::take(&mut self.answers.asked) {
            self.answers.left.insert(stream, body);
            self.session.respond(stream, &[(b":status", b"200")], body > 0).unwrap();
        }
        let mut made = Vec::new();
        self.session.send(&mut self.answers, &mut made, usize::MAX).unwrap();
        made
    }
}

fn request() -> Request {
    Request::new("GET", "/x?y", &[("Host".to_owned(), "a:1".to_owned())])
}

/// What the client has to say, all of it.
fn said(client: &mut Client) -> Vec<u8> {
    let all = client.outgoing().unwrap().to_vec();
    client.sent(all.len());
    all
}

/// Exchanges bytes until the request is done; how often both had something to say.
fn exchange(client: &mut Client, server: &mut Server, body: usize) -> (Done, u32) {
    client.begin(&request(), 10).unwrap();
    for round in 1.. {
        let answer = server.serve(&said(client), body);
        client.take(&answer, 10 * (1 + u64::from(round))).unwrap();
        if let Some(done) = client.next_done() {
            return (done, round);
        }
    }
    unreachable!("a body has an end")
}

#[test]
fn a_request_says_what_it_asks_for_and_its_answer_is_timed() {
    let (mut client, mut server) = (Client::new(BodyRule::Count).unwrap(), Server::new(100));
    let (done, _) = exchange(&mut client, &mut server, 5);
    assert_eq!((done.requested, done.answered, done.ended), (10, 20, 20));
    // The first header block begins with the size of the server's table (RFC 7541, section 6.3).
    assert_eq!((done.head_bytes, done.body_bytes), (3 + 1, 5));
    let (done, _) = exchange(&mut client, &mut server, 5);
    assert_eq!((done.head_bytes, done.body_bytes), (1, 5));
    let said = |name: &str, value: &str| {
        assert!(server.answers.fields.contains(&(name.to_owned(), value.to_owned())), "{name}");
    };
    said(":method", "GET");
    said(":scheme", "https");
    said(":authority", "a:1");
    said(":path", "/x?y");
}

#[test]
fn a_body_beyond_the_windows_takes_updates_of_them() {
    let (mut client, mut server) = (Client::new(BodyRule::Count).unwrap(), Server::new(100));
    let (done, rounds) = exchange(&mut client, &mut server, 50 << 20);
    assert_eq!(done.body_bytes, 50 << 20);
    assert!(rounds > 1, "the server waited for no window update");
}

#[test]
fn one_request_is_begun_until_the_server_has_said_how_many_may_be() {
    let (mut client, mut server) = (Client::new(BodyRule::Count).unwrap(), Server::new(3));
    assert_eq!(client.room(10), 1);
    exchange(&mut client, &mut server, 1);
    assert_eq!((client.room(10), client.room(2)), (3, 2));
    client.begin(&request(), 0).unwrap();
    assert_eq!((client.room(10), client.is_idle()), (2, false));
}

#[test]
fn the_first_request_to_be_overdue_decides() {
    let mut streams = Streams::new(BodyRule::Count);
    assert_eq!(streams.overdue(9, 5, 5, 1), Overdue::Until(10));
    streams.begin(1, 100);
    streams.begin(3, 120);
    assert_eq!(streams.overdue(140, 0, 50, 1), Overdue::Until(150));
    assert_eq!(streams.overdue(150, 0, 50, 1), Overdue::Now(Step::FirstByte));
}

#[test]
fn bytes_that_are_made_up_never_hang_or_panic() {
    // A multiplicative generator: the same bytes on every run.
    let mut state = 20_210_401_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut failed = 0;
    for _ in 0..2_000 {
        // Frames with true lengths, low types and low streams get further than mere noise.
        let frames = (0..next() % 8).flat_map(|_| {
            let length = next() % 40;
            let head = [0, 0, length, next() % 11, next(), 0, 0, 0, next() % 6];
            head.into_iter()
                .chain((0..length).map(|_| next()).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        });
        let frames: Vec<u8> = frames.collect();
        let bytes: Vec<u8> = [next()].into_iter().chain(settings).chain(frames).collect();
        failed += u32::from(feed(&bytes).is_err());
    }
    assert!((100..2_000).contains(&failed), "{failed}: noise must reach both ends");
}

/// What becomes of a seed of the fuzz target `h2_response`.
fn seed(name: &str) -> Result<(), Failure> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/h2_response");
    feed(&std::fs::read(format!("{folder}/{name}")).unwrap())
}

#[test]
fn seeds_of_the_fuzz_target_go_as_far_as_their_names_say() {
    for name in ["response", "in-pieces", "continuation", "goaway", "ping"] {
        assert_eq!(seed(name), Ok(()), "{name}");
    }
    assert_eq!(seed("reset"), Err(Failure::StreamReset));
    assert_eq!(seed("push"), Err(Failure::HttpProtocol));
}

//! However the server's bytes are cut, and wherever a handshake stops for urgent work, a session
//! comes to the same facts and the same plaintext. If the bytes end early, the session reports the
//! end and invents nothing.

use std::any::TypeId;
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tlslab_contract::spec::ClientChoice;
use tlslab_system::socket::Socket;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::lockstep::LockstepServer;
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::{RustlsBackend, RustlsSession};
use tlslab_tls::{Backend, ClientSettings, Negotiated, Progress, Session};
use tlslab_wire::names::{Group, TlsVersion};
use tlslab_wire::outcome::Failure;

/// The server's response.
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";

/// Far longer than the kernel takes to carry a byte from one end of a socket to the other.
const PATIENCE: Duration = Duration::from_secs(30);

/// The minimal client alone: connections of the library are left out.
struct Minimal(RustlsBackend);

impl Minimal {
    fn new(settings: &ClientSettings) -> Self {
        let (versions, groups) = (vec![TlsVersion::Tls13], vec![Group::X25519]);
        let client = ClientChoice::Auto;
        let settings = ClientSettings { versions, groups, client, ..settings.clone() };
        Self(RustlsBackend::minimal_only(&settings).unwrap())
    }
}

impl Backend for Minimal {
    type Session = RustlsSession;

    fn open(&mut self) -> Result<RustlsSession, Failure> {
        self.0.open()
    }

    fn resume(&mut self) -> Result<Option<RustlsSession>, Failure> {
        self.0.resume()
    }

    fn resumable(&self) -> usize {
        self.0.resumable()
    }

    fn keep(&mut self, sessions: usize) {
        self.0.keep(sessions);
    }
}

/// A server and the client settings of one back end.
struct Scene<B> {
    server: LockstepServer,
    backend: B,
    listener: TcpListener,
    /// Urgent work is always due.
    urgent: bool,
    /// The number of times that a client has stopped for urgent work.
    stops: u32,
}

/// The facts and the plaintext that a client has seen.
#[derive(Debug, PartialEq)]
struct Seen {
    facts: Option<Negotiated>,
    plaintext: Vec<u8>,
    end: Result<Progress, Failure>,
}

impl<B: Backend> Scene<B> {
    fn new(version: Version, urgent: bool, make: impl Fn(&ClientSettings) -> B) -> Self {
        let authority = Authority::new("tlslab test");
        let settings = Settings {
            identities: vec![authority.issue(Key::P256)],
            version: Some(version),
            ..Settings::default()
        };
        Self {
            server: LockstepServer::new(&settings),
            backend: make(&crate::support::settings(&authority)),
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            urgent,
            stops: 0,
        }
    }

    /// One connection whose server's bytes come in pieces of these lengths, then all the rest. The
    /// connection ends with its last byte, or after N bytes. Also returns the number of bytes that
    /// came.
    fn converse(&mut self, pieces: &[usize], last: usize) -> (Seen, usize) {
        let mut session = self.server.session(RESPONSE);
        let mut client = Client::new(&mut self.backend, &self.listener, self.urgent);
        let mut pieces = pieces.iter().copied();
        let (mut waiting, mut delivered) = (Vec::new(), 0);
        loop {
            client.go_on(delivered, false);
            waiting.extend(session.take(&client.sent()));
            let piece =
                waiting.len().min(last - delivered).min(pieces.next().unwrap_or(usize::MAX));
            if piece == 0 {
                break;
            }
            client.peer.write_all(&waiting[..piece]).unwrap();
            waiting.drain(..piece);
            delivered += piece;
        }
        client.peer.shutdown(Shutdown::Write).unwrap();
        client.go_on(delivered, true);
        self.stops += client.stops;
        (client.seen, delivered)
    }
}

/// A client at one end of a TCP connection, its peer at the other.
struct Client<S> {
    session: S,
    socket: Socket,
    peer: TcpStream,
    taken: u64,
    seen: Seen,
    requested: bool,
    urgent: bool,
    stops: u32,
}

impl<S: Session> Client<S> {
    fn new(backend: &mut impl Backend<Session = S>, listener: &TcpListener, urgent: bool) -> Self {
        let socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        peer.set_nodelay(true).unwrap();
        let seen = Seen { facts: None, plaintext: Vec::new(), end: Ok(Progress::WantRead) };
        let session = backend.open().unwrap();
        Self { session, socket, peer, taken: 0, seen, requested: false, urgent, stops: 0 }
    }

    /// The bytes that the client has sent since the last call.
    fn sent(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.socket.sent - self.taken).unwrap()];
        self.peer.read_exact(&mut bytes).unwrap();
        self.taken = self.socket.sent;
        bytes
    }

    /// Goes on until N bytes in all, or the end, have been processed.
    fn go_on(&mut self, delivered: usize, ended: bool) {
        let deadline = Instant::now() + PATIENCE;
        let waits = |end: &Result<Progress, Failure>| *end == Ok(Progress::WantRead);
        while waits(&self.seen.end) {
            self.socket.became_readable(ended);
            self.seen.end = self.step();
            if !ended && self.socket.received == delivered as u64 {
                return;
            }
            assert!(Instant::now() < deadline, "nothing happened for {PATIENCE:?}");
        }
    }

    fn step(&mut self) -> Result<Progress, Failure> {
        let urgent = self.urgent.then_some(&(|| true) as &dyn Fn() -> bool);
        while self.seen.facts.is_none() {
            match self.session.handshake(&mut self.socket, urgent)? {
                Progress::Done(_) => self.seen.facts = self.session.facts(),
                Progress::WantWrite if self.urgent => self.stops += 1,
                other => return Ok(other),
            }
        }
        if !self.requested {
            self.session.write(&mut self.socket, b"GET / HTTP/1.1\r\n\r\n")?;
            self.session.flush(&mut self.socket)?;
            self.requested = true;
        }
        let mut buffer = [0; 64];
        loop {
            match self.session.read(&mut self.socket, &mut buffer)? {
                Progress::Done(length) => self.seen.plaintext.extend_from_slice(&buffer[..length]),
                other => return Ok(other),
            }
        }
    }
}

/// Calls this function with each version and back end.
macro_rules! everywhere {
    ($does:expr) => {
        for version in [Version::Tls12, Version::Tls13] {
            $does(Scene::new(version, false, |settings| RustlsBackend::new(settings).unwrap()));
            $does(Scene::new(version, true, |settings| RustlsBackend::new(settings).unwrap()));
            // This back end does not stop for urgent work.
            $does(Scene::new(version, false, |settings| OpensslBackend::new(settings).unwrap()));
        }
        for urgent in [false, true] {
            $does(Scene::new(Version::Tls13, urgent, Minimal::new));
        }
    };
}

/// The facts and plaintext of an uncut connection, and the number of its bytes. ECDSA signatures
/// vary by a few bytes, and so do connections.
fn uncut<B: Backend + 'static>(scene: &mut Scene<B>) -> (Seen, usize) {
    let (seen, length) = scene.converse(&[], usize::MAX);
    assert_eq!(seen.plaintext, RESPONSE);
    let is_minimal = TypeId::of::<B>() == TypeId::of::<Minimal>();
    assert_eq!(seen.facts.map(|facts| facts.minimal_client), Some(is_minimal));
    assert_eq!(seen.end, Ok(Progress::Closed));
    assert_eq!(scene.stops > 0, scene.urgent);
    (seen, length)
}

fn cut_at_every_byte<B: Backend + 'static>(mut scene: Scene<B>) {
    let (whole, length) = uncut(&mut scene);
    for cut in 1..length {
        assert_eq!(scene.converse(&[cut], usize::MAX).0, whole, "cut at {cut}");
    }
}

fn ended_at_every_byte<B: Backend + 'static>(mut scene: Scene<B>) {
    let (whole, length) = uncut(&mut scene);
    let mut secured = false;
    // Before the alert, whatever the length of the signature.
    for last in 0..length - 40 {
        let (seen, _) = scene.converse(&[], last);
        let Seen { facts, plaintext, end } = seen;
        assert!(RESPONSE.starts_with(&plaintext), "ended at {last}: {plaintext:?}");
        let ended = match facts {
            Some(_) => end == Ok(Progress::Cut),
            None => matches!(end, Ok(Progress::Cut) | Err(Failure::Closed(_))),
        };
        assert!(ended, "ended at {last}: {end:?}");
        assert!(facts.is_none() || facts == whole.facts, "ended at {last}: {facts:?}");
        secured |= facts.is_some();
    }
    assert!(secured);
}

fn cut_into_any_pieces<B: Backend + 'static>(mut scene: Scene<B>) {
    let whole = uncut(&mut scene).0;
    let scene = RefCell::new(scene);
    let pieces = prop::collection::vec(1..400_usize, 1..40);
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) };
    proptest!(cases, |(pieces in pieces)| {
        prop_assert_eq!(&scene.borrow_mut().converse(&pieces, usize::MAX).0, &whole);
    });
}

#[test]
fn no_cut_changes_what_a_session_comes_to() {
    everywhere!(cut_at_every_byte);
}

#[test]
fn no_end_passes_for_another() {
    everywhere!(ended_at_every_byte);
}

#[test]
fn no_pieces_change_what_a_session_comes_to() {
    everywhere!(cut_into_any_pieces);
}

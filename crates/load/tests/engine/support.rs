//! Drives one session of a back end like a worker, but waits by sleeping.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tlslab_contract::spec::{Authenticate, ClientChoice, KeyShare, Resume};
use tlslab_system::socket::Socket;
use tlslab_testkit::certificates::Authority;
use tlslab_tls::openssl::{OpensslBackend, OpensslSession};
use tlslab_tls::{Backend, ClientSettings, Negotiated, Progress, Session, TrustAnchors};
use tlslab_wire::names::TlsVersion;
use tlslab_wire::outcome::Failure;

/// Longer than any step takes; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Client settings with the library's defaults, which trust the authority, for the host
/// `localhost`.
pub fn settings(authority: &Authority) -> ClientSettings {
    ClientSettings {
        versions: vec![],
        suites: vec![],
        groups: vec![],
        signature_schemes: vec![],
        server_names: vec!["localhost".to_owned()],
        alpn: vec!["http/1.1".to_owned()],
        client_identity: None,
        trust: TrustAnchors::Certificates(vec![authority.certificate().to_vec()]),
        authenticate: Authenticate::Every,
        key_share: KeyShare::Fresh,
        client: ClientChoice::Library,
        key_log: None,
        allow_obsolete: false,
        resume: Resume::None,
        early_data: false,
        hello_retry: None,
    }
}

/// The same, with one version only.
pub fn settings_of(version: TlsVersion, authority: &Authority) -> ClientSettings {
    ClientSettings { versions: vec![version], ..settings(authority) }
}

/// A connection whose handshake has completed.
pub struct Connected {
    pub session: OpensslSession,
    pub socket: Socket,
    pub facts: Negotiated,
}

/// Makes a connection with its own back end; an error is the class and the message.
pub fn connect(
    settings: &ClientSettings,
    address: SocketAddr,
) -> Result<Connected, (Failure, String)> {
    connect_with(&mut OpensslBackend::new(settings).unwrap(), address)
}

/// Makes a connection.
pub fn connect_with(
    backend: &mut OpensslBackend,
    address: SocketAddr,
) -> Result<Connected, (Failure, String)> {
    let mut session = backend.open().unwrap();
    let mut socket = Socket::connect(address).unwrap();
    let handshake =
        wait(&mut session, &mut socket, |session, socket| session.handshake(socket, None));
    match handshake {
        Ok(Progress::Done(_)) => {
            let facts = session.facts().expect("a session of TLS");
            Ok(Connected { facts, session, socket })
        }
        Ok(other) => panic!("a handshake ended with {other:?}"),
        Err(failure) => Err((failure, session.explain())),
    }
}

impl Connected {
    /// Sends a request; returns the length of the response's body.
    pub fn exchange(&mut self) -> Result<usize, Failure> {
        self.send(b"GET / HTTP/1.1\r\n\r\n")?;
        let mut response = Vec::new();
        loop {
            let head = response.windows(4).position(|end| end == b"\r\n\r\n");
            if let Some(head) = head {
                let text = String::from_utf8_lossy(&response[..head]).into_owned();
                let length: usize = text.rsplit(' ').next().unwrap().parse().unwrap();
                if response.len() == head + 4 + length {
                    return Ok(length);
                }
            }
            let mut buffer = [0; 4096];
            match self.read(&mut buffer)? {
                Progress::Done(length) => response.extend_from_slice(&buffer[..length]),
                other => panic!("a response ended with {other:?}"),
            }
        }
    }

    /// Sends all of the plaintext.
    pub fn send(&mut self, mut plaintext: &[u8]) -> Result<(), Failure> {
        while !plaintext.is_empty() {
            let progress = wait(&mut self.session, &mut self.socket, |session, socket| {
                session.write(socket, plaintext)
            });
            match progress? {
                Progress::Done(length) => plaintext = &plaintext[length..],
                other => panic!("a write ended with {other:?}"),
            }
        }
        let flushed = wait(&mut self.session, &mut self.socket, OpensslSession::flush)?;
        assert_eq!((flushed, self.session.unsent()), (Progress::Done(0), 0));
        Ok(())
    }

    /// Receives the next bytes.
    pub fn read(&mut self, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        wait(&mut self.session, &mut self.socket, |session, socket| session.read(socket, plaintext))
    }
}

fn wait(
    session: &mut OpensslSession,
    socket: &mut Socket,
    mut step: impl FnMut(&mut OpensslSession, &mut Socket) -> Result<Progress, Failure>,
) -> Result<Progress, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // In place of a poller: the session finds out itself whether bytes have arrived.
        socket.became_readable(false);
        match step(session, socket)? {
            Progress::WantRead | Progress::WantWrite => {
                assert!(Instant::now() < deadline, "nothing happened for {PATIENCE:?}");
                std::thread::sleep(Duration::from_micros(200));
            }
            done => return Ok(done),
        }
    }
}

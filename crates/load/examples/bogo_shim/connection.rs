//! One connection to the runner: its socket, its session, and the exchange.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use tlslab_system::socket::Socket;
use tlslab_tls::{EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated, Progress, Session};
use tlslab_wire::names::{SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;

use crate::case::{Case, Stop};

/// The longest time of one wait. The runner gives a shim 15 s in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes that `-shim-writes-first` writes.
const INITIAL: &[u8] = b"hello";

fn connect(case: &Case) -> Result<Socket, Stop> {
    let address = match case.ipv6 {
        true => SocketAddr::from((Ipv6Addr::LOCALHOST, case.port)),
        false => SocketAddr::from((Ipv4Addr::LOCALHOST, case.port)),
    };
    let failed = |error: String| Stop::Failed(format!("no connection to the runner: {error}"));
    let mut socket = Socket::connect(address).map_err(|error| failed(error.to_string()))?;
    await_socket(&mut socket, libc::POLLOUT)?;
    match socket.send(&case.id.to_le_bytes()) {
        Ok(Some(8)) => Ok(socket),
        other => Err(failed(format!("{other:?}"))),
    }
}

/// One connection to the runner.
pub struct ShimConnection<S> {
    socket: Socket,
    session: S,
}

impl<S: Session> ShimConnection<S> {
    /// Connects to the runner of this case.
    pub fn open(case: &Case, session: S) -> Result<Self, Stop> {
        Ok(Self { socket: connect(case)?, session })
    }

    /// Makes the handshake, checks the expectations, and answers the runner's bytes, each inverted.
    pub fn exchange(&mut self, case: &Case, resumes: bool) -> Result<(), Stop> {
        let mut early = 0;
        if resumes && case.early_data && case.writes_first {
            early = self.session.send_early(INITIAL).map_err(|failure| self.failed(failure))?;
        }
        match self.drive(|session, socket| session.handshake(socket, None))? {
            Progress::Done(_) => {}
            other => return Err(Stop::Failed(format!("the handshake ended: {other:?}"))),
        }
        let facts = self.session.facts().expect("a session of TLS");
        expect(case, &facts, resumes)?;
        self.drive(S::flush)?;
        if case.shuts_down {
            self.session
                .send_close_notify(&mut self.socket)
                .map_err(|failure| self.failed(failure))?;
            self.drive(S::flush)?;
            if !case.check_close {
                return Ok(());
            }
        }
        if case.writes_first {
            let is_there = facts.early_data == EarlyData::Accepted;
            self.send(&INITIAL[if is_there { early } else { 0 }..])?;
        }
        let mut room = vec![0; 1 << 14];
        loop {
            match self.drive(|session, socket| session.read(socket, &mut room))? {
                Progress::Done(_) if case.shuts_down => {}
                Progress::Done(length) => {
                    let reply: Vec<u8> = room[..length].iter().map(|byte| byte ^ 0xff).collect();
                    self.send(&reply)?;
                }
                Progress::Cut if case.check_close => {
                    return Err(Stop::Failed("the stream ended without a close_notify".to_owned()));
                }
                _ => return Ok(()),
            }
        }
    }

    fn send(&mut self, mut plaintext: &[u8]) -> Result<(), Stop> {
        while !plaintext.is_empty() {
            match self.drive(|session, socket| session.write(socket, plaintext))? {
                Progress::Done(taken) => plaintext = &plaintext[taken..],
                other => return Err(Stop::Failed(format!("nothing is taken: {other:?}"))),
            }
        }
        self.drive(S::flush).map(|_| ())
    }

    /// Repeats a call until it need not wait any more.
    pub fn drive(
        &mut self,
        mut call: impl FnMut(&mut S, &mut Socket) -> Result<Progress, Failure>,
    ) -> Result<Progress, Stop> {
        loop {
            let called = call(&mut self.session, &mut self.socket);
            match called.map_err(|failure| self.failed(failure))? {
                Progress::WantRead => await_socket(&mut self.socket, libc::POLLIN)?,
                Progress::WantWrite => await_socket(&mut self.socket, libc::POLLOUT)?,
                other => return Ok(other),
            }
        }
    }

    fn failed(&self, failure: Failure) -> Stop {
        Stop::Failed(format!("{failure}: {}", self.session.explain()))
    }

    /// Lets the runner read what was sent, such as an alert, before the socket is reset.
    pub fn hang_up(&mut self) {
        let (end, mut rest) = (Instant::now() + Duration::from_secs(2), [0; 4096]);
        if self.socket.finish_sending().is_err() {
            return;
        }
        while Instant::now() < end {
            match self.socket.receive(&mut rest) {
                Ok(Some(0)) | Err(_) => return,
                Ok(Some(_)) => {}
                Ok(None) if await_socket(&mut self.socket, libc::POLLIN).is_err() => return,
                Ok(None) => {}
            }
        }
    }
}

fn await_socket(socket: &mut Socket, events: libc::c_short) -> Result<(), Stop> {
    let mut poll =
        libc::pollfd { fd: socket.as_raw_fd(), events: events | libc::POLLRDHUP, revents: 0 };
    let patience = PATIENCE.as_millis() as libc::c_int;
    // SAFETY: `poll` describes one open descriptor and lives as long as the call.
    if unsafe { libc::poll(&raw mut poll, 1, patience) } != 1 {
        return Err(Stop::Failed("nothing came of the runner".to_owned()));
    }
    let ended = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
    if poll.revents & (libc::POLLIN | ended) != 0 {
        socket.became_readable(poll.revents & ended != 0);
    }
    Ok(())
}

/// Compares what was negotiated with what the case expects.
fn expect(case: &Case, facts: &Negotiated, resumes: bool) -> Result<(), Stop> {
    let group = facts.group.and_then(|group| match group {
        KeyExchangeGroup::Named(code) => Some(code),
        KeyExchangeGroup::FiniteField(_) => None,
    });
    let scheme = facts.signature_scheme.map(SignatureScheme::code_point);
    let alpn = facts.alpn.map(|protocol| protocol.to_string());
    let version = if facts.version == TlsVersion::Tls13 { 0x0304 } else { 0x0303 };
    let is_resumed = facts.kind == HandshakeKind::Resumed;
    let fits = [
        ("the minimal client", facts.minimal_client == (case.client == "minimal")),
        ("group", case.expect_group.is_none_or(|expected| group == Some(expected))),
        // A session keeps nothing of the server's signature.
        ("scheme", is_resumed || case.expect_scheme.is_none_or(|code| scheme == Some(code))),
        ("suite", case.expect_suite.is_none_or(|expected| facts.suite.code_point() == expected)),
        ("authentication", !case.expect_verified || facts.authenticated),
        ("early data", case.expect_early.is_none_or(|expected| facts.early_data == expected)),
        ("version", case.expect_version.is_none_or(|expected| version == expected)),
        ("retry", case.expect_retry.is_none_or(|is| facts.hello_retry_request == is)),
        ("protocol", case.expect_alpn.is_none() || alpn == case.expect_alpn),
        ("resumption", !resumes || is_resumed != case.expect_miss),
    ];
    match fits.iter().find(|(_, fits)| !fits) {
        Some((what, _)) => Err(Stop::Failed(format!("unexpected {what}: {facts:?}"))),
        None => Ok(()),
    }
}

//! The shim of BoringSSL's BoGo runner: one of the engine's clients as the runner's flags have it, over
//! a real socket (docs/adr/0048). scripts/bogo.sh starts it with `-client minimal|rustls|openssl`.
//!
//! A flag that is not implemented ends it with 89. tests/bogo says of each such flag why.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tlslab_contract::spec::{Authenticate, ClientChoice, KeyShare, Resume};
use tlslab_system::socket::Socket;
use tlslab_tls::identity::{Identity, IdentityError};
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{
    Backend, BackendError, ClientSettings, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated,
    Progress, Session, TrustAnchors,
};
use tlslab_wire::names::{Group, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Failure;

/// What the runner takes for "this shim does not implement a flag of the case".
const UNIMPLEMENTED: u8 = 89;

/// The most time of one wait; the runner gives a shim 15 s in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// What `-shim-writes-first` writes.
const INITIAL: &[u8] = b"hello";

/// One connection of a case, as the flags have it.
#[derive(Default)]
struct Case {
    client: String,
    port: u16,
    id: u64,
    ipv6: bool,
    resumptions: u32,
    groups: Vec<u16>,
    schemes: Vec<u16>,
    alpn: Vec<String>,
    host: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
    trust: Option<String>,
    verify: bool,
    early_data: bool,
    oldest: u16,
    newest: u16,
    writes_first: bool,
    shuts_down: bool,
    check_close: bool,
    expect_miss: bool,
    expect_verified: bool,
    expect_early: Option<EarlyData>,
    expect_suite: Option<u16>,
    expect_alpn: Option<String>,
    expect_group: Option<u16>,
    expect_scheme: Option<u16>,
    expect_version: Option<u16>,
    expect_retry: Option<bool>,
}

/// Why a case is not run to its end.
enum Stop {
    /// The client cannot do what this flag asks for.
    Unimplemented(String),
    /// The connection failed, or was not the one that is expected.
    Failed(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|flag| flag == "-is-handshaker-supported") {
        report(&mut std::io::stdout(), "No");
        return ExitCode::SUCCESS;
    }
    let note = arguments.iter().skip_while(|flag| *flag != "-note").nth(1).cloned();
    let first = parse(arguments.iter().cloned(), Turn::First);
    let resumed = parse(arguments.into_iter(), Turn::Resumed);
    match first.and_then(|first| run(&first, &resumed?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Unimplemented(flag)) => {
            if let Some(Err(error)) = note.map(|file| std::fs::write(file, &flag)) {
                report(&mut std::io::stderr(), &error.to_string());
            }
            ExitCode::from(UNIMPLEMENTED)
        }
        Err(Stop::Failed(words)) => {
            report(&mut std::io::stderr(), &words);
            ExitCode::FAILURE
        }
    }
}

fn report(to: &mut dyn std::io::Write, words: &str) {
    // The runner may have gone.
    let _ = writeln!(to, "{words}");
}

/// Which of a case's connections it is: some flags are for one of them alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Resumed,
}

/// The flags as they are for one of the case's connections.
fn parse(mut rest: impl Iterator<Item = String>, turn: Turn) -> Result<Case, Stop> {
    let mut case = Case { oldest: 0x0303, newest: 0x0304, ..Case::default() };
    while let Some(flag) = rest.next() {
        let (named, plain) =
            match (flag.strip_prefix("-on-initial"), flag.strip_prefix("-on-resume")) {
                (Some(plain), _) => (Some(Turn::First), plain),
                (_, Some(plain)) => (Some(Turn::Resumed), plain),
                _ => (None, &flag[..]),
            };
        // One offer serves all connections of a case.
        let is_of_one = plain.starts_with("-expect") || plain == "-shim-writes-first";
        let mut other = Case::default();
        let known = match named {
            Some(_) if !is_of_one => Ok(false),
            Some(named) if named != turn => set(&mut other, plain, &mut rest),
            _ => set(&mut case, plain, &mut rest),
        };
        if !known? {
            return Err(Stop::Unimplemented(flag));
        }
    }
    Ok(case)
}

/// Takes one flag and its value; whether it is known.
fn set(case: &mut Case, flag: &str, rest: &mut dyn Iterator<Item = String>) -> Result<bool, Stop> {
    let mut value = || rest.next().ok_or_else(|| Stop::Unimplemented(flag.to_owned()));
    match flag {
        "-client" => case.client = value()?,
        "-port" => case.port = number(&value()?)?,
        "-shim-id" => case.id = number(&value()?)?,
        "-ipv6" => case.ipv6 = true,
        "-note" => drop(value()?),
        "-resume-count" => case.resumptions = number(&value()?)?,
        "-curves" => case.groups.push(number(&value()?)?),
        "-verify-prefs" => case.schemes.push(number(&value()?)?),
        "-advertise-alpn" => case.alpn = protocols(&value()?),
        "-host-name" => case.host = Some(value()?),
        "-cert-file" => case.certificate = Some(value()?),
        "-key-file" => case.key = Some(value()?),
        "-trust-cert" => case.trust = Some(value()?),
        "-verify-peer" => case.verify = true,
        "-enable-early-data" => case.early_data = true,
        "-min-version" => case.oldest = number(&value()?)?,
        "-max-version" => case.newest = number(&value()?)?,
        "-no-tls12" => case.oldest = 0x0304,
        "-shim-writes-first" => case.writes_first = true,
        "-shim-shuts-down" => case.shuts_down = true,
        "-check-close-notify" => case.check_close = true,
        _ => return set_expectation(case, flag, &mut value),
    }
    Ok(true)
}

fn set_expectation(
    case: &mut Case,
    flag: &str,
    value: &mut dyn FnMut() -> Result<String, Stop>,
) -> Result<bool, Stop> {
    match flag {
        "-expect-session-miss" => case.expect_miss = true,
        "-expect-verify-result" => case.expect_verified = true,
        "-expect-alpn" => case.expect_alpn = Some(value()?),
        "-expect-curve-id" => case.expect_group = Some(number(&value()?)?),
        "-expect-cipher" => case.expect_suite = Some(number(&value()?)?),
        "-expect-peer-signature-algorithm" => case.expect_scheme = Some(number(&value()?)?),
        "-expect-version" => case.expect_version = Some(number(&value()?)?),
        "-expect-hrr" => case.expect_retry = Some(true),
        "-expect-no-hrr" => case.expect_retry = Some(false),
        "-expect-accept-early-data" => case.expect_early = Some(EarlyData::Accepted),
        "-expect-reject-early-data" => case.expect_early = Some(EarlyData::Rejected),
        // Where the ticket allows none, none is sent, which the server notices.
        "-expect-ticket-supports-early-data" => {}
        // rustls always asks for a certificate's state, and the minimal client is like it.
        "-enable-ocsp-stapling" if case.client != "openssl" => {}
        // Sessions never block, handshake first or on the first write, and have no TLS before 1.2.
        "-async" | "-implicit-handshake" | "-no-tls1" | "-no-tls11" => {}
        // Which of BoringSSL's callbacks its own shim uses.
        "-use-custom-verify-callback" | "-use-old-client-cert-callback" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Stop> {
    text.parse().map_err(|_| Stop::Unimplemented(format!("the number {text}")))
}

/// The names of a list as it is on the wire: each behind its length (RFC 7301, section 3.1).
fn protocols(list: &str) -> Vec<String> {
    let (mut rest, mut names) = (list, Vec::new());
    while let Some(length) = rest.bytes().next() {
        let Some(name) = rest.get(1..=usize::from(length)) else { break };
        names.push(name.to_owned());
        rest = &rest[1 + name.len()..];
    }
    names
}

fn run(case: &Case, resumed: &Case) -> Result<(), Stop> {
    let settings = settings(case)?;
    match case.client.as_str() {
        "minimal" => {
            let mut backend = RustlsBackend::new(&settings).map_err(lacks)?;
            // The first connection is the library's; it has sent nothing yet.
            drop(backend.open());
            connections(case, resumed, &mut backend)
        }
        "rustls" => connections(case, resumed, &mut RustlsBackend::new(&settings).map_err(lacks)?),
        "openssl" => {
            connections(case, resumed, &mut OpensslBackend::new(&settings).map_err(lacks)?)
        }
        _ => Err(Stop::Unimplemented("-client".to_owned())),
    }
}

/// By the flag that asks for what the library has not.
fn lacks(error: BackendError) -> Stop {
    match &error {
        BackendError::Unsupported { what, .. } if what.starts_with("group") => {
            Stop::Unimplemented("-curves".to_owned())
        }
        BackendError::Unsupported { what, .. } if what.starts_with("signature scheme") => {
            Stop::Unimplemented("-verify-prefs".to_owned())
        }
        BackendError::Refused { message, .. } if message.contains("dns name") => {
            Stop::Unimplemented("-host-name".to_owned())
        }
        _ => Stop::Failed(error.to_string()),
    }
}

fn settings(case: &Case) -> Result<ClientSettings, Stop> {
    let unimplemented = |flag: &str| Stop::Unimplemented(flag.to_owned());
    let is_minimal = case.client == "minimal";
    let mut groups = case.groups.iter().map(|code| Group::from_code_point(*code));
    let mut groups: Vec<Group> =
        groups.by_ref().collect::<Option<_>>().ok_or_else(|| unimplemented("-curves"))?;
    if is_minimal && groups.is_empty() {
        groups.push(Group::X25519);
    }
    match () {
        () if is_minimal && groups.len() > 1 => return Err(unimplemented("-curves")),
        () if is_minimal && case.certificate.is_some() => return Err(unimplemented("-cert-file")),
        () if is_minimal && case.resumptions > 0 => return Err(unimplemented("-resume-count")),
        () if is_minimal && case.newest < 0x0304 => return Err(unimplemented("-max-version")),
        () => {}
    }
    let asked = if is_minimal { 0x0304..=0x0304 } else { case.oldest..=case.newest };
    let versions = [(0x0303, TlsVersion::Tls12), (0x0304, TlsVersion::Tls13)];
    let versions = versions.into_iter().filter(|(code, _)| asked.contains(code));
    let schemes = case.schemes.iter().map(|code| SignatureScheme::from_code_point(*code));
    Ok(ClientSettings {
        versions: versions.map(|(_, version)| version).collect(),
        suites: vec![],
        groups,
        signature_schemes: schemes.collect(),
        // Under an address no name is sent; the runner's certificates are for `test`.
        server_names: vec![match (&case.host, case.verify) {
            (Some(host), _) => host.clone(),
            (None, true) => "test".to_owned(),
            (None, false) => "127.0.0.1".to_owned(),
        }],
        alpn: case.alpn.clone(),
        client_identity: identity(case)?,
        trust: trust(case)?,
        authenticate: Authenticate::Every,
        key_share: KeyShare::Fresh,
        client: if is_minimal { ClientChoice::Auto } else { ClientChoice::Library },
        key_log: None,
        allow_obsolete: false,
        resume: if case.resumptions > 0 { Resume::Psk } else { Resume::None },
        early_data: case.early_data,
        hello_retry: None,
    })
}

fn trust(case: &Case) -> Result<TrustAnchors, Stop> {
    let (true, Some(file)) = (case.verify, &case.trust) else { return Ok(TrustAnchors::Anyone) };
    let read = |error: String| Stop::Failed(format!("{file}: {error}"));
    let pem = std::fs::read(file).map_err(|error| read(error.to_string()))?;
    let anchors = openssl::x509::X509::stack_from_pem(&pem)
        .and_then(|all| all.iter().map(|one| one.to_der()).collect());
    Ok(TrustAnchors::Certificates(anchors.map_err(|error| read(error.to_string()))?))
}

fn identity(case: &Case) -> Result<Option<Identity>, Stop> {
    let (Some(chain), Some(key)) = (&case.certificate, &case.key) else { return Ok(None) };
    let read =
        |file| std::fs::read_to_string(file).map_err(|e| Stop::Failed(format!("{file}: {e}")));
    match Identity::from_pem(&read(chain)?, &read(key)?) {
        Ok(identity) => Ok(Some(identity)),
        Err(IdentityError::KeyKind(_)) => Err(Stop::Unimplemented("-key-file".to_owned())),
        Err(error) => Err(Stop::Failed(error.to_string())),
    }
}

/// The first connection, and those that resume it.
fn connections<B: Backend>(first: &Case, resumed: &Case, backend: &mut B) -> Result<(), Stop> {
    backend.keep(1);
    for turn in 0..=first.resumptions {
        let case = if turn == 0 { first } else { resumed };
        let resumed = if turn > 0 { backend.resume() } else { Ok(None) };
        let session = match resumed {
            Ok(Some(session)) => Ok(session),
            Ok(None) => backend.open(),
            Err(failure) => Err(failure),
        };
        let session = session.map_err(|failure| Stop::Failed(failure.to_string()))?;
        let mut line = ShimConnection { socket: connect(case)?, session };
        let outcome = line.exchange(case, turn > 0);
        if outcome.is_err() {
            // The alert that says why.
            let _ = line.drive(Session::flush);
        }
        line.hang_up();
        outcome?;
    }
    Ok(())
}

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
struct ShimConnection<S> {
    socket: Socket,
    session: S,
}

impl<S: Session> ShimConnection<S> {
    /// The handshake, what is expected of it, and what the runner says, each byte inverted.
    fn exchange(&mut self, case: &Case, resumes: bool) -> Result<(), Stop> {
        let mut early = 0;
        if resumes && case.early_data && case.writes_first {
            early = self.session.send_early(INITIAL).map_err(|failure| self.failed(failure))?;
        }
        match self.drive(|session, socket| session.handshake(socket, None))? {
            Progress::Done(_) => {}
            other => return Err(Stop::Failed(format!("the handshake ended: {other:?}"))),
        }
        let facts = self.session.facts();
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

    /// Calls until it has not to wait any more.
    fn drive(
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

    /// Lets the runner read what was sent, an alert perhaps, before the socket is reset.
    fn hang_up(&mut self) {
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
    // SAFETY: `poll` is one descriptor's, which is open, and lives as long as the call.
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
        // Of the server's signature nothing is kept with a session.
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

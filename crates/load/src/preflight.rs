//! The one connection before the load: is this the server, and the handshake, that was asked for?

use crate::connection::{Connection, Context, Script, Start, Turn};
use tlslab_contract::record::Preflight;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::poller::Poller;
use tlslab_system::socket;
use tlslab_tls::certificates::describe;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{Backend, HandshakeKind, Negotiated, Session};
use tlslab_wire::http::body::hexadecimal;
use tlslab_wire::outcome::{Failure, Mismatch, Outcome};

/// Why the preflight connection did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightError {
    /// How it ended.
    pub outcome: Outcome,
    /// The TLS library's own words, or what was negotiated instead.
    pub explanation: String,
    /// The status of the response, if that was the trouble.
    pub status: Option<u16>,
    /// What was negotiated, if the handshake was done.
    pub negotiated: Option<Negotiated>,
}

/// What a connection saw that did what was asked.
#[derive(Debug)]
pub struct PreflightConnection {
    /// What records keep of it.
    pub preflight: Preflight,
    /// The certificates that the server sent.
    pub certificates: Vec<Vec<u8>>,
    /// The sessions to resume that came with it.
    pub gained: u32,
}

/// What the connection saw, or why it did not do what was asked.
pub type PreflightResult = Result<PreflightConnection, Box<PreflightError>>;

/// Makes the one connection, with a full handshake.
pub fn preflight<B: Backend>(backend: &mut B, script: &Script) -> PreflightResult {
    try_session(|| backend.open(), HandshakeKind::Full, script)
}

/// Makes one connection by the minimal client, with a full handshake; `None` where the run has no use
/// for it.
pub fn minimal(backend: &RustlsBackend, script: &Script) -> Option<PreflightResult> {
    let session = backend.open_minimal()?;
    Some(try_session(|| session, HandshakeKind::Full, script))
}

/// Makes another connection, which resumes the session of the one before.
pub fn resumed<B: Backend>(backend: &mut B, script: &Script) -> PreflightResult {
    match backend.resume().map_err(failed)? {
        Some(session) => try_session(|| Ok(session), HandshakeKind::Resumed, script),
        None => Err(Box::new(PreflightError {
            outcome: Outcome::Unexpected(Mismatch::Kind),
            explanation: "the server gave nothing to resume by".to_owned(),
            status: None,
            negotiated: None,
        })),
    }
}

fn failed(failure: Failure) -> Box<PreflightError> {
    let explanation = String::new();
    Box::new(PreflightError {
        outcome: Outcome::Failed(failure),
        explanation,
        status: None,
        negotiated: None,
    })
}

fn try_session<S: Session>(
    make_session: impl FnOnce() -> Result<S, Failure>,
    wanted: HandshakeKind,
    script: &Script,
) -> PreflightResult {
    let clock = MonotonicClock;
    let begin = Start { wanted, ..Start::full(0) };
    let mut connection = Connection::start(make_session, script, &clock, begin).map_err(failed)?;
    let outcome = drive(&mut connection, script, &clock).map_err(failed)?;
    let response = connection.last_response();
    if outcome != Outcome::Completed {
        return Err(Box::new(PreflightError {
            outcome,
            explanation: explain(outcome, &connection),
            status: (response.status != 0).then_some(response.status),
            negotiated: connection.facts(),
        }));
    }
    let facts = connection.facts().ok_or_else(|| failed(Failure::TlsProtocol))?;
    let certificates = connection.session().peer_certificates();
    let answered = !script.handshake_only;
    let preflight = Preflight {
        facts: facts.into(),
        certificate: describe(&certificates),
        status: answered.then_some(response.status),
        body_bytes: answered.then_some(response.body_bytes),
        body_sha256: response.digest.filter(|_| answered).map(|hash| hexadecimal(&hash)),
        server: response.server,
        sessions: None,
    };
    Ok(PreflightConnection { preflight, certificates, gained: connection.session().gained() })
}

fn drive<S: Session>(
    connection: &mut Connection<S>,
    script: &Script,
    clock: &MonotonicClock,
) -> Result<Outcome, Failure> {
    let step = connection.step();
    let system = |e: std::io::Error| socket::failure(&e, step);
    let mut poller = Poller::new().map_err(system)?;
    poller.add(&connection.socket, 0, true).map_err(system)?;
    let mut plaintext = vec![0; 16 * 1024];
    let mut context = Context {
        script,
        clock,
        recorder: None,
        plaintext: &mut plaintext,
        urgent_at: Nanos::MAX,
        draining: false,
    };
    let mut ready = Vec::new();
    loop {
        match connection.advance(&mut context) {
            Turn::Ended(outcome) => return Ok(outcome),
            Turn::Write => poller.change(&connection.socket, 0, true).map_err(system)?,
            Turn::Read | Turn::Think(_) => {}
        }
        poller.wait(clock.now() + WAIT, &mut ready).map_err(system)?;
        for event in &ready {
            connection.socket.became_readable(event.ended);
        }
        if let Some(Turn::Ended(outcome)) = connection.expire(clock.now(), &mut context) {
            return Ok(outcome);
        }
    }
}

/// How often a waiting preflight looks at its deadline.
const WAIT: Nanos = 20 * MILLISECOND;

fn explain<S: Session>(outcome: Outcome, connection: &Connection<S>) -> String {
    match (outcome, connection.facts()) {
        (Outcome::Unexpected(_), Some(facts)) => {
            let facts = tlslab_tls::Facts::from(facts);
            format!(
                "TLS {} with {}, group {}, signature {}, ALPN {}, {}",
                facts.tls,
                facts.suite,
                facts.group,
                facts.signature_scheme,
                facts.alpn,
                facts.kind_in_words()
            )
        }
        _ => match connection.reason(outcome) {
            Some(reason) => reason.in_one_line(),
            None => connection.session().explain(),
        },
    }
}

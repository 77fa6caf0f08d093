//! The preflight: the connection before the load that verifies the server and its handshake.

use crate::connection::{Connection, Context, Script, Start};
use crate::event_loop::{Entry, EventLoop, Policy};
use tlslab_contract::record::Preflight;
use tlslab_system::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use tlslab_system::socket;
use tlslab_tls::certificates::describe;
use tlslab_tls::{Backend, Facts, HandshakeKind, Negotiated, Session};
use tlslab_wire::http::body::hexadecimal;
use tlslab_wire::outcome::{Failure, Mismatch, Outcome, Step};

/// The interval of deadline checks.
const LOOK: Nanos = 20 * MILLISECOND;

/// A failed or unexpected preflight connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightError {
    /// The outcome of the connection.
    pub outcome: Outcome,
    /// The TLS library's message, or what was negotiated instead.
    pub explanation: String,
    /// The status of the response, if unexpected.
    pub status: Option<u16>,
    /// The negotiated facts, if the handshake was completed.
    pub negotiated: Option<Negotiated>,
}

/// A successful preflight connection.
#[derive(Debug)]
pub struct PreflightConnection {
    /// The results for the record.
    pub preflight: Preflight,
    /// The certificates that the server sent.
    pub certificates: Vec<Vec<u8>>,
    /// The number of sessions that the server issued on it.
    pub gained: u32,
}

/// The results of the connection, or its failure.
pub type PreflightResult = Result<PreflightConnection, Box<PreflightError>>;

/// Makes one connection with a full handshake.
pub fn preflight<B: Backend>(backend: &mut B, script: &Script) -> PreflightResult {
    try_session(|| backend.open(), HandshakeKind::Full, script)
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
    let start = Start { wanted, ..Start::full(0) };
    let (connection, outcome) = Trial::make(make_session, script, start).map_err(failed)?;
    let response = connection.last_response();
    if outcome != Outcome::Completed {
        return Err(Box::new(PreflightError {
            outcome,
            explanation: explain(outcome, &connection),
            status: (response.status != 0).then_some(response.status),
            negotiated: connection.facts(),
        }));
    }
    let certificates = connection.session().peer_certificates();
    let answered = !script.handshake_only;
    let preflight = Preflight {
        facts: connection.facts().map_or_else(Facts::without_tls, Facts::from),
        certificate: describe(&certificates),
        status: answered.then_some(response.status),
        body_bytes: answered.then_some(response.body_bytes),
        body_sha256: response.digest.filter(|_| answered).map(|hash| hexadecimal(&hash)),
        server: response.server,
        streams: connection.allowed_streams().filter(|streams| *streams < u32::MAX),
        dh_prime: connection.session().weak_prime().map(str::to_owned),
        sessions: None,
    };
    Ok(PreflightConnection { preflight, certificates, gained: connection.session().gained() })
}

/// The policy of a single connection, which keeps the connection after its end.
struct Trial<'r, S> {
    script: &'r Script,
    ended: Option<(Box<Connection<S>>, Outcome)>,
}

impl<'r, S: Session> Trial<'r, S> {
    /// Makes the connection and runs it to its end.
    fn make(
        make_session: impl FnOnce() -> Result<S, Failure>,
        script: &'r Script,
        start: Start,
    ) -> Result<(Box<Connection<S>>, Outcome), Failure> {
        let system = |e: std::io::Error| socket::failure(&e, Step::Connect);
        let mut events = EventLoop::new(1, LOOK, MonotonicClock).map_err(system)?;
        let mut trial = Self { script, ended: None };
        let connection = Connection::start(make_session, script, events.clock(), start)?;
        events.attach(&mut trial, 0, Box::new(connection), Entry::default())?;
        loop {
            if let Some(ended) = trial.ended.take() {
                return Ok(ended);
            }
            let until = events.now() + LOOK;
            events.turn(&mut trial, until).map_err(system)?;
        }
    }
}

impl<S: Session, C: Clock> Policy<S, C> for Trial<'_, S> {
    fn context<'w>(&'w mut self, clock: &'w C, plaintext: &'w mut [u8]) -> Context<'w, C> {
        Context::uncounted(self.script, clock, plaintext)
    }

    fn ended(
        &mut self,
        _: &mut EventLoop<S, C>,
        _: usize,
        connection: Box<Connection<S>>,
        outcome: Outcome,
    ) {
        self.ended = Some((connection, outcome));
    }
}

fn explain<S: Session>(outcome: Outcome, connection: &Connection<S>) -> String {
    match (outcome, connection.facts()) {
        (Outcome::Unexpected(_), Some(facts)) => {
            let facts = Facts::from(facts);
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

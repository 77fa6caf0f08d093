//! Finds the supported kinds of resumption: creates sessions and offers them again. One try says
//! nothing of a server of several processes or hosts, so that each kind is tried repeatedly.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use openssl::ssl::{SslSession, SslSessionCacheMode, SslStream};

use super::asker::Asker;
use super::connection::{ProbeConnection, Stop};
use super::handshake::{Terms, exchange, part, request};
use super::record::Tries;
use super::{Resumption, handshake};
use tlslab_tls::EarlyData;
use tlslab_tls::openssl::ffi;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The highest number of tickets that are counted.
const TICKETS_LIMIT: usize = 64;

/// The tries of each kind. All of them agree by chance once in 128 times if the system distributes
/// connections at random among two processes, of which each knows only its own sessions.
const TRIES: usize = 8;

/// The tries that are made however long they take, and the time after which no other is begun:
/// servers that are no web servers keep each try waiting.
const FEW_TRIES: usize = 3;
const TIME_FOR_TRIES: Duration = Duration::from_secs(10);

/// The connections between a session and its offer, in turn: a balancer that takes two or three
/// servers in order would otherwise never lead back to the one that knows the session.
const BETWEEN: [u32; 3] = [0, 1, 2];

/// The tickets and facts of a handshake.
struct Given {
    /// Whether the handshake resumed the offered session.
    resumed: bool,
    tickets: Vec<SslSession>,
    /// The end of the session, if the server did not answer the request: tickets may be missing.
    ended: Option<Refusal>,
}

impl Given {
    /// The number of tickets; `None` if there are none, and the server did not answer.
    fn count(&self) -> Option<u32> {
        let known = self.ended.is_none() || !self.tickets.is_empty();
        known.then_some(self.tickets.len() as u32)
    }
}

/// Finds the kinds of resumption in the newest version up to TLS 1.2 and in TLS 1.3.
pub fn find_resumption(asker: &mut Asker) -> Result<Resumption, Stop> {
    let mut found = Resumption::default();
    if let Some(version) = asker.newest_legacy() {
        found.session_id_tries = try_sessions(asker, version, false)?;
        if version != Protocol::Ssl3 {
            found.ticket_tries = try_sessions(asker, version, true)?;
        }
        found.session_id = found.session_id_tries.map(Tries::any);
        found.ticket = found.ticket_tries.map(Tries::any);
    }
    if asker.has(Protocol::Tls13) {
        find_tickets(asker, &mut found)?;
    }
    Ok(found)
}

/// Makes tries of a kind of resumption, each with the number of connections that come between a
/// session and its offer. Ends with the first one whose end says nothing. `None` if there is no
/// other.
fn tries(
    asker: &mut Asker,
    mut attempt: impl FnMut(&mut Asker, u32) -> Result<Option<bool>, Stop>,
) -> Result<Option<Tries>, Stop> {
    let (began, mut made) = (Instant::now(), Tries::default());
    for (number, between) in BETWEEN.into_iter().cycle().take(TRIES).enumerate() {
        if number >= FEW_TRIES && began.elapsed() > TIME_FOR_TRIES {
            break;
        }
        let Some(resumed) = attempt(asker, between)? else {
            if made.all > 0 {
                // The other tries have answered the question.
                asker.settle();
            }
            break;
        };
        made.all += 1;
        made.resumed += u32::from(resumed);
    }
    Ok((made.all > 0).then_some(made))
}

/// Makes connections that come between a session and its offer: a ClientHello each.
fn come_between(asker: &mut Asker, connections: u32) -> Result<(), Stop> {
    let Some(&version) = asker.versions().first() else { return Ok(()) };
    for _ in 0..connections {
        let hello = asker.short_hello(version);
        let _ = asker.ask(&hello)?;
    }
    Ok(())
}

/// How often sessions up to TLS 1.2 are resumed, with tickets or without; `None` if no session
/// could be created.
fn try_sessions(
    asker: &mut Asker,
    version: Protocol,
    tickets: bool,
) -> Result<Option<Tries>, Stop> {
    asker.about(format!(
        "resumption by {} in {version}",
        if tickets { "ticket" } else { "session ID" }
    ));
    tries(asker, |asker, between| resumes(asker, version, tickets, between))
}

/// Whether a session up to TLS 1.2 is resumed; `None` if no session could be created.
fn resumes(
    asker: &mut Asker,
    version: Protocol,
    tickets: bool,
    between: u32,
) -> Result<Option<bool>, Stop> {
    let terms = || {
        let terms = Terms::new(version)?;
        Ok(if tickets { terms } else { terms.without_tickets() })
    };
    let mut stream = match handshake::shake(asker, terms())? {
        Ok(stream) => stream,
        Err(refusal) => return asker.doubt(refusal).map(|()| None),
    };
    part(&mut stream);
    let session = stream.ssl().session().map(ToOwned::to_owned);
    let Some(session) = session else { return Ok(Some(false)) };
    drop(stream);
    let offered = if tickets { ffi::has_ticket(&session) } else { !session.id().is_empty() };
    if !offered {
        return Ok(Some(false));
    }
    come_between(asker, between)?;
    let again = handshake::shake(asker, terms().map(|terms| terms.session(session)))?;
    Ok(reused(again))
}

/// Whether a handshake resumed its session; `None` if its end says nothing.
fn reused(answer: Result<SslStream<ProbeConnection>, Refusal>) -> Option<bool> {
    answer.map_or_else(|end| refused(&end), |stream| Some(stream.ssl().session_reused()))
}

/// Whether a handshake that is made only once was refused: only an alert shows that.
fn refused(end: &Refusal) -> Option<bool> {
    (!end.says_nothing()).then_some(false)
}

/// Finds the properties of TLS 1.3 tickets, and tests them. Each ticket is used once, because a
/// server may accept it only once.
fn find_tickets(asker: &mut Asker, found: &mut Resumption) -> Result<(), Stop> {
    asker.about(format!("tickets of {}", Protocol::Tls13));
    let mut first = match given(asker, None)? {
        Ok(first) => Some(first),
        Err(refusal) => return asker.doubt(refusal),
    };
    if let Some(Given { ended: Some(end), .. }) = first.as_ref().filter(|g| g.count().is_none()) {
        let end = end.clone();
        return asker.doubt(end);
    }
    asker.about(format!("resumption by PSK in {}", Protocol::Tls13));
    found.max_early_data_bytes = Some(0);
    found.psk_tries = tries(asker, |asker, between| {
        let full = match first.take() {
            Some(first) => Ok(first),
            None => given(asker, None)?,
        };
        match full {
            Ok(full) => offer_ticket(asker, full, between, found),
            Err(_) => Ok(None),
        }
    })?;
    found.psk = found.psk_tries.map(Tries::any);
    // A server that resumes each session is asked once for what else it does with one.
    let once = found.psk_tries.is_some_and(Tries::every);
    if found.psk == Some(true) {
        found.psk_ke = any(asker, once, takes_psk_alone)?;
    }
    if found.max_early_data_bytes.is_some_and(|bytes| bytes > 0) {
        found.early_data_accepted = any(asker, once, takes_early_data)?;
    }
    Ok(())
}

/// Notes what a full handshake gave, and offers its last ticket again. Returns whether the server
/// resumed the session; `None` if the end of the handshake says nothing.
fn offer_ticket(
    asker: &mut Asker,
    mut full: Given,
    between: u32,
    found: &mut Resumption,
) -> Result<Option<bool>, Stop> {
    // Processes with other settings may give fewer.
    found.tickets = found.tickets.max(full.count());
    for session in &full.tickets {
        let early = Some(session.max_early_data());
        found.max_early_data_bytes = found.max_early_data_bytes.max(early);
        let lifetime = Some(ffi::ticket_lifetime_s(session));
        found.ticket_lifetime_s = found.ticket_lifetime_s.max(lifetime);
    }
    let Some(session) = full.tickets.pop() else { return Ok(Some(false)) };
    come_between(asker, between)?;
    match given(asker, Some(session))? {
        Ok(given) if given.resumed => {
            let is_first = found.tickets_resumed.is_none();
            found.tickets_resumed = found.tickets_resumed.or(given.count());
            if let (true, None, Some(end)) = (is_first, found.tickets_resumed, given.ended) {
                asker.doubt(end)?;
            }
            Ok(Some(true))
        }
        Ok(_) => Ok(Some(false)),
        Err(end) => Ok(refused(&end)),
    }
}

/// Whether any of several tries is a yes; `once`: one try shows it.
fn any(
    asker: &mut Asker,
    once: bool,
    mut attempt: impl FnMut(&mut Asker, u32) -> Result<Option<bool>, Stop>,
) -> Result<Option<bool>, Stop> {
    let mut answer = None;
    for between in BETWEEN.into_iter().cycle().take(if once { 1 } else { TRIES }) {
        match attempt(asker, between)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => answer = Some(false),
            None => break,
        }
    }
    Ok(answer)
}

/// The tickets of a full TLS 1.3 handshake and a response; `None` if the handshake failed.
fn tickets(asker: &mut Asker) -> Result<Option<Vec<SslSession>>, Stop> {
    Ok(given(asker, None)?.ok().map(|given| given.tickets))
}

/// The tickets and facts of a TLS 1.3 handshake and a response. The handshake offers this session,
/// if there is one.
fn given(asker: &mut Asker, session: Option<SslSession>) -> Result<Result<Given, Refusal>, Stop> {
    let tickets = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&tickets);
    let terms = Terms::new(Protocol::Tls13).map(|mut terms| {
        let cache = SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL;
        terms.context().set_session_cache_mode(cache);
        terms.context().set_new_session_callback(move |_, session| {
            let mut tickets = collected.lock().unwrap_or_else(PoisonError::into_inner);
            if tickets.len() < TICKETS_LIMIT {
                tickets.push(session);
            }
        });
        match session {
            Some(session) => terms.session(session),
            None => terms,
        }
    });
    let mut stream = match handshake::shake(asker, terms)? {
        Ok(stream) => stream,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let ended = exchange(&mut stream, &request(asker)).err();
    part(&mut stream);
    let tickets = std::mem::take(&mut *tickets.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Ok(Given { resumed: stream.ssl().session_reused(), tickets, ended }))
}

/// Whether the server resumes by the pre-shared key alone. OpenSSL's client always offers a key
/// exchange, so it offers a group that servers do not have: a server that continues has resumed
/// without a key exchange.
fn takes_psk_alone(asker: &mut Asker, between: u32) -> Result<Option<bool>, Stop> {
    asker.about(format!("resumption by PSK without a key exchange in {}", Protocol::Tls13));
    let Some(session) = tickets(asker)?.and_then(|mut tickets| tickets.pop()) else {
        return Ok(None);
    };
    come_between(asker, between)?;
    let terms = Terms::new(Protocol::Tls13).and_then(Terms::without_exchange);
    Ok(reused(handshake::shake(asker, terms.map(|terms| terms.session(session)))?))
}

/// Sends a request as early data. Returns whether the server accepts it.
fn takes_early_data(asker: &mut Asker, between: u32) -> Result<Option<bool>, Stop> {
    asker.about(format!("early data in {}", Protocol::Tls13));
    let tickets = tickets(asker)?.unwrap_or_default();
    let Some(session) = tickets.into_iter().find(|session| session.max_early_data() > 0) else {
        return Ok(None);
    };
    come_between(asker, between)?;
    let request = request(asker);
    let early = &request[..request.len().min(session.max_early_data() as usize)];
    let terms = Terms::new(Protocol::Tls13).map(|terms| terms.session(session));
    Ok(match handshake::shake_early(asker, terms, early)? {
        EarlyData::None => None,
        EarlyData::Accepted => Some(true),
        EarlyData::Rejected => Some(false),
    })
}

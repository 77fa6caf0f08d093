//! Finds the supported kinds of resumption: creates a session and offers it again.

use std::sync::{Arc, Mutex, PoisonError};

use openssl::ssl::{SslSession, SslSessionCacheMode, SslStream};

use super::asker::Asker;
use super::connection::{ProbeConnection, Stop};
use super::handshake::{Terms, exchange, part, request};
use super::{Resumption, handshake};
use tlslab_tls::EarlyData;
use tlslab_tls::openssl::ffi;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The highest number of tickets that are counted.
const TICKETS_LIMIT: usize = 64;

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
        found.session_id = resumes(asker, version, false)?;
        found.ticket =
            if version == Protocol::Ssl3 { None } else { resumes(asker, version, true)? };
    }
    if asker.has(Protocol::Tls13) {
        find_tickets(asker, &mut found)?;
    }
    Ok(found)
}

/// Whether a session up to TLS 1.2 is resumed, with tickets or without; `None` if no session could
/// be created.
fn resumes(asker: &mut Asker, version: Protocol, tickets: bool) -> Result<Option<bool>, Stop> {
    asker.about(format!(
        "resumption by {} in {version}",
        if tickets { "ticket" } else { "session ID" }
    ));
    let terms = || {
        let terms = Terms::new(version)?;
        Ok(if tickets { terms } else { terms.without_tickets() })
    };
    let Ok(mut stream) = handshake::shake(asker, terms())? else { return Ok(None) };
    part(&mut stream);
    let session = stream.ssl().session().map(ToOwned::to_owned);
    let Some(session) = session else { return Ok(Some(false)) };
    drop(stream);
    let offered = if tickets { ffi::has_ticket(&session) } else { !session.id().is_empty() };
    if !offered {
        return Ok(Some(false));
    }
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
    let first = match given(asker, None)? {
        Ok(first) => first,
        Err(refusal) => return asker.doubt(refusal),
    };
    found.tickets = first.count();
    if let (None, Some(end)) = (found.tickets, first.ended) {
        return asker.doubt(end);
    }
    let mut tickets = first.tickets;
    let early_data = tickets.iter().map(|session| session.max_early_data()).max();
    found.max_early_data_bytes = Some(early_data.unwrap_or(0));
    found.ticket_lifetime_s = tickets.iter().map(|session| ffi::ticket_lifetime_s(session)).max();
    found.psk = Some(false);
    if let Some(session) = tickets.pop() {
        asker.about(format!("resumption by PSK in {}", Protocol::Tls13));
        match given(asker, Some(session))? {
            Ok(given) if given.resumed => {
                found.psk = Some(true);
                found.tickets_resumed = given.count();
                if let (None, Some(end)) = (found.tickets_resumed, given.ended) {
                    asker.doubt(end)?;
                }
            }
            Ok(_) => {}
            Err(end) => found.psk = refused(&end),
        }
    }
    if found.psk == Some(true) {
        found.psk_ke = takes_psk_alone(asker)?;
    }
    if early_data.is_some_and(|bytes| bytes > 0) {
        found.early_data_accepted = takes_early_data(asker)?;
    }
    Ok(())
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
    let ended = exchange(&mut stream, asker.server_name()).err();
    part(&mut stream);
    let tickets = std::mem::take(&mut *tickets.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Ok(Given { resumed: stream.ssl().session_reused(), tickets, ended }))
}

/// Whether the server resumes by the pre-shared key alone. OpenSSL's client always offers a key
/// exchange, so it offers a group that servers do not have: a server that continues has resumed
/// without a key exchange.
fn takes_psk_alone(asker: &mut Asker) -> Result<Option<bool>, Stop> {
    asker.about(format!("resumption by PSK without a key exchange in {}", Protocol::Tls13));
    let Some(session) = tickets(asker)?.and_then(|mut tickets| tickets.pop()) else {
        return Ok(None);
    };
    let terms = Terms::new(Protocol::Tls13).and_then(Terms::without_exchange);
    Ok(reused(handshake::shake(asker, terms.map(|terms| terms.session(session)))?))
}

/// Sends a request as early data. Returns whether the server accepts it.
fn takes_early_data(asker: &mut Asker) -> Result<Option<bool>, Stop> {
    asker.about(format!("early data in {}", Protocol::Tls13));
    let tickets = tickets(asker)?.unwrap_or_default();
    let Some(session) = tickets.into_iter().find(|session| session.max_early_data() > 0) else {
        return Ok(None);
    };
    let request = request(asker.server_name());
    let early = &request.as_bytes()[..request.len().min(session.max_early_data() as usize)];
    let terms = Terms::new(Protocol::Tls13).map(|terms| terms.session(session));
    Ok(match handshake::shake_early(asker, terms, early)? {
        EarlyData::None => None,
        EarlyData::Accepted => Some(true),
        EarlyData::Rejected => Some(false),
    })
}

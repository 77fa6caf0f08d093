//! Finds the supported kinds of resumption: creates a session and offers it again.

use std::sync::{Arc, Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::ssl::{SslSession, SslSessionCacheMode};

use super::asker::Asker;
use super::connection::Stop;
use super::handshake::{Terms, exchange, part, request};
use super::{Resumption, handshake};
use tlslab_tls::EarlyData;
use tlslab_tls::openssl::ffi;
use tlslab_wire::tls::registry::Protocol;

/// The highest number of tickets that are counted.
const TICKETS_LIMIT: usize = 64;

/// The tickets and facts of a handshake.
struct Given {
    /// Whether the handshake resumed the offered session.
    resumed: bool,
    tickets: Vec<SslSession>,
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
    Ok(Some(again.is_ok_and(|stream| stream.ssl().session_reused())))
}

/// Finds the properties of TLS 1.3 tickets, and tests them. Each ticket is used once, because a
/// server may accept it only once.
fn find_tickets(asker: &mut Asker, found: &mut Resumption) -> Result<(), Stop> {
    let Some(mut tickets) = tickets(asker)? else { return Ok(()) };
    found.tickets = Some(tickets.len() as u32);
    let early_data = tickets.iter().map(|session| session.max_early_data()).max();
    found.max_early_data_bytes = Some(early_data.unwrap_or(0));
    found.ticket_lifetime_s = tickets.iter().map(|session| ffi::ticket_lifetime_s(session)).max();
    found.psk = Some(false);
    if let Some(session) = tickets.pop()
        && let Some(given) = given(asker, Some(session))?
        && given.resumed
    {
        found.psk = Some(true);
        found.tickets_resumed = Some(given.tickets.len() as u32);
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
    Ok(given(asker, None)?.map(|given| given.tickets))
}

/// The tickets and facts of a TLS 1.3 handshake and a response. The handshake offers this session,
/// if there is one. `None` if the handshake failed.
fn given(asker: &mut Asker, session: Option<SslSession>) -> Result<Option<Given>, Stop> {
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
    let Ok(mut stream) = handshake::shake(asker, terms)? else { return Ok(None) };
    exchange(&mut stream, asker.server_name());
    part(&mut stream);
    let tickets = std::mem::take(&mut *tickets.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Some(Given { resumed: stream.ssl().session_reused(), tickets }))
}

fn takes(
    asker: &mut Asker,
    terms: Result<Terms, ErrorStack>,
    session: SslSession,
) -> Result<bool, Stop> {
    let terms = terms.map(|terms| terms.session(session));
    Ok(handshake::shake(asker, terms)?.is_ok_and(|stream| stream.ssl().session_reused()))
}

/// Whether the server resumes by the pre-shared key alone. OpenSSL's client always offers a key
/// exchange, so it offers a group that servers do not have: a server that continues has resumed
/// without a key exchange.
fn takes_psk_alone(asker: &mut Asker) -> Result<Option<bool>, Stop> {
    let Some(session) = tickets(asker)?.and_then(|mut tickets| tickets.pop()) else {
        return Ok(None);
    };
    takes(asker, Terms::new(Protocol::Tls13).and_then(Terms::without_exchange), session).map(Some)
}

/// Sends a request as early data. Returns whether the server accepts it.
fn takes_early_data(asker: &mut Asker) -> Result<Option<bool>, Stop> {
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

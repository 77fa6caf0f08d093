//! Checks before a run: the target is permitted, reachable, and supports the specification.

mod scripts;

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::scripts::{body_rule, learning, only, script};
use crate::connection::Script;
use crate::error::RunError;
use crate::notes::fewer_streams;
use crate::preflight::{PreflightError, PreflightResult, preflight, resumed};
use tlslab_contract::record::{Preflight, SessionsGiven};
#[cfg(feature = "openssl")]
use tlslab_contract::spec::BackendChoice;
use tlslab_contract::spec::{CheckedSpec, ClientChoice, Resume, TlsSpec};
use tlslab_system::clock::{Nanos, SECOND};
use tlslab_system::files;
use tlslab_system::guard::{self, Permit};
use tlslab_tls::certificates::certificate_group;
use tlslab_tls::choice::{Choice, choose};
use tlslab_tls::expectation::Expectation;
use tlslab_tls::identity::{Identity, IdentityError};
#[cfg(feature = "openssl")]
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::plain::PlainBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{
    Backend, BackendError, ClientSettings, KeyExchangeGroup, KeyLog, TrustAnchors, USUAL_GROUPS,
};
use tlslab_wire::http::StatusSet;
use tlslab_wire::http::message::{Message, Messages};
use tlslab_wire::names::{Group, TlsVersion};
use tlslab_wire::outcome::{Failure, Mismatch, Outcome};
use tlslab_wire::target::Target;

/// A target that passed the checks.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The permission to load the target, with its address.
    pub permit: Permit,
    /// The back end that makes the handshakes.
    pub backend: Choice,
    /// The results of the preflight connection.
    pub preflight: Preflight,
    /// The TLS settings of every connection.
    pub(crate) settings: ClientSettings,
    /// The steps of every connection.
    pub(crate) script: Script,
    /// Notes for the record about the findings of the checks.
    pub(crate) notes: Vec<String>,
    /// Why the minimal client cannot be used, if it was chosen.
    pub(crate) fallback: Option<String>,
}

/// Resolves the target, checks that it may be loaded, and makes the preflight connections. Faults
/// that can be found before a load are found here.
pub fn check(spec: &CheckedSpec, trust: TrustAnchors) -> Result<Checked, RunError> {
    check_logged(spec, trust, None)
}

/// As [`check`], but writes the secrets of all connections, including those of the run, to the key
/// log.
pub fn check_logged(
    spec: &CheckedSpec,
    trust: TrustAnchors,
    key_log: Option<Arc<KeyLog>>,
) -> Result<Checked, RunError> {
    check_permitted(spec, trust, key_log, guard::permit(spec.spec(), spec.peer())?)
}

/// As [`check`], for a target whose URL is already parsed.
fn check_permitted(
    spec: &CheckedSpec,
    trust: TrustAnchors,
    key_log: Option<Arc<KeyLog>>,
    mut permit: Permit,
) -> Result<Checked, RunError> {
    let client_identity = client_identity(&spec.spec().tls)?;
    check_files(spec)?;
    check_sources(spec, &permit)?;
    let mut settings = ClientSettings { client_identity, key_log, ..settings(spec, trust) };
    let mut script = script(spec, &permit);
    if permit.bounded
        && let Some(token) = &spec.spec().proof
    {
        permit.bounded = !serves_proof(spec, &script, &settings, token)?;
    }
    guard::check_length(spec.spec(), &permit)?;
    add_certificate_group(spec, &script, &mut settings)?;
    let mut backend = chosen(spec, &settings)?;
    let once = learning(spec, &script);
    let mut notes = Vec::new();
    let began = Instant::now();
    let preflight = match try_all_names(spec, backend, &settings, &once, &mut notes) {
        Err(RunError::Preflight { error, .. }) if let Some(group) = retried(spec, &error) => {
            notes.push(send_share(group, &mut settings));
            try_all_names(spec, backend, &settings, &once, &mut notes)?
        }
        Err(error) if let Some(other) = spare_backend(spec, backend, &error) => {
            // The server's answer to the first choice says more than that to the second.
            let tried = try_all_names(spec, other, &settings, &once, &mut notes);
            backend = other;
            notes.push(SPARE_BACKEND.to_owned());
            tried.map_err(|_| error)?
        }
        other => other?,
    };
    let mut fallback = None;
    if preflight.facts.tls != TlsVersion::Tls13.to_string() {
        settings.client = ClientChoice::Library;
    } else if backend == Choice::Rustls {
        fallback = minimal_client_or_library(spec, &mut settings, &once, began.elapsed())?;
    }
    notes.extend(fewer_streams(spec.spec(), &preflight));
    script.body = body_rule(spec.spec().http.check_body, &preflight);
    Ok(Checked { permit, backend, preflight, settings, script, notes, fallback })
}

/// If the run uses the minimal client: connects with it once for each server name, and if the run
/// resumes sessions, resumes that connection's session. The minimal client is stricter than the
/// library. If only the library accepts the server, the library makes all connections; the reason is
/// returned. If a repeated trial of the library fails or the minimal client then succeeds, the fault
/// lies elsewhere, and the run will show it. So it will for a server that falls silent, which is not
/// waited for longer than [`trial_limit`].
fn minimal_client_or_library(
    spec: &CheckedSpec,
    settings: &mut ClientSettings,
    script: &Script,
    answered: Duration,
) -> Result<Option<String>, BackendError> {
    let limit = trial_limit(answered);
    let script = &Script { deadlines: script.deadlines.map(|d| d.min(limit)), ..script.clone() };
    for name in spec.server_names() {
        let of_name = asking_for(name, settings);
        if !RustlsBackend::new(&of_name)?.uses_minimal_client() {
            continue;
        }
        let minimal = || {
            let make = || RustlsBackend::minimal_only(&of_name);
            trial_of(make, &of_name, script, &mut Vec::new())
        };
        let Err(error) = minimal()? else { continue };
        let is_silent =
            |error: &PreflightError| matches!(error.outcome, Outcome::Failed(Failure::TimedOut(_)));
        match trial(Choice::Rustls, &of_name, script, &mut Vec::new())? {
            Ok(_) => {}
            Err(again) if is_silent(&error) && is_silent(&again) => return Ok(None),
            Err(_) => continue,
        }
        let Err(error) = minimal()? else { continue };
        settings.client = ClientChoice::Library;
        return Ok(Some(failed(spec, name, script, error).to_string()));
    }
    Ok(None)
}

/// The note on a run by the second choice of back end.
const SPARE_BACKEND: &str = "the server takes nothing of what rustls offers, such as schemes for keys \
                             of the kinds RSA-PSS or Ed448: OpenSSL made all connections";

/// The back end to try after rustls, if the choice is free and the server finds no parameters in
/// common: rustls has fewer kinds of key, suites and groups.
#[cfg(feature = "openssl")]
fn spare_backend(spec: &CheckedSpec, tried: Choice, error: &RunError) -> Option<Choice> {
    const HANDSHAKE_FAILURE: Outcome = Outcome::Failed(Failure::Alert(40));
    let RunError::Preflight { error, .. } = error else { return None };
    let is_free = spec.spec().tls.backend == BackendChoice::Auto && tried == Choice::Rustls;
    (is_free && error.outcome == HANDSHAKE_FAILURE).then_some(Choice::Openssl)
}

#[cfg(not(feature = "openssl"))]
fn spare_backend(_: &CheckedSpec, _: Choice, _: &RunError) -> Option<Choice> {
    None
}

/// The time limit for each step of a trial with a server that has just answered in this time.
fn trial_limit(answered: Duration) -> Nanos {
    let several = Nanos::try_from(answered.as_nanos()).unwrap_or(Nanos::MAX).saturating_mul(10);
    several.max(SECOND)
}

/// The group of the server's HelloRetryRequest, if no option forces the key share.
fn retried(spec: &CheckedSpec, error: &PreflightError) -> Option<Group> {
    let is_free = spec.spec().tls.groups.is_empty();
    let is_retried = error.outcome == Outcome::Unexpected(Mismatch::HelloRetryRequest);
    match error.negotiated?.group? {
        KeyExchangeGroup::Named(code_point) if is_free && is_retried => {
            Group::from_code_point(code_point)
        }
        _ => None,
    }
}

/// Makes the accepted group the key share of every connection, followed by the other groups, so
/// that no connection needs a HelloRetryRequest. Returns the note about it.
fn send_share(group: Group, settings: &mut ClientSettings) -> String {
    let others = USUAL_GROUPS.into_iter().filter(|other| *other != group);
    settings.groups = std::iter::once(group).chain(others).collect();
    format!(
        "no group was asked for; the server asked for a key share of {group} by a \
         HelloRetryRequest, so that all connections send that one first"
    )
}

/// Makes one connection for each server name, and a second one if the run resumes sessions. Returns
/// the results for the first name.
fn try_all_names(
    spec: &CheckedSpec,
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
    notes: &mut Vec<String>,
) -> Result<Preflight, RunError> {
    let mut first = None;
    for name in &settings.server_names {
        let settings = asking_for(name, settings);
        let tried = trial(backend, &settings, script, notes)?;
        let trial = tried.map_err(|error| failed(spec, name, script, error))?;
        first.get_or_insert(trial.preflight);
    }
    try_all_pages(spec, backend, settings, script)?;
    Ok(first.expect("an offer has a server name"))
}

/// Makes one connection for each page after the first, so that a wrong path is reported before the
/// load, by name.
fn try_all_pages(
    spec: &CheckedSpec,
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
) -> Result<(), RunError> {
    if script.handshake_only {
        return Ok(());
    }
    let name = &settings.server_names[0];
    let settings = ClientSettings { resume: Resume::None, ..asking_for(name, settings) };
    for page in &spec.pages()[1..] {
        let messages = only(spec, page);
        let script = Script { messages, early_data: false, ..script.clone() };
        if let Err(error) = one_connection(backend, &settings, &script)? {
            return Err(failed(spec, &page.0.path, &script, error));
        }
    }
    Ok(())
}

/// The settings, restricted to one server name.
fn asking_for(name: &str, settings: &ClientSettings) -> ClientSettings {
    ClientSettings { server_names: vec![name.to_owned()], ..settings.clone() }
}

/// The client's own certificate and key, if the specification has them.
fn client_identity(tls: &TlsSpec) -> Result<Option<Identity>, IdentityError> {
    let Some(own) = &tls.client_identity else { return Ok(None) };
    let identity = Identity::from_pem(&own.certificate, own.key.reveal())?;
    match identity.short_key() {
        Some(kind) if !tls.allow_obsolete => Err(IdentityError::Obsolete(kind)),
        _ => Ok(Some(identity)),
    }
}

fn check_files(spec: &CheckedSpec) -> Result<(), RunError> {
    let needed = files::needed(spec.spec().connections, spec.spec().threads);
    let granted = files::granted()?;
    if granted < needed { Err(RunError::Files { needed, granted }) } else { Ok(()) }
}

/// Checks that the source addresses belong to this machine. A foreign address is reported before
/// the run instead of as a failure of each connection.
fn check_sources(spec: &CheckedSpec, permit: &Permit) -> Result<(), RunError> {
    for &address in &spec.spec().sources {
        let refused = |source| RunError::Source { address, source };
        if address.is_ipv4() != permit.address.is_ipv4() {
            return Err(refused(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)));
        }
        UdpSocket::bind((address, 0)).map_err(refused)?;
    }
    Ok(())
}

fn failed(spec: &CheckedSpec, name: &str, script: &Script, error: Box<PreflightError>) -> RunError {
    let peer = spec.peer();
    let path = if name.starts_with('/') { name } else { "" };
    let mut target = format!("{}{path}", peer.place());
    target += &peer.address_in_words(script.address.ip());
    if path.is_empty() && spec.server_names().len() > 1 {
        target += &format!(" as {name}");
    }
    RunError::Preflight { target, error }
}

/// The back end of the run.
fn chosen(spec: &CheckedSpec, settings: &ClientSettings) -> Result<Choice, BackendError> {
    match spec.target().is_plain {
        true => Ok(Choice::Plain),
        false => choose(spec.spec().tls.backend, settings),
    }
}

/// Makes one connection with the chosen back end. Returns the results and the server's
/// certificates.
fn one_connection(
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
) -> Result<PreflightResult, BackendError> {
    Ok(match backend {
        Choice::Rustls => preflight(&mut RustlsBackend::new(settings)?, script),
        #[cfg(feature = "openssl")]
        Choice::Openssl => preflight(&mut OpensslBackend::new(settings)?, script),
        Choice::Plain => preflight(&mut PlainBackend, script),
    })
}

/// Makes one connection with the chosen back end, or several if the run resumes sessions.
fn trial(
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
    notes: &mut Vec<String>,
) -> Result<PreflightResult, BackendError> {
    match backend {
        Choice::Rustls => trial_of(|| RustlsBackend::new(settings), settings, script, notes),
        #[cfg(feature = "openssl")]
        Choice::Openssl => trial_of(|| OpensslBackend::new(settings), settings, script, notes),
        Choice::Plain => trial_of(|| Ok(PlainBackend), settings, script, notes),
    }
}

fn trial_of<B: Backend>(
    make: impl Fn() -> Result<B, BackendError>,
    settings: &ClientSettings,
    script: &Script,
    notes: &mut Vec<String>,
) -> Result<PreflightResult, BackendError> {
    match settings.resume {
        Resume::None => Ok(preflight(&mut make()?, script)),
        _ => resumption(make, script, notes),
    }
}

/// The tries before a server counts as one that resumes no sessions: it may have several processes
/// or hosts behind its address, each of which knows only its own.
const RESUMPTION_TRIES: u32 = 8;

/// Makes two connections, of which the second resumes the session of the first, and again if it does
/// not. Returns the results of the first. Notes that not every try resumed its session.
fn resumption<B: Backend>(
    make: impl Fn() -> Result<B, BackendError>,
    script: &Script,
    notes: &mut Vec<String>,
) -> Result<PreflightResult, BackendError> {
    let mut tries = 1;
    loop {
        // A balancer that takes two hosts in turn leads every second connection to the other one.
        let between = if tries % 2 == 0 { Some(make()?) } else { None };
        match two_connections(make()?, between, script) {
            Err(mut error) if error.outcome == Outcome::Unexpected(Mismatch::Kind) => {
                if tries == RESUMPTION_TRIES {
                    error.explanation += &format!(", in {tries} tries");
                    return Ok(Err(error));
                }
                tries += 1;
            }
            Ok(trial) if tries > 1 => {
                notes.push(format!(
                    "only the last of {tries} tries resumed a session before the load: processes \
                     or hosts behind this address do not share their ticket keys or sessions, so \
                     that connections may not resume, and count as unexpected"
                ));
                return Ok(Ok(trial));
            }
            other => return Ok(other),
        }
    }
}

/// Makes one connection, then a second one that resumes its session, with another `between`. Returns
/// the results of the first.
fn two_connections<B: Backend>(
    mut backend: B,
    between: Option<B>,
    script: &Script,
) -> PreflightResult {
    let mut first = preflight(&mut backend, script)?;
    if let Some(mut other) = between {
        preflight(&mut other, script)?;
    }
    let again = resumed(&mut backend, script)?;
    let sessions = SessionsGiven { full: first.gained, resumed: again.gained };
    first.preflight.sessions = Some(sessions);
    Ok(first)
}

fn settings(spec: &CheckedSpec, trust: TrustAnchors) -> ClientSettings {
    let tls = &spec.spec().tls;
    ClientSettings {
        versions: tls.offered_versions(),
        suites: tls.suites.clone(),
        groups: tls.groups.clone(),
        signature_schemes: tls.signature_schemes.clone(),
        server_names: spec.server_names().to_vec(),
        alpn: tls.offered_protocols(spec.spec().http.version),
        client_identity: None,
        trust,
        authenticate: tls.authenticate,
        key_share: tls.key_share,
        client: tls.client,
        key_log: None,
        allow_obsolete: tls.allow_obsolete,
        resume: tls.resume,
        early_data: tls.early_data,
        hello_retry: tls.hello_retry,
    }
}

/// True if the target serves the page by which its operator consents to the load.
fn serves_proof(
    spec: &CheckedSpec,
    script: &Script,
    settings: &ClientSettings,
    token: &str,
) -> Result<bool, RunError> {
    let mut script = script.clone();
    let page = Target { path: guard::proof_path(token), ..spec.target().clone() };
    script.messages = Messages::one(Message::get(&page));
    (script.head_only, script.idempotent, script.statuses) = (false, true, StatusSet::default());
    script.requests = Some(1);
    script.handshake_only = false;
    // The page is requested over HTTP/1.1, whatever protocols the run offers.
    let tls = TlsSpec { alpn: None, ..spec.spec().tls.clone() };
    let http = spec.spec().http.version;
    script.expectation = Expectation::new(&tls, http);
    let mut settings = ClientSettings { alpn: tls.offered_protocols(http), ..settings.clone() };
    let backend = chosen(spec, &settings)?;
    let mut tried = one_connection(backend, &settings, &script)?;
    if let Err(error) = &tried
        && let Some(group) = retried(spec, error)
    {
        send_share(group, &mut settings);
        tried = one_connection(backend, &settings, &script)?;
    }
    Ok(tried.is_ok())
}

/// Adds the curve of the server's certificate to the offered groups. Many TLS 1.2 servers choose an
/// ECDSA certificate only if the client lists the certificate's curve among its groups (RFC 8422,
/// section 5.1). A first handshake without forced groups finds that curve, which is then listed
/// after the requested groups. Every connection still checks which group was used.
fn add_certificate_group(
    spec: &CheckedSpec,
    script: &Script,
    settings: &mut ClientSettings,
) -> Result<(), RunError> {
    if settings.groups.is_empty() || !spec.spec().tls.offers(TlsVersion::Tls12) {
        return Ok(());
    }
    let trust = TrustAnchors::Anyone;
    let open =
        ClientSettings { groups: Vec::new(), trust, resume: Resume::None, ..settings.clone() };
    let mut script = script.clone();
    script.handshake_only = true;
    // Only the versions and protocols must match the run's connections.
    let protocols = TlsSpec { alpn: spec.spec().tls.alpn.clone(), ..TlsSpec::default() };
    script.expectation = Expectation::new(&protocols, spec.spec().http.version);
    let backend = chosen(spec, &open)?;
    for name in spec.server_names() {
        match one_connection(backend, &asking_for(name, &open), &script)? {
            Ok(trial) => {
                let group = certificate_group(&trial.certificates);
                settings.groups.extend(group.filter(|group| !settings.groups.contains(group)));
            }
            // A second attempt would wait for the same time-out again.
            Err(error) if matches!(error.outcome, Outcome::Failed(Failure::TimedOut(_))) => {
                return Err(failed(spec, name, &script, error));
            }
            // If this handshake fails, the preflight fails as well and reports the reason.
            Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Checks before a run that the target is allowed and reachable, and supports what is asked for.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use crate::connection::Script;
use crate::error::RunError;
use crate::preflight::{PreflightError, PreflightResult, minimal, preflight, resumed};
use tlslab_contract::record::{Preflight, SessionsGiven};
use tlslab_contract::spec::{BodyCheck, CheckedSpec, ClientChoice, HttpVersion, Resume, TlsSpec};
use tlslab_system::clock::{MICROSECOND, MILLISECOND, Nanos};
use tlslab_system::files;
use tlslab_system::guard::{self, Permit};
use tlslab_tls::certificates::certificate_group;
use tlslab_tls::choice::{Choice, choose};
use tlslab_tls::expectation::Expectation;
use tlslab_tls::identity::{Identity, IdentityError};
use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{
    Backend, BackendError, ClientSettings, KeyExchangeGroup, KeyLog, TrustAnchors, USUAL_GROUPS,
};
use tlslab_wire::http::StatusSet;
use tlslab_wire::http::body::{BodyRule, from_hexadecimal};
use tlslab_wire::http::message::{Message, Messages};
use tlslab_wire::names::{Group, TlsVersion};
use tlslab_wire::outcome::{Failure, Mismatch, Outcome};
use tlslab_wire::target::Target;

/// A target that has passed the checks.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The permitted address.
    pub permit: Permit,
    /// The back end that makes the handshakes.
    pub backend: Choice,
    /// What the preflight connection found.
    pub preflight: Preflight,
    /// What each connection offers.
    pub(crate) settings: ClientSettings,
    /// What each connection does.
    pub(crate) script: Script,
    /// Notes for the record on what the checks found.
    pub(crate) notes: Vec<String>,
}

/// Resolves and permits the target, and tries it with one connection: all faults that can be found
/// before a load are found here.
pub fn check(spec: &CheckedSpec, trust: TrustAnchors) -> Result<Checked, RunError> {
    check_logged(spec, trust, None)
}

/// The same checks; the secrets of all connections, the run's included, are written to the log.
pub fn check_logged(
    spec: &CheckedSpec,
    trust: TrustAnchors,
    key_log: Option<Arc<KeyLog>>,
) -> Result<Checked, RunError> {
    check_permitted(spec, trust, key_log, guard::permit(spec.spec(), spec.peer())?)
}

/// The same checks of a target whose URL is parsed.
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
    let backend = choose(spec.spec().tls.backend, &settings)?;
    let once = learning(spec, &script);
    let mut notes = Vec::new();
    let preflight = match try_all_names(spec, backend, &settings, &once) {
        Err(RunError::Preflight { error, .. }) if let Some(group) = retried(spec, &error) => {
            notes.push(send_share(group, &mut settings));
            try_all_names(spec, backend, &settings, &once)?
        }
        other => other?,
    };
    if backend == Choice::Rustls {
        notes.extend(minimal_client_or_library(spec, &mut settings, &once)?);
    }
    script.body = body_rule(spec.spec().http.check_body, &preflight);
    Ok(Checked { permit, backend, preflight, settings, script, notes })
}

/// Tries the minimal client, if the run uses it, with each server name. It is stricter than the library:
/// if the server does something that only the library accepts, the library makes all connections, and a
/// note says why. If another connection by the library fails as well, or the minimal client then
/// succeeds, the fault is not the minimal client's, and the run will show it.
fn minimal_client_or_library(
    spec: &CheckedSpec,
    settings: &mut ClientSettings,
    script: &Script,
) -> Result<Option<String>, BackendError> {
    for name in spec.server_names() {
        let backend = RustlsBackend::new(&asking_for(name, settings))?;
        let Some(Err(_)) = minimal(&backend, script) else { continue };
        if one_connection(Choice::Rustls, &asking_for(name, settings), script)?.is_err() {
            continue;
        }
        let Some(Err(error)) = minimal(&backend, script) else { continue };
        settings.client = ClientChoice::Library;
        let why = failed(spec, name, error);
        return Ok(Some(format!(
            "the library made all connections: the minimal client could not be used ({why})"
        )));
    }
    Ok(None)
}

/// The group that the server asked for by a HelloRetryRequest, if no option forces the key share.
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

/// Has each connection send the key share that the server accepts, with the other groups after it, so
/// that no connection of the run needs a HelloRetryRequest. Returns the note on it.
fn send_share(group: Group, settings: &mut ClientSettings) -> String {
    let others = USUAL_GROUPS.into_iter().filter(|other| *other != group);
    settings.groups = std::iter::once(group).chain(others).collect();
    format!(
        "no group was asked for; the server asked for a key share of {group} by a \
         HelloRetryRequest, so that all connections send that one first"
    )
}

/// One connection for each server name, and a second one if sessions are to be resumed; returns what the
/// connection for the first name found.
fn try_all_names(
    spec: &CheckedSpec,
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
) -> Result<Preflight, RunError> {
    let mut first = None;
    for name in &settings.server_names {
        let settings = asking_for(name, settings);
        let tried = match settings.resume {
            Resume::None => one_connection(backend, &settings, script)?,
            _ => two_connections(backend, &settings, script)?,
        };
        let trial = tried.map_err(|error| failed(spec, name, error))?;
        first.get_or_insert(trial.preflight);
    }
    try_all_pages(spec, backend, settings, script)?;
    Ok(first.expect("an offer has a server name"))
}

/// One connection for each page beyond the first, which has been asked for: an address that is wrong
/// is reported before the load, by its path.
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
            return Err(failed(spec, &page.0.path, error));
        }
    }
    Ok(())
}

/// The requests of a run that asks for one of its pages only.
fn only(spec: &CheckedSpec, page: &(Target, u32)) -> Messages {
    Messages::new(&[(page.0.clone(), 1)], &spec.spec().http.parts(), 0)
}

/// The settings with one server name only.
fn asking_for(name: &str, settings: &ClientSettings) -> ClientSettings {
    ClientSettings { server_names: vec![name.to_owned()], ..settings.clone() }
}

/// The client's own certificate with its key, if it has one.
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

/// Checks the addresses to connect from: one that is not this machine's is reported before the run, not
/// as a failure of each connection.
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

fn failed(spec: &CheckedSpec, name: &str, error: Box<PreflightError>) -> RunError {
    let peer = spec.peer();
    let bracketed = peer.host.contains(':');
    let host = if bracketed { format!("[{}]", peer.host) } else { peer.host.clone() };
    let mut target = format!("{host}:{}", peer.port);
    if name.starts_with('/') {
        target += name;
    } else if spec.server_names().len() > 1 {
        target += &format!(" as {name}");
    }
    RunError::Preflight { target, error }
}

/// One connection by the chosen back end, with the certificates that the server sent.
fn one_connection(
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
) -> Result<PreflightResult, BackendError> {
    Ok(match backend {
        Choice::Rustls => preflight(&mut RustlsBackend::new(settings)?, script),
        Choice::Openssl => preflight(&mut OpensslBackend::new(settings)?, script),
    })
}

/// One connection, and a second one that resumes its session; the result is that of the first.
fn two_connections(
    backend: Choice,
    settings: &ClientSettings,
    script: &Script,
) -> Result<PreflightResult, BackendError> {
    fn both<B: Backend>(mut backend: B, script: &Script) -> PreflightResult {
        let mut first = preflight(&mut backend, script)?;
        let again = resumed(&mut backend, script)?;
        let sessions = SessionsGiven { full: first.gained, resumed: again.gained };
        first.preflight.sessions = Some(sessions);
        Ok(first)
    }
    Ok(match backend {
        Choice::Rustls => both(RustlsBackend::new(settings)?, script),
        Choice::Openssl => both(OpensslBackend::new(settings)?, script),
    })
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

/// Whether the target serves the page by which its operator consents to the load.
fn serves_proof(
    spec: &CheckedSpec,
    script: &Script,
    settings: &ClientSettings,
    token: &str,
) -> Result<bool, RunError> {
    let mut script = script.clone();
    let page = Target { path: guard::proof_path(token), ..spec.target().clone() };
    script.messages = Messages::one(Message::get(&page));
    (script.head_only, script.statuses) = (false, StatusSet::default());
    script.requests = Some(1);
    script.handshake_only = false;
    // The page is asked for in HTTP, whatever protocols the run itself is to offer.
    let tls = TlsSpec { alpn: None, ..spec.spec().tls.clone() };
    let http = spec.spec().http.version;
    script.expectation = Expectation::new(&tls, http);
    let mut settings = ClientSettings { alpn: tls.offered_protocols(http), ..settings.clone() };
    let backend = choose(spec.spec().tls.backend, &settings)?;
    let mut tried = one_connection(backend, &settings, &script)?;
    if let Err(error) = &tried
        && let Some(group) = retried(spec, error)
    {
        send_share(group, &mut settings);
        tried = one_connection(backend, &settings, &script)?;
    }
    Ok(tried.is_ok())
}

/// In TLS 1.2 many servers choose an ECDSA certificate only if the client lists the certificate's own
/// curve among its groups (RFC 8422, section 5.1). So a first handshake, with no group forced, learns
/// that curve, and it is then listed behind the groups that were asked for; which group is really
/// used is verified on every connection.
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
    // Only its versions and protocols must be those of the run's connections.
    let protocols = TlsSpec { alpn: spec.spec().tls.alpn.clone(), ..TlsSpec::default() };
    script.expectation = Expectation::new(&protocols, spec.spec().http.version);
    let backend = choose(spec.spec().tls.backend, &open)?;
    for name in spec.server_names() {
        match one_connection(backend, &asking_for(name, &open), &script)? {
            Ok(trial) => {
                let group = certificate_group(&trial.certificates);
                settings.groups.extend(group.filter(|group| !settings.groups.contains(group)));
            }
            // The same time-out is not waited for twice.
            Err(error) if matches!(error.outcome, Outcome::Failed(Failure::TimedOut(_))) => {
                return Err(failed(spec, name, error));
            }
            // If this handshake fails, so will the preflight, which reports the reason.
            Err(_) => {}
        }
    }
    Ok(())
}

/// The script of a run's connections, without the check of bodies, of which nothing is known yet.
fn script(spec: &CheckedSpec, permit: &Permit) -> Script {
    let (deadlines, http) = (&spec.spec().deadlines, &spec.spec().http);
    Script {
        address: permit.address,
        sources: spec.spec().sources.clone(),
        messages: Messages::new(spec.pages(), &http.parts(), spec.spec().load.seed),
        head_only: http.method == "HEAD",
        statuses: http.expect_status.set(),
        requests: spec.requests_per_connection(),
        think: spec.spec().load.think_us * MICROSECOND,
        handshake_only: spec.spec().handshake_only,
        close: spec.spec().close,
        finished: spec.spec().finished,
        early_data: spec.spec().tls.early_data,
        deadlines: [
            deadlines.connect_ms,
            deadlines.handshake_ms,
            deadlines.first_byte_ms,
            deadlines.body_ms,
        ]
        .map(|ms| Nanos::from(ms) * MILLISECOND),
        expectation: Expectation::new(&spec.spec().tls, http.version),
        body: BodyRule::Count,
        http2: (http.version == HttpVersion::Http2).then_some(http.streams),
    }
}

/// One request for the first page, whose response is learned from.
fn learning(spec: &CheckedSpec, script: &Script) -> Script {
    let body = BodyRule::Learn { hash: spec.spec().http.check_body == BodyCheck::Hash };
    let messages = only(spec, &spec.pages()[0]);
    Script { requests: Some(1), body, messages, ..script.clone() }
}

/// The rule for the bodies of a run, from the body that the preflight has received.
fn body_rule(check: BodyCheck, seen: &Preflight) -> BodyRule {
    let hash = seen.body_sha256.as_deref().and_then(from_hexadecimal);
    match (check, hash, seen.body_bytes) {
        (BodyCheck::Hash, Some(hash), _) => BodyRule::Hash(hash),
        (BodyCheck::Length, _, Some(length)) => BodyRule::Length(length),
        _ => BodyRule::Count,
    }
}

#[cfg(test)]
mod tests;

//! Complete handshakes, for everything that TLS 1.3 encrypts or that follows a handshake. OpenSSL
//! makes them, because it has all versions and accepts any server. Certificates are verified
//! separately.

use std::time::Duration;

use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, HandshakeError, ShutdownState, Ssl, SslContext, SslContextBuilder, SslMethod,
    SslOptions, SslSession, SslStream, SslVerifyMode, SslVersion, StatusType,
};

use super::asker::Asker;
use super::connection::{ProbeConnection, Stop, refusal};
use super::enumerate::{Found, enumerate};
use super::{Renegotiation, protections};
use tlslab_tls::EarlyData;
use tlslab_tls::openssl::ffi;
use tlslab_wire::names::Group;
use tlslab_wire::sanitize::sanitize;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::{self, Protocol};

/// How long a probe waits for a server that need not send anything.
const SHORT_WHILE: Duration = Duration::from_secs(2);

/// OpenSSL's default groups, as its lists name them. It sends key shares for the first ones.
const USUAL_GROUPS: &str = "DEFAULT";

/// A group that servers have only if it is set explicitly (RFC 8734).
const UNUSUAL_GROUP: &str = "brainpoolP512r1tls13";

/// The settings of a handshake.
pub struct Terms {
    context: SslContextBuilder,
    version: Protocol,
    session: Option<SslSession>,
    /// Whether a key exchange is to be impossible.
    without_exchange: bool,
}

impl Terms {
    /// Everything that OpenSSL supports, in one version.
    pub fn new(version: Protocol) -> Result<Self, ErrorStack> {
        let mut context = SslContext::builder(SslMethod::tls_client())?;
        context.set_security_level(0);
        context.set_cipher_list("ALL")?;
        let number = match version {
            Protocol::Ssl2 | Protocol::Ssl3 => SslVersion::SSL3,
            Protocol::Tls10 => SslVersion::TLS1,
            Protocol::Tls11 => SslVersion::TLS1_1,
            Protocol::Tls12 => SslVersion::TLS1_2,
            Protocol::Tls13 => SslVersion::TLS1_3,
        };
        context.set_min_proto_version(Some(number))?;
        context.set_max_proto_version(Some(number))?;
        context.set_verify(SslVerifyMode::NONE);
        ffi::accept_legacy_servers(&mut context);
        ffi::accept_any_chain(&mut context);
        ffi::note_certificate_request(&mut context);
        Ok(Self { context, version, session: None, without_exchange: false })
    }

    /// Sets the signature schemes to offer. OpenSSL must support at least one.
    pub fn schemes(mut self, numbers: &[u16]) -> Result<Self, ErrorStack> {
        let names: Vec<String> = numbers.iter().copied().map(registry::scheme_name).collect();
        self.context.set_sigalgs_list(&names.join(":"))?;
        Ok(self)
    }

    /// Sets the application protocols to offer.
    pub fn protocols(mut self, names: &[&str]) -> Result<Self, ErrorStack> {
        let with_length = |name: &&str| [&[name.len() as u8][..], name.as_bytes()].concat();
        let wire: Vec<u8> = names.iter().flat_map(with_length).collect();
        self.context.set_alpn_protos(&wire)?;
        Ok(self)
    }

    /// Does not request tickets.
    pub fn without_tickets(mut self) -> Self {
        self.context.set_options(SslOptions::NO_TICKET);
        self
    }

    /// Offers to resume a session, which must have been created with the same settings.
    pub fn session(mut self, session: SslSession) -> Self {
        self.session = Some(session);
        self
    }

    /// Resumes without a key exchange, if the server agrees: the only offered group is one that
    /// servers do not have.
    pub fn without_exchange(mut self) -> Result<Self, ErrorStack> {
        ffi::allow_psk_without_key_exchange(&mut self.context);
        self.without_exchange = true;
        Ok(self)
    }

    /// The context, for callbacks.
    pub fn context(&mut self) -> &mut SslContextBuilder {
        &mut self.context
    }

    fn ready(mut self, asker: &Asker) -> Result<Ready, ErrorStack> {
        self.context.set_groups_list(&match (self.without_exchange, asker.is_one_segment()) {
            (true, _) => UNUSUAL_GROUP.to_owned(),
            (false, true) => small_groups(),
            (false, false) => all_groups(),
        })?;
        let (context, session) = (self.context.build(), self.session);
        Ok(Ready { context, version: self.version, session, name: asker.sni().map(str::to_owned) })
    }
}

/// All groups that OpenSSL supports: its default ones, then the others. It skips groups with a
/// question mark that it does not know, and those that it has already.
fn all_groups() -> String {
    let names = registry::groups().into_iter().map(registry::group_name);
    let others: Vec<String> = names.map(|name| format!("?{name}")).collect();
    format!("{USUAL_GROUPS} / {}", others.join(":"))
}

/// The groups whose key shares leave a ClientHello in one segment, with shares for the first two.
fn small_groups() -> String {
    let names = Group::all().filter(|group| !group.needs_tls13()).map(Group::openssl_name);
    let shared = |(place, name)| format!("{}{name}", if place < 2 { "?*" } else { "?" });
    names.enumerate().map(shared).collect::<Vec<_>>().join(":")
}

/// Everything that a handshake needs but its connection.
struct Ready {
    context: SslContext,
    version: Protocol,
    session: Option<SslSession>,
    name: Option<String>,
}

impl Ready {
    fn ssl(&self) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        if let Some(name) = &self.name {
            ssl.set_hostname(name)?;
        }
        ssl.set_status_type(StatusType::OCSP)?;
        if let Some(session) = &self.session {
            ffi::session::resume(&mut ssl, session)?;
        }
        Ok(ssl)
    }

    fn connect(&self, connection: ProbeConnection) -> Result<SslStream<ProbeConnection>, Refusal> {
        let ssl = self.ssl().map_err(|errors| of_library(&errors))?;
        match ssl.connect(connection) {
            Ok(stream) if stream.ssl().version2() != ssl_version(self.version) => {
                Err(Refusal::other("version", "chose another version".to_owned()))
            }
            Ok(stream) => Ok(stream),
            Err(HandshakeError::SetupFailure(errors)) => Err(of_library(&errors)),
            Err(HandshakeError::Failure(stream) | HandshakeError::WouldBlock(stream)) => {
                Err(of_error(stream.error()))
            }
        }
    }
}

/// Makes a handshake with these settings; only once if it offers a session.
pub fn shake(
    asker: &mut Asker,
    terms: Result<Terms, ErrorStack>,
) -> Result<Result<SslStream<ProbeConnection>, Refusal>, Stop> {
    let ready = match terms.and_then(|terms| terms.ready(asker)) {
        Ok(ready) => ready,
        Err(errors) => return Ok(Err(of_library(&errors))),
    };
    let attempt = |connection| ready.connect(connection);
    if ready.session.is_some() { asker.once(attempt) } else { asker.twice(attempt) }
}

/// Makes a handshake with these settings and early data. Returns the outcome of the early data.
pub fn shake_early(
    asker: &mut Asker,
    terms: Result<Terms, ErrorStack>,
    plaintext: &[u8],
) -> Result<EarlyData, Stop> {
    let Ok(ssl) = terms.and_then(|terms| terms.ready(asker)?.ssl()) else {
        return Ok(EarlyData::None);
    };
    let outcome = asker.once(|connection| {
        let mut stream = SslStream::new(ssl, connection).map_err(|errors| of_library(&errors))?;
        let shaken = stream.write_early_data(plaintext).and_then(|_| stream.connect());
        shaken.map_err(|error| of_error(&error))?;
        Ok(ffi::early_data(stream.ssl()))
    })?;
    Ok(outcome.unwrap_or(EarlyData::None))
}

/// The schemes with which the server signs TLS 1.3 handshakes.
pub fn schemes_of_tls13(asker: &mut Asker) -> Result<Found<()>, Stop> {
    enumerate(&known_families(), |schemes| {
        let terms = Terms::new(Protocol::Tls13).and_then(|terms| terms.schemes(schemes));
        Ok(shake(asker, terms)?.and_then(|stream| {
            let name = ffi::peer_signature_name(stream.ssl()).unwrap_or_default();
            let words = format!("signed by {}", sanitize(name, 64));
            let number = registry::scheme_number(name);
            number.map(|n| (n, ())).ok_or_else(|| Refusal::other("signature_scheme", words))
        }))
    })
}

/// Finds whether the server supports secure renegotiation, and whether it allows a client to start
/// one.
pub fn find_renegotiation(asker: &mut Asker) -> Result<Renegotiation, Stop> {
    let Some(version) = asker.newest_legacy() else { return Ok(Renegotiation::default()) };
    asker.about(format!("renegotiation in {version}"));
    let mut stream = match shake(asker, Terms::new(version))? {
        Ok(stream) => stream,
        Err(refusal) => {
            asker.doubt(refusal)?;
            let secure = protections::indicates_renegotiation(asker)?;
            return Ok(Renegotiation { secure, client_initiated: None });
        }
    };
    let secure = ffi::has_secure_renegotiation(stream.ssl());
    let time = stream.get_mut().wait(SHORT_WHILE);
    let client_initiated = match renegotiate(&mut stream) {
        Err(refusal) if refusal.is_silence() => {
            asker.silence(&[time])?;
            None
        }
        answer => Some(answer.unwrap_or(false)),
    };
    Ok(Renegotiation { secure: Some(secure), client_initiated })
}

/// The TLS 1.3 schemes that this OpenSSL can verify, by kind of key. TLS 1.3 has none for DSA.
pub fn known_families() -> Vec<Vec<u16>> {
    let has = |number: &u16| {
        let terms = Terms::new(Protocol::Tls13).and_then(|terms| terms.schemes(&[*number]));
        terms.is_ok() && !registry::scheme_name(*number).starts_with("dsa_")
    };
    let known = |family: Vec<u16>| family.into_iter().filter(has).collect::<Vec<_>>();
    let families = registry::scheme_families().into_iter().map(known);
    families.filter(|family| !family.is_empty()).collect()
}

/// A request without side effects: of HTTP, or of the service that turned to TLS.
pub fn request(asker: &Asker) -> Vec<u8> {
    let host = asker.server_name();
    let http = || format!("HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into();
    asker.starttls().map_or_else(http, |service| service.request_over_tls().to_vec())
}

/// Sends a request that every such server answers, and reads until bytes arrive: all tickets
/// precede them. Other servers stay silent and are given little time. An error if the server
/// neither answered nor ended the session by close_notify: then tickets may be missing. The server
/// may have refused the handshake after the client's end of it, as without a client's certificate.
pub fn exchange(stream: &mut SslStream<ProbeConnection>, request: &[u8]) -> Result<(), Refusal> {
    let time = stream.get_mut().wait(SHORT_WHILE);
    let written = stream.ssl_write(request);
    let read = written.and_then(|_| stream.ssl_read(&mut [0; 1024]));
    match read {
        Err(error) if error.code() != ErrorCode::ZERO_RETURN => {
            let end = of_error(&error);
            Err(if end.is_silence() { Refusal::silence_of(&[time]) } else { end })
        }
        _ => Ok(()),
    }
}

/// Ends a session with close_notify: after a reset many servers drop the session, and without a
/// close_notify OpenSSL itself does not resume it.
pub fn part(stream: &mut SslStream<ProbeConnection>) {
    // A server that does not read the close_notify may still keep the session.
    let _ = stream.shutdown();
    stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    stream.get_mut().wait(SHORT_WHILE);
    let _ = stream.get_mut().part();
}

/// Starts a new handshake on a connection. Returns whether the server completes it.
fn renegotiate(stream: &mut SslStream<ProbeConnection>) -> Result<bool, Refusal> {
    if !ffi::begin_renegotiation(stream.ssl()) {
        return Ok(false);
    }
    stream.do_handshake().map_err(|error| of_error(&error))?;
    Ok(stream.ssl().is_init_finished())
}

fn ssl_version(version: Protocol) -> Option<SslVersion> {
    Some(match version {
        Protocol::Ssl2 | Protocol::Ssl3 => SslVersion::SSL3,
        Protocol::Tls10 => SslVersion::TLS1,
        Protocol::Tls11 => SslVersion::TLS1_1,
        Protocol::Tls12 => SslVersion::TLS1_2,
        Protocol::Tls13 => SslVersion::TLS1_3,
    })
}

/// OpenSSL reports a received alert as this reason plus the alert's number
/// (`SSL_AD_REASON_OFFSET`).
const ALERT_OFFSET: i32 = 1000;

fn of_error(error: &openssl::ssl::Error) -> Refusal {
    if let Some(io) = error.io_error() {
        return refusal(io);
    }
    match (error.ssl_error(), error.code()) {
        (Some(errors), _) => of_library(errors),
        (None, ErrorCode::WANT_READ | ErrorCode::WANT_WRITE) => Refusal::silence(),
        _ => refusal(&std::io::ErrorKind::UnexpectedEof.into()),
    }
}

fn of_library(errors: &ErrorStack) -> Refusal {
    let alert = |e: &openssl::error::Error| u8::try_from(e.reason_code() - ALERT_OFFSET).ok();
    if let Some(number) = errors.errors().iter().find_map(alert) {
        return Refusal::alert(number);
    }
    let reason = errors.errors().first().and_then(|error| error.reason());
    let words = format!("broke off: {}", sanitize(reason.unwrap_or("no reason given"), 100));
    Refusal { in_tls: true, ..Refusal::not_tls(words) }
}

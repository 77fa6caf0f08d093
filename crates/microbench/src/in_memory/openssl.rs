//! Both sides with the built-in OpenSSL.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use ::openssl::error::ErrorStack;
use ::openssl::pkey::PKey;
use ::openssl::ssl::{
    ErrorCode, ShutdownState, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions,
    SslSession, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use ::openssl::x509::X509;
use ::openssl::x509::store::X509StoreBuilder;

use super::InMemoryError;
use super::buffer::Buffer;
use super::library::{HandshakeError, Library, Seen, Side};
use super::role::Role;
use super::settings::{SERVER_NAME, Settings};
use super::spec::has_group;
use tlslab_remote_keys::SignatureAccounting;
use tlslab_tls::BackendError;
use tlslab_tls::openssl::{NAME, ffi};
use tlslab_tls::self_signed::Issued;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

/// Security level 0 of SSL_CTX_set_security_level(3): everything is allowed, because it is only
/// measured.
const NO_SECURITY_LEVEL: u32 = 0;

/// Room for the plaintext of the largest record, in bytes.
const RECORD: usize = 16 * 1024;

/// Unused tickets, each for one use. OpenSSL requires shareable callbacks; this store is not
/// shared, and its lock is never contended.
type Tickets = Arc<Mutex<Vec<SslSession>>>;

/// The client and the server of one thread.
pub struct OpensslLibrary {
    client: SslContext,
    server: SslContext,
    tickets: Tickets,
    has_group: bool,
}

impl Library for OpensslLibrary {
    const NAME: &'static str = NAME;
    type Client = OpensslSide;
    type Server = OpensslSide;

    fn new(settings: &Settings) -> Result<Self, InMemoryError> {
        let tickets = Tickets::default();
        let refused = |errors: ErrorStack| {
            let message = errors.errors().first().map_or_else(String::new, ToString::to_string);
            BackendError::Refused { backend: NAME, message }
        };
        Ok(Self {
            client: client(settings, &tickets).map_err(refused)?,
            server: server(settings).map_err(refused)?,
            tickets,
            has_group: has_group(settings.suite),
        })
    }

    fn client(&mut self) -> Result<OpensslSide, HandshakeError> {
        let ticket = locked(&self.tickets).pop();
        let opened = Ssl::new(&self.client).and_then(|mut ssl| {
            ssl.set_hostname(SERVER_NAME)?;
            if let Some(ticket) = &ticket {
                ffi::session::resume(&mut ssl, ticket)?;
            }
            ssl.set_connect_state();
            Ok(ssl)
        });
        self.side(opened, Role::Client)
    }

    fn server(&mut self) -> Result<OpensslSide, HandshakeError> {
        let opened = Ssl::new(&self.server).map(|mut ssl| {
            ssl.set_accept_state();
            ssl
        });
        self.side(opened, Role::Server)
    }

    fn tickets(&self) -> usize {
        locked(&self.tickets).len()
    }

    fn signatures(&mut self) -> Option<SignatureAccounting> {
        None
    }
}

impl OpensslLibrary {
    fn side(
        &self,
        opened: Result<Ssl, ErrorStack>,
        role: Role,
    ) -> Result<OpensslSide, HandshakeError> {
        let lent = LentBuffers { incoming: Buffer::empty(), outgoing: Buffer::empty() };
        match opened.and_then(|ssl| SslStream::new(ssl, lent)) {
            Ok(stream) => Ok(OpensslSide { stream, role, done: false, has_group: self.has_group }),
            Err(errors) => Err(trouble(role, &errors)),
        }
    }
}

fn locked(tickets: &Tickets) -> std::sync::MutexGuard<'_, Vec<SslSession>> {
    tickets.lock().expect("no thread panics while it holds this")
}

fn trouble(side: Role, error: &impl ToString) -> HandshakeError {
    HandshakeError { side, message: error.to_string() }
}

fn client(settings: &Settings, tickets: &Tickets) -> Result<SslContext, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls_client())?;
    pin(&mut context, settings, settings.group_of_peer(Role::Client))?;
    let mut schemes = vec![settings.scheme];
    if let Some((identity, scheme)) = &settings.client_identity {
        set_identity(&mut context, identity)?;
        schemes.push(*scheme);
    }
    set_schemes(&mut context, &schemes)?;
    trust(&mut context, &settings.identity, SslVerifyMode::PEER)?;
    context.verify_param_mut().set_host(SERVER_NAME)?;
    if settings.resumes {
        let mode = SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL;
        context.set_session_cache_mode(mode);
        let tickets = Arc::clone(tickets);
        context.set_new_session_callback(move |_, session| locked(&tickets).push(session));
    }
    Ok(context.build())
}

fn server(settings: &Settings) -> Result<SslContext, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls_server())?;
    pin(&mut context, settings, settings.group_of_peer(Role::Server))?;
    set_identity(&mut context, &settings.identity)?;
    if let Some((identity, scheme)) = &settings.client_identity {
        set_schemes(&mut context, &[*scheme, settings.scheme])?;
        let mode = SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT;
        trust(&mut context, identity, mode)?;
    }
    context.set_num_tickets(usize::from(settings.resumes))?;
    context.set_session_id_context(b"tlslab")?;
    ffi::choose_dh_parameters(&mut context);
    Ok(context.build())
}

/// Allows one version, one suite, and one group, or two groups if the certificate requires its own.
fn pin(
    context: &mut SslContextBuilder,
    settings: &Settings,
    second_group: Option<Group>,
) -> Result<(), ErrorStack> {
    let is_13 = settings.is_tls13();
    let version = if is_13 { SslVersion::TLS1_3 } else { SslVersion::TLS1_2 };
    context.set_security_level(NO_SECURITY_LEVEL);
    context.set_min_proto_version(Some(version))?;
    context.set_max_proto_version(Some(version))?;
    match is_13 {
        true => context.set_ciphersuites(settings.suite.openssl_name())?,
        false => context.set_cipher_list(settings.suite.openssl_name())?,
    }
    let mut groups = settings.group.openssl_name().to_owned();
    if let Some(second) = second_group {
        groups = format!("{groups}:{}", second.openssl_name());
    }
    context.set_groups_list(&groups)?;
    context.set_session_cache_mode(SslSessionCacheMode::OFF);
    context.set_options(SslOptions::NO_RENEGOTIATION | SslOptions::NO_COMPRESSION);
    if !settings.resumes {
        context.set_options(SslOptions::NO_TICKET);
    }
    context.set_mode(SslMode::AUTO_RETRY | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
    // One call per record instead of two.
    context.set_read_ahead(true);
    Ok(())
}

fn set_schemes(
    context: &mut SslContextBuilder,
    schemes: &[SignatureScheme],
) -> Result<(), ErrorStack> {
    let names: Vec<String> = schemes.iter().map(ToString::to_string).collect();
    context.set_sigalgs_list(&names.join(":"))
}

fn set_identity(context: &mut SslContextBuilder, identity: &Issued) -> Result<(), ErrorStack> {
    let certificate = X509::from_der(&identity.certificate)?;
    let key = PKey::private_key_from_pkcs8(&identity.key)?;
    context.set_certificate(&certificate)?;
    context.set_private_key(&key)
}

fn trust(
    context: &mut SslContextBuilder,
    identity: &Issued,
    mode: SslVerifyMode,
) -> Result<(), ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    store.add_cert(X509::from_der(&identity.authority)?)?;
    context.set_cert_store(store.build());
    context.set_verify(mode);
    Ok(())
}

/// The stream that OpenSSL reads and writes. It borrows the buffers for each turn.
#[derive(Debug)]
struct LentBuffers {
    incoming: Buffer,
    outgoing: Buffer,
}

impl Read for LentBuffers {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.incoming.read(into)
    }
}

impl Write for LentBuffers {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The session of one side.
pub struct OpensslSide {
    stream: SslStream<LentBuffers>,
    role: Role,
    done: bool,
    has_group: bool,
}

impl OpensslSide {
    /// Lends the buffers to OpenSSL for one call.
    fn with<T>(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
        call: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let swap = |side: &mut Self, incoming: &mut Buffer, outgoing: &mut Buffer| {
            let lent = side.stream.get_mut();
            std::mem::swap(&mut lent.incoming, incoming);
            std::mem::swap(&mut lent.outgoing, outgoing);
        };
        swap(self, incoming, outgoing);
        let result = call(self);
        swap(self, incoming, outgoing);
        result
    }

    fn carry_on(&mut self) -> Result<(), HandshakeError> {
        if !self.done {
            match self.stream.do_handshake() {
                Ok(()) => self.done = true,
                Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(()),
                Err(error) => return Err(trouble(self.role, &error)),
            }
        }
        // Tickets follow the handshake; OpenSSL processes them in a read of plaintext.
        self.read_all(&mut [0; 64], &mut |_| {})
    }

    fn read_all(
        &mut self,
        room: &mut [u8],
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError> {
        loop {
            match self.stream.ssl_read(room) {
                Ok(length) => show(&room[..length]),
                Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(()),
                Err(error) => return Err(trouble(self.role, &error)),
            }
        }
    }
}

impl Side for OpensslSide {
    fn advance(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
    ) -> Result<(), HandshakeError> {
        self.with(incoming, outgoing, Self::carry_on)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn seen(&self) -> Seen {
        let ssl = self.stream.ssl();
        let is_13 = ssl.version2() == Some(SslVersion::TLS1_3);
        let resumed = ssl.session_reused();
        let suite = ssl.current_cipher().map_or(0, |c| u16::from_be_bytes(c.protocol_id()));
        // The group of a resumed TLS 1.2 session is that of the session's full handshake.
        let exchanged = self.has_group && (is_13 || !resumed);
        let group = ffi::group_name(ssl).filter(|_| exchanged);
        Seen {
            version: if is_13 { TlsVersion::Tls13 } else { TlsVersion::Tls12 },
            suite: CipherSuite::from_code_point(suite),
            group: group.and_then(|name| name.parse().ok()).map(Group::code_point),
            peer_scheme: ffi::peer_signature_name(ssl).and_then(|name| name.parse().ok()),
            resumed,
        }
    }

    fn seal(&mut self, plaintext: &[u8], outgoing: &mut Buffer) -> Result<(), HandshakeError> {
        self.with(&mut Buffer::empty(), outgoing, |side| match side.stream.ssl_write(plaintext) {
            Ok(_) => Ok(()),
            Err(error) => Err(trouble(side.role, &error)),
        })
    }

    fn open(
        &mut self,
        incoming: &mut Buffer,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError> {
        let mut room = [0; RECORD];
        self.with(incoming, &mut Buffer::empty(), |side| side.read_all(&mut room, show))
    }
}

impl Drop for OpensslSide {
    fn drop(&mut self) {
        // Without these flags OpenSSL considers the session broken, and with it the ticket.
        self.stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}

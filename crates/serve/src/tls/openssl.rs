//! The OpenSSL back end of the server.

use std::io::{self, ErrorKind, Read, Write};

use openssl::bn::BigNum;
use openssl::dh::Dh;
use openssl::error::ErrorStack;
use openssl::pkey::Id;
use openssl::ssl::{
    AlpnError, ErrorCode, ShutdownState, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode,
    SslOptions, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion, select_next_proto,
};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509VerifyResult};

use super::{Acceptor, HTTP2, Inbound, RECORD, Session, TlsFailure};
use crate::spec::{ClientAuth, Resumption, SESSIONS, ServeError, ServeSpec};
use tlslab_tls::identity::Identity;
use tlslab_tls::openssl::{ffi, legacy};
use tlslab_tls::{BackendError, EarlyData, HandshakeKind};
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};

const NAME: &str = "openssl";

/// The supported protocols in the encoding of ALPN, each after its length, preferred first.
const ALPN_WIRE: &[u8] = b"\x02h2\x08http/1.1";

/// Creates OpenSSL sessions.
#[derive(Clone)]
pub(crate) struct OpensslAcceptor {
    context: SslContext,
    early_data: bool,
}

impl OpensslAcceptor {
    /// Builds the context that all sessions of a server share.
    pub fn new(spec: &ServeSpec) -> Result<Self, ServeError> {
        if spec.allow_obsolete {
            legacy::load_rc4().map_err(refused)?;
        }
        let mut context = SslContext::builder(SslMethod::tls_server()).map_err(refused)?;
        if spec.allow_obsolete {
            context.set_security_level(legacy::NO_SECURITY_LEVEL);
        }
        configure(&mut context, spec).map_err(refused)?;
        set_groups(&mut context, &spec.groups)?;
        set_suites(&mut context, spec)?;
        for (index, identity) in spec.identities.iter().enumerate() {
            let same = |other: &Identity| other.algorithm() == identity.algorithm();
            if spec.identities[..index].iter().any(same) {
                return Err(ServeError::AmbiguousIdentities(identity.algorithm().to_owned()));
            }
            identity.install(&mut context)?;
        }
        set_stapling(&mut context, &spec.identities).map_err(refused)?;
        Ok(Self { context: context.build(), early_data: spec.resumption.early_data > 0 })
    }
}

/// Sets versions, resumption and application protocol.
fn configure(context: &mut SslContextBuilder, spec: &ServeSpec) -> Result<(), ErrorStack> {
    let versions = spec.served_versions();
    context.set_min_proto_version(versions.first().map(|v| protocol(*v)))?;
    context.set_max_proto_version(versions.last().map(|v| protocol(*v)))?;
    context.set_options(SslOptions::NO_RENEGOTIATION);
    // An idle connection frees its two record buffers, 34 KiB in total, as in nginx.
    context.set_mode(SslMode::RELEASE_BUFFERS);
    set_resumption(context, spec.resumption)?;
    context.set_alpn_select_callback(|_, offered| {
        select_next_proto(ALPN_WIRE, offered).ok_or(AlpnError::ALERT_FATAL)
    });
    if let Some(auth) = &spec.client_auth {
        set_client_auth(context, auth)?;
    }
    set_dh(context, spec.dh_bits)
}

/// Without NO_TICKET, a ticket contains the whole session. With NO_TICKET, a TLS 1.3 ticket
/// identifies a session that the server stores. OpenSSL also does the latter, whatever the option,
/// if early data is allowed: it then accepts each ticket once.
fn set_resumption(
    context: &mut SslContextBuilder,
    resumption: Resumption,
) -> Result<(), ErrorStack> {
    let sealed_in_tls13 = resumption.psk && !resumption.keeps_sessions();
    if !resumption.ticket && !sealed_in_tls13 {
        context.set_options(SslOptions::NO_TICKET);
    }
    context.set_num_tickets(resumption.tls13_tickets())?;
    context.set_max_early_data(resumption.early_data)?;
    if resumption.psk {
        ffi::allow_psk_without_key_exchange(context);
    }
    context.set_session_cache_mode(match resumption.keeps_sessions() {
        true => SslSessionCacheMode::SERVER,
        false => SslSessionCacheMode::OFF,
    });
    context.set_session_cache_size(SESSIONS);
    // Without a session ID context OpenSSL does not resume sessions of authenticated clients.
    context.set_session_id_context(b"tlslab")
}

fn protocol(version: TlsVersion) -> SslVersion {
    match version {
        TlsVersion::Ssl3 => SslVersion::SSL3,
        TlsVersion::Tls10 => SslVersion::TLS1,
        TlsVersion::Tls11 => SslVersion::TLS1_1,
        TlsVersion::Tls12 => SslVersion::TLS1_2,
        TlsVersion::Tls13 => SslVersion::TLS1_3,
    }
}

fn set_groups(context: &mut SslContextBuilder, asked: &[Group]) -> Result<(), ServeError> {
    let all: Vec<Group> = Group::all().collect();
    let groups = if asked.is_empty() { &all } else { asked };
    let names: Vec<_> = groups.iter().map(|group| group.openssl_name()).collect();
    context.set_groups_list(&names.join(":")).map_err(refused)?;
    Ok(())
}

fn set_suites(context: &mut SslContextBuilder, spec: &ServeSpec) -> Result<(), ServeError> {
    let obsolete = CipherSuite::obsolete().filter(|_| spec.allow_obsolete);
    let all: Vec<CipherSuite> = CipherSuite::all().chain(obsolete).collect();
    let suites = if spec.suites.is_empty() { &all } else { &spec.suites };
    let names = |version| {
        let of_version = suites.iter().filter(|suite| suite.version() == version);
        of_version.map(|suite| suite.openssl_name()).collect::<Vec<_>>().join(":")
    };
    let (tls12, tls13) = (names(TlsVersion::Tls12), names(TlsVersion::Tls13));
    if !tls12.is_empty() {
        context.set_cipher_list(&tls12).map_err(refused)?;
    }
    context.set_ciphersuites(&tls13).map_err(refused)?;
    Ok(())
}

/// Sets Diffie-Hellman parameters of the requested size or, by default, of the strength of the
/// certificate's key.
fn set_dh(context: &mut SslContextBuilder, bits: Option<u32>) -> Result<(), ErrorStack> {
    let prime = match bits {
        None => {
            ffi::choose_dh_parameters(context);
            return Ok(());
        }
        Some(1024) => BigNum::get_rfc2409_prime_1024(),
        Some(1536) => BigNum::get_rfc3526_prime_1536(),
        Some(2048) => BigNum::get_rfc3526_prime_2048(),
        Some(3072) => BigNum::get_rfc3526_prime_3072(),
        Some(4096) => BigNum::get_rfc3526_prime_4096(),
        Some(6144) => BigNum::get_rfc3526_prime_6144(),
        Some(_) => BigNum::get_rfc3526_prime_8192(),
    };
    context.set_tmp_dh(Dh::from_pqg(prime?, None, BigNum::from_u32(2)?)?.as_ref())
}

/// Staples the OCSP response of the certificate that a client receives, if there is one.
fn set_stapling(
    context: &mut SslContextBuilder,
    identities: &[Identity],
) -> Result<(), ErrorStack> {
    let stapled = identities
        .iter()
        .filter_map(|identity| Some((identity.algorithm(), identity.ocsp_response()?.to_vec())));
    let stapled: Vec<_> = stapled.collect();
    if stapled.is_empty() {
        return Ok(());
    }
    // The library calls this after it has chosen the certificate; it has one for each algorithm.
    context.set_status_callback(move |ssl| {
        let key = ssl.certificate().and_then(|certificate| certificate.public_key().ok());
        let chosen = key.map(|key| algorithm(key.id()));
        let found = stapled.iter().find(|(algorithm, _)| Some(*algorithm) == chosen);
        match found {
            Some((_, response)) => ssl.set_ocsp_status(response).map(|()| true),
            None => Ok(false),
        }
    })
}

/// The algorithm of a key, as [`Identity::algorithm`] names it.
fn algorithm(id: Id) -> &'static str {
    match id {
        Id::RSA => "RSA",
        Id::EC => "ECDSA",
        _ => "Ed25519",
    }
}

/// Requests certificates of clients, and verifies them.
fn set_client_auth(context: &mut SslContextBuilder, auth: &ClientAuth) -> Result<(), ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    for authority in &auth.authorities {
        let authority = X509::from_der(authority)?;
        context.add_client_ca(&authority)?;
        store.add_cert(authority)?;
    }
    context.set_cert_store(store.build());
    let mode = match auth.required {
        true => SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT,
        false => SslVerifyMode::PEER,
    };
    context.set_verify(mode);
    Ok(())
}

fn refused(error: ErrorStack) -> BackendError {
    BackendError::Refused { backend: NAME, message: error.to_string() }
}

impl Acceptor for OpensslAcceptor {
    type Session = OpensslSession;

    fn accept(&self) -> Result<OpensslSession, TlsFailure> {
        let mut ssl = Ssl::new(&self.context).map_err(|_| TlsFailure)?;
        ssl.set_accept_state();
        let stream = SslStream::new(ssl, Pipe::default()).map_err(|_| TlsFailure)?;
        Ok(OpensslSession { stream, handshake: None, early: self.early_data })
    }
}

/// An OpenSSL session over buffers in memory.
pub(crate) struct OpensslSession {
    stream: SslStream<Pipe>,
    handshake: Option<HandshakeKind>,
    /// Whether early data may still arrive.
    early: bool,
}

impl OpensslSession {
    /// Reads early data, if the client sends any. A request in early data is answered after the
    /// handshake, so that it cannot be replayed (RFC 8470, section 3).
    fn take_early_data(&mut self, plaintext: &mut Vec<u8>) -> Result<(), TlsFailure> {
        while self.early {
            let start = plaintext.len();
            plaintext.resize(start + RECORD, 0);
            let read = self.stream.read_early_data(&mut plaintext[start..]);
            plaintext.truncate(start + read.as_ref().map_or(0, |length| *length));
            match read {
                Ok(0) => self.early = false,
                Ok(_) => {}
                Err(e) if e.code() == ErrorCode::WANT_READ => break,
                Err(_) => return Err(TlsFailure),
            }
        }
        Ok(())
    }

    fn carry_on_handshake(&mut self) -> Result<(), TlsFailure> {
        match self.stream.do_handshake() {
            Ok(()) => {
                let resumed = self.stream.ssl().session_reused();
                self.handshake =
                    Some(if resumed { HandshakeKind::Resumed } else { HandshakeKind::Full });
                Ok(())
            }
            Err(e) if e.code() == ErrorCode::WANT_READ => Ok(()),
            Err(_) => Err(TlsFailure),
        }
    }
}

impl Session for OpensslSession {
    fn handshake(&self) -> Option<HandshakeKind> {
        self.handshake
    }

    fn speaks_http2(&self) -> bool {
        self.stream.ssl().selected_alpn_protocol() == Some(HTTP2)
    }

    fn has_client_certificate(&self) -> bool {
        let ssl = self.stream.ssl();
        ssl.peer_certificate().is_some() && ssl.verify_result() == X509VerifyResult::OK
    }

    fn accepted_early_data(&self) -> bool {
        ffi::early_data(self.stream.ssl()) == EarlyData::Accepted
    }

    fn receive(&mut self, received: &[u8], plaintext: &mut Vec<u8>) -> Result<Inbound, TlsFailure> {
        self.stream.get_mut().received.extend_from_slice(received);
        self.take_early_data(plaintext)?;
        if self.handshake.is_none() && !self.early {
            self.carry_on_handshake()?;
        }
        while self.handshake.is_some() {
            plaintext.reserve(RECORD);
            match self.stream.ssl_read_uninit(plaintext.spare_capacity_mut()) {
                // SAFETY: the call has written N bytes after the vector's length.
                Ok(length) => unsafe { plaintext.set_len(plaintext.len() + length) },
                Err(e) if e.code() == ErrorCode::WANT_READ => break,
                Err(e) if e.code() == ErrorCode::ZERO_RETURN => return Ok(Inbound::Ended),
                Err(_) => return Err(TlsFailure),
            }
        }
        Ok(Inbound::Open)
    }

    fn write(&mut self, mut plaintext: &[u8]) -> Result<(), TlsFailure> {
        while !plaintext.is_empty() {
            let taken = self.stream.ssl_write(plaintext).map_err(|_| TlsFailure)?;
            plaintext = &plaintext[taken..];
        }
        Ok(())
    }

    fn close(&mut self) {
        // The first call prepares the alert. The connection detects whether the peer answers it.
        if !self.stream.get_shutdown().contains(ShutdownState::SENT) {
            let _ = self.stream.shutdown();
        }
    }

    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        self.stream.get_mut().send(socket)
    }
}

impl Drop for OpensslSession {
    /// Marks the connection as shut down. Otherwise OpenSSL considers the session broken and no
    /// longer resumes it (SSL_clear(3)), although a client that resets after its last response is
    /// legitimate.
    fn drop(&mut self) {
        self.stream.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }
}

/// OpenSSL's buffers: received bytes that were not read yet, and written bytes that were not sent
/// yet.
#[derive(Debug, Default)]
struct Pipe {
    received: Vec<u8>,
    read: usize,
    written: Vec<u8>,
    sent: usize,
}

impl Pipe {
    fn send(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.sent < self.written.len() {
            match socket.write(&self.written[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.written.clear();
        self.sent = 0;
        Ok(true)
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = &self.received[self.read..];
        if left.is_empty() {
            self.received.clear();
            self.read = 0;
            return Err(ErrorKind::WouldBlock.into());
        }
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.read += length;
        Ok(length)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A TLS server on OpenSSL with the HTTP that tests of clients need.

use std::ffi::{c_int, c_void};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use foreign_types::ForeignTypeRef;
use openssl::bn::BigNum;
use openssl::dh::Dh;
use openssl::ssl::{
    AlpnError, NameType, SniError, Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions,
    SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use socket2::SockRef;

use crate::certificates::Identity;
use crate::h2;

/// The time after which the connection of a silent client is closed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// `SSL_OP_NO_ANTI_REPLAY` of openssl/ssl.h.
const NO_ANTI_REPLAY: SslOptions = SslOptions::from_bits_retain(1 << 24);

/// The settings of a server; empty and `None` mean OpenSSL's default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Certificates with different kinds of key.
    pub identities: Vec<Identity>,
    /// The only protocol version.
    pub version: Option<Version>,
    /// The groups in OpenSSL's notation.
    pub groups: String,
    /// Certificates by the client's SNI name; empty: the same for all.
    pub by_name: Vec<(String, Identity)>,
    /// The key log of the server.
    pub key_log: Option<Arc<Mutex<Vec<String>>>>,
    /// Whether the server's order of groups and suites decides instead of the client's.
    pub prefers_its_own: bool,
    /// Whether a client without a certificate is refused.
    pub demands_certificate: bool,
    /// The certificates sent after the server's own.
    pub chain: Vec<X509>,
    /// The server's own Diffie-Hellman parameters.
    pub dh: Option<DhSize>,
    /// The application protocol to select, if the client offers it; empty: `http/1.1`. Over `h2`,
    /// requests are answered in HTTP/2.
    pub alpn: String,
    /// Bytes of early data that tickets allow. The servers here reject all early data, except
    /// [`answers_early`](crate::peers::answers_early).
    pub early_data: u32,
    /// Whether a full TLS 1.3 handshake provides one ticket, and a resumed one none.
    pub renews_no_ticket: bool,
    /// The length of every response body in bytes.
    pub body_length: usize,
    /// The length of the accept queue; `None`: the default of the standard library.
    pub backlog: Option<i32>,
    /// The number of requests per connection, and the end of the connection after them; `None`:
    /// unlimited.
    pub last: Option<(usize, Farewell)>,
}

/// How a server ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// With a close_notify alert.
    CloseNotify,
    /// Only with the end of the TCP stream.
    Abrupt,
}

/// A protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum Version {
    Tls12,
    Tls13,
}

/// The modulus of Diffie-Hellman parameters: that of a MODP group of RFC 3526, by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum DhSize {
    Bits2048,
    Bits3072,
    /// 2,048 bits that are no prime.
    Composite,
}

/// A running server, which stops when dropped.
pub struct TlsServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TlsServer {
    /// Starts a server on a free port of 127.0.0.1. It serves one connection at a time.
    pub fn start(settings: &Settings) -> Self {
        let context = context(settings).build();
        let (body, last) = (vec![b'x'; settings.body_length], settings.last);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Some(backlog) = settings.backlog {
            // On a listening socket, this changes the length of the queue.
            SockRef::from(&listener).listen(backlog).unwrap();
        }
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                serve(&context, socket, &body, last);
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers requests until the client closes. Errors are left for the client to notice.
fn serve(context: &SslContext, socket: TcpStream, body: &[u8], last: Option<(usize, Farewell)>) {
    if let Some(stream) = accept(context, socket) {
        serve_http(stream, body, last);
    }
}

/// Makes the handshake, if the client allows it. If the context issues no tickets, a full handshake
/// provides one nevertheless.
pub(crate) fn accept(context: &SslContext, socket: TcpStream) -> Option<SslStream<TcpStream>> {
    let stream = accept_as_it_is(context, socket)?;
    let gives_none = stream.ssl().ssl_context().num_tickets() == 0;
    if gives_none && !stream.ssl().session_reused() {
        // SAFETY: the session is valid; the call makes the next write send a ticket first.
        unsafe { SSL_new_session_ticket(stream.ssl().as_ptr().cast()) };
    }
    Some(stream)
}

/// The same with only the tickets that the context issues.
pub(crate) fn accept_as_it_is(
    context: &SslContext,
    socket: TcpStream,
) -> Option<SslStream<TcpStream>> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut stream = SslStream::new(Ssl::new(context).unwrap(), socket).unwrap();
    stream.accept().ok()?;
    Some(stream)
}

unsafe extern "C" {
    fn SSL_new_session_ticket(ssl: *mut c_void) -> c_int;
}

/// Answers requests, in HTTP/2 if it was selected.
pub(crate) fn serve_http(
    mut stream: SslStream<TcpStream>,
    body: &[u8],
    last: Option<(usize, Farewell)>,
) {
    if stream.ssl().selected_alpn_protocol() == Some(b"h2") {
        let _ = h2::serve(&mut stream, body);
        return;
    }
    let mut stream = BufReader::new(stream);
    let requests = last.map_or(usize::MAX, |(requests, _)| requests);
    for _ in 0..requests {
        if answer(&mut stream, body).is_err() {
            return;
        }
    }
    if last.is_some_and(|(_, farewell)| farewell == Farewell::CloseNotify) {
        let _ = stream.get_mut().shutdown();
    }
}

fn answer(stream: &mut BufReader<SslStream<TcpStream>>, body: &[u8]) -> io::Result<()> {
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.get_mut().write_all(&[head.as_bytes(), body].concat())
}

pub(crate) fn context(settings: &Settings) -> SslContextBuilder {
    let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
    context.set_security_level(0);
    context.set_cipher_list("ALL").unwrap();
    context
        .set_ciphersuites(
            "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:\
             TLS_AES_128_CCM_SHA256",
        )
        .unwrap();
    for identity in &settings.identities {
        context.set_certificate(&identity.certificate).unwrap();
        context.set_private_key(&identity.key).unwrap();
    }
    if let Some(version) = settings.version {
        let version = match version {
            Version::Tls12 => SslVersion::TLS1_2,
            Version::Tls13 => SslVersion::TLS1_3,
        };
        context.set_min_proto_version(Some(version)).unwrap();
        context.set_max_proto_version(Some(version)).unwrap();
    }
    if !settings.groups.is_empty() {
        context.set_groups_list(&settings.groups).unwrap();
    }
    if settings.prefers_its_own {
        context.set_options(SslOptions::CIPHER_SERVER_PREFERENCE);
    }
    if settings.demands_certificate {
        context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    if settings.early_data > 0 {
        context.set_max_early_data(settings.early_data).unwrap();
        // Otherwise tickets would identify sessions that the server has to store.
        context.set_options(NO_ANTI_REPLAY);
    }
    if settings.renews_no_ticket {
        // The tickets of full handshakes are sent explicitly.
        context.set_num_tickets(0).unwrap();
    }
    for certificate in &settings.chain {
        context.add_extra_chain_cert(certificate.clone()).unwrap();
    }
    if let Some(size) = settings.dh {
        set_dh(&mut context, size);
    }
    select_protocol(&mut context, &settings.alpn);
    if !settings.by_name.is_empty() {
        serve_by_name(&mut context, settings);
    }
    if let Some(log) = settings.key_log.clone() {
        context.set_keylog_callback(move |_, line| log.lock().unwrap().push(line.to_owned()));
    }
    context
}

/// Selects a protocol if the client offers it; `http/1.1` by default.
fn select_protocol(context: &mut SslContextBuilder, protocol: &str) {
    let protocol = if protocol.is_empty() { "http/1.1" } else { protocol }.to_owned();
    let list = [&[protocol.len() as u8], protocol.as_bytes()].concat();
    context.set_alpn_select_callback(move |_, offered| {
        openssl::ssl::select_next_proto(&list, offered).ok_or(AlpnError::NOACK)?;
        // The selected name must live as long as the client's list.
        let place = offered.windows(protocol.len()).find(|name| *name == protocol.as_bytes());
        place.ok_or(AlpnError::NOACK)
    });
}

/// Serves a separate certificate for each name, and refuses clients that ask for another name.
fn serve_by_name(context: &mut SslContextBuilder, settings: &Settings) {
    let contexts = settings.by_name.iter().map(|(name, identity)| {
        let identities = vec![identity.clone()];
        let one = Settings { identities, by_name: Vec::new(), ..settings.clone() };
        (name.clone(), self::context(&one).build())
    });
    let contexts: Vec<(String, SslContext)> = contexts.collect();
    context.set_servername_callback(move |ssl, _| {
        let asked = ssl.servername(NameType::HOST_NAME).unwrap_or_default().to_owned();
        let found = contexts.iter().find(|(name, _)| *name == asked);
        let (_, context) = found.ok_or(SniError::ALERT_FATAL)?;
        ssl.set_ssl_context(context).map_err(|_| SniError::ALERT_FATAL)
    });
}

fn set_dh(context: &mut SslContextBuilder, size: DhSize) {
    let mut prime = match size {
        DhSize::Bits3072 => BigNum::get_rfc3526_prime_3072(),
        DhSize::Bits2048 | DhSize::Composite => BigNum::get_rfc3526_prime_2048(),
    }
    .unwrap();
    if size == DhSize::Composite {
        prime.sub_word(4).unwrap();
    }
    let generator = BigNum::from_u32(2).unwrap();
    context.set_tmp_dh(&Dh::from_pqg(prime, None, generator).unwrap()).unwrap();
}

//! A blocking TLS and HTTP/1.1 client that reports the negotiated settings.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tlslab_serve::{Identity, ServeSpec, Server, ServerBackend};
use tlslab_tls::openssl::ffi;
use tlslab_tls::self_signed::{SelfSigned, self_signed};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, TlsVersion};

/// A server with certificates of these kinds of key, and the certificates to trust.
pub fn serve(backend: ServerBackend, keys: &[KeyKind]) -> (Server, Vec<X509>) {
    serve_with(backend, keys, |_| {})
}

/// The same, with a changed specification.
pub fn serve_with(
    backend: ServerBackend,
    keys: &[KeyKind],
    change: impl FnOnce(&mut ServeSpec),
) -> (Server, Vec<X509>) {
    let made = keys.iter().map(|key| self_signed(*key).unwrap());
    let (identities, authorities): (Vec<Identity>, Vec<X509>) = made
        .map(|SelfSigned { identity, authority }| {
            (identity, X509::from_pem(authority.as_bytes()).unwrap())
        })
        .unzip();
    let mut spec = ServeSpec::loopback(backend, identities);
    change(&mut spec);
    (Server::start(&spec).unwrap(), authorities)
}

/// A client's configuration that verifies the server and offers OpenSSL's defaults.
pub fn context(trusted: &[X509]) -> SslContextBuilder {
    let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
    context.set_verify(SslVerifyMode::PEER);
    for authority in trusted {
        context.cert_store_mut().add_cert(authority.clone()).unwrap();
    }
    context
}

/// Offers one version only.
pub fn only_version(context: &mut SslContextBuilder, version: TlsVersion) {
    let version = match version {
        TlsVersion::Tls12 => SslVersion::TLS1_2,
        TlsVersion::Tls13 => SslVersion::TLS1_3,
        obsolete => panic!("TLS version {obsolete} has tests of its own"),
    };
    context.set_min_proto_version(Some(version)).unwrap();
    context.set_max_proto_version(Some(version)).unwrap();
}

/// Offers one suite only.
pub fn only_suite(context: &mut SslContextBuilder, suite: CipherSuite) {
    only_version(context, suite.version());
    match suite.version() {
        TlsVersion::Tls13 => context.set_ciphersuites(suite.openssl_name()).unwrap(),
        _ => context.set_cipher_list(suite.openssl_name()).unwrap(),
    }
}

/// A TCP connection with time-outs, so that nothing hangs.
pub fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A connection to the server.
pub struct Client(pub SslStream<TcpStream>);

impl Client {
    /// Connects; the error is OpenSSL's message.
    pub fn try_connect(server: &Server, context: &SslContext) -> Result<Self, String> {
        let mut ssl = Ssl::new(context).unwrap();
        ssl.set_hostname("localhost").unwrap();
        ssl.param_mut().set_host("localhost").unwrap();
        ssl.connect(tcp(server.address())).map(Self).map_err(|e| e.to_string())
    }

    /// Connects.
    pub fn connect(server: &Server, context: SslContextBuilder) -> Self {
        Self::try_connect(server, &context.build()).unwrap()
    }

    /// Connects with a changed session.
    pub fn connect_with(
        server: &Server,
        context: SslContextBuilder,
        change: impl FnOnce(&mut Ssl),
    ) -> Self {
        let mut ssl = Ssl::new(&context.build()).unwrap();
        ssl.set_hostname("localhost").unwrap();
        change(&mut ssl);
        Self(ssl.connect(tcp(server.address())).unwrap())
    }

    /// The name of the group in use; `None` with static RSA.
    pub fn group(&self) -> Option<String> {
        ffi::group_name(self.0.ssl()).map(str::to_owned)
    }

    /// The suite in use.
    pub fn suite(&self) -> CipherSuite {
        let id = self.0.ssl().current_cipher().unwrap().protocol_id();
        CipherSuite::from_code_point(u16::from_be_bytes(id))
    }

    /// The kind of key in the server's certificate.
    pub fn key(&self) -> openssl::pkey::Id {
        self.0.ssl().peer_certificate().unwrap().public_key().unwrap().id()
    }

    /// Sends a GET request and reads its response.
    pub fn get(&mut self, target: &str) -> Response {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        self.response()
    }

    /// Sends bytes.
    pub fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Reads the response to a GET.
    pub fn response(&mut self) -> Response {
        let head = self.head();
        let mut body = vec![0; head.length];
        self.0.read_exact(&mut body).unwrap();
        Response { body, ..head }
    }

    /// Reads the head of a response.
    pub fn head(&mut self) -> Response {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        let mut head = Response { text, status, length: 0, body: Vec::new() };
        head.length = head.field("Content-Length").unwrap().parse().unwrap();
        head
    }

    /// Whether the server has ended the session by close_notify.
    pub fn is_ended(&mut self) -> bool {
        self.0
            .ssl_read(&mut [0; 1])
            .is_err_and(|e| e.code() == openssl::ssl::ErrorCode::ZERO_RETURN)
    }
}

/// A response.
pub struct Response {
    pub text: String,
    pub status: u16,
    pub length: usize,
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Whether the body matches its digest.
    pub fn is_intact(&self) -> bool {
        let digest = openssl::base64::encode_block(&openssl::sha::sha256(&self.body));
        self.field("Repr-Digest") == Some(&format!("sha-256=:{digest}:"))
    }
}

/// A root, a chain of a server's and an intermediate certificate (PEM), and the server's key (PEM).
pub fn chain() -> (X509, String, String) {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    let authority = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params, KeyPair::generate().unwrap())
    };
    let (root, root_key) = authority("root");
    let root_certificate = X509::from_pem(root.self_signed(&root_key).unwrap().pem().as_bytes());
    let root = Issuer::new(root, root_key);
    let (middle, middle_key) = authority("intermediate");
    let middle_certificate = middle.signed_by(&middle_key, &root).unwrap().pem();
    let middle = Issuer::new(middle, middle_key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &middle).unwrap().pem();
    (root_certificate.unwrap(), certificate + &middle_certificate, key.serialize_pem())
}

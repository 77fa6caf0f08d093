//! A direct loop over rustls in memory, for `make bench`: what `tlslab-load in-memory` is
//! compared with.
//!
//! `in_memory_direct COUNT [full|resumed]` makes N TLS 1.3 handshakes with the settings that are
//! the default there (TLS_AES_128_GCM_SHA256, X25519, ECDSA P-256, full verification, single-use
//! tickets) and nothing besides: no check of what was negotiated, no clock, no histogram, no choice
//! of a library. It prints, as JSON, the processor time of one in microseconds.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::json;
use tlslab_system::clock::{Clock as _, ThreadClock};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Handshakes before the measurement begins.
const WARM_UP: u64 = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, resumed) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [count] | [count, "full"] => (count.parse::<u64>(), false),
        [count, "resumed"] => (count.parse::<u64>(), true),
        _ => return usage(),
    };
    let Ok(count @ 1..) = count else { return usage() };
    let (client, server) = configs(resumed);
    let name = ServerName::try_from("localhost").expect("a DNS name");
    let mut buffers = [Buffered::new(), Buffered::new()];
    (0..WARM_UP).for_each(|_| handshake(&client, &server, &name, &mut buffers));
    let begun = ThreadClock.now();
    (0..count).for_each(|_| handshake(&client, &server, &name, &mut buffers));
    let cpu_us = (ThreadClock.now() - begun) as f64 / 1000.0 / count as f64;
    let written = writeln!(io::stdout(), "{}", json!({ "count": count, "cpu_us": cpu_us }));
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    let _ = writeln!(io::stderr(), "usage: in_memory_direct COUNT [full|resumed]");
    ExitCode::from(2)
}

fn configs(resumed: bool) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let issuer_key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    let issuer = rcgen::CertifiedIssuer::self_signed(params, issuer_key).expect("a certificate");
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(issuer.der().to_vec())).expect("a trust anchor");
    let provider = Arc::new(CryptoProvider {
        cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    });
    let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .expect("the suite is one of TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the suite is one of TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).expect("PKCS #8"))
        .expect("a key that belongs to the certificate");
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = usize::from(resumed);
    if resumed {
        client.resumption = Resumption::in_memory_sessions(8);
        server.ticketer = aws_lc_rs::Ticketer::new().expect("a key for tickets");
    } else {
        client.resumption = Resumption::disabled();
    }
    (Arc::new(client), Arc::new(server))
}

/// Bytes from one side to the other.
struct Buffered {
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffered {
    fn new() -> Self {
        Self { bytes: vec![0; 16 * 1024], filled: 0 }
    }
}

fn handshake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    name: &ServerName<'static>,
    [to_server, to_client]: &mut [Buffered; 2],
) {
    let mut client = UnbufferedClientConnection::new(Arc::clone(client), name.clone())
        .expect("the configuration is sound");
    let mut server =
        UnbufferedServerConnection::new(Arc::clone(server)).expect("the configuration is sound");
    loop {
        turn!(client, to_client, to_server);
        if to_server.filled == 0 {
            break;
        }
        turn!(server, to_server, to_client);
        if to_client.filled == 0 {
            break;
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking(), "the handshake is complete");
}

/// One side takes what has come and answers; the two kinds of connection have no trait in common.
macro_rules! turn {
    ($connection:expr, $incoming:expr, $outgoing:expr) => {{
        let (mut used, filled) = (0, $incoming.filled);
        loop {
            let status = $connection.process_tls_records(&mut $incoming.bytes[used..filled]);
            let discard = status.discard;
            let waits = match status.state.expect("both sides are sound") {
                ConnectionState::EncodeTlsData(mut flight) => {
                    match flight.encode(&mut $outgoing.bytes[$outgoing.filled..]) {
                        Ok(length) => $outgoing.filled += length,
                        Err(EncodeError::AlreadyEncoded | EncodeError::InsufficientSize(_)) => {
                            unreachable!("a flight is encoded once, into 16 KiB")
                        }
                    }
                    false
                }
                ConnectionState::TransmitTlsData(flight) => {
                    flight.done();
                    false
                }
                _ => true,
            };
            used += discard;
            if waits {
                break;
            }
        }
        $incoming.filled = 0;
    }};
}
use turn;

//! Tests against a rustls server; `peer` has a server that sends invalid messages.

mod alerts;
mod authentication;
mod differential;
mod edits;
mod faults;
mod key_updates;
mod matrix;
mod peer;
mod resumption;
mod scripted;

use std::io::{Read, Write};

use proptest::prelude::*;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ServerConnection, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use self::peer::Peer;
use super::protection::Protection;
use super::secrets::{SUITES, Secrets};
use super::*;
use crate::rustls::key_exchange::{self, implementation};
use crate::rustls::suites::CIPHER_SUITES;
use crate::rustls::verifier::Verifier;
use crate::{Alpn, KeyExchangeGroup};
use tlslab_contract::spec::{KeyShare, Resume};
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme};
use tlslab_wire::tls::client_hello_reader::split;
use tlslab_wire::tls::messages::{for_each_extension, record_length};

/// Groups with different forms of shares.
const GROUPS: [Group; 3] = [Group::X25519, Group::P256, Group::X25519MlKem768];

fn config(group: Group, suites: &[u16]) -> Arc<ClientConfig> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups = vec![implementation(group, KeyShare::Reused).unwrap()];
    provider.cipher_suites = CIPHER_SUITES.clone();
    provider.cipher_suites.retain(|suite| suites.contains(&suite.suite().into()));
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Verifier::none(algorithms, algorithms.supported_schemes());
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

fn template(group: Group) -> Arc<ClientHelloTemplate> {
    let suites = SUITES.each_ref().map(|suite| suite.code_point);
    trusting(&config(group, &suites))
}

/// A template with the configuration's group and without authentication, as with `--lean`.
fn trusting(config: &Arc<ClientConfig>) -> Arc<ClientHelloTemplate> {
    let group = config.crypto_provider().kx_groups[0];
    Arc::new(ClientHelloTemplate::new(config, &name(), group, None).unwrap())
}

fn server_config(asks: bool) -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    server_config_of(made.cert.der().to_vec(), made.signing_key.serialize_der(), asks)
}

/// A server configuration with this certificate and its key, which requests a client certificate or
/// not.
fn server_config_of(certificate: Vec<u8>, pkcs8: Vec<u8>, asks: bool) -> ServerConfig {
    let chain = vec![CertificateDer::from(certificate)];
    let key = PrivateKeyDer::try_from(pkcs8).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS12, &rustls::version::TLS13])
        .unwrap();
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        roots.add(chain[0].clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

fn server(config: ServerConfig) -> ServerConnection {
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// A client that has sent its ClientHello, and the record of that ClientHello.
fn begun(template: &Arc<ClientHelloTemplate>) -> (MinimalClient, Vec<u8>) {
    let mut client = MinimalClient::new(Arc::clone(template), None).unwrap();
    let mut hello = Vec::new();
    client.begin(&mut hello).unwrap();
    (client, hello)
}

/// Passes all complete records to the client and removes them. Returns the result and the
/// plaintext.
fn feed(
    client: &mut MinimalClient,
    bytes: &mut Vec<u8>,
    outgoing: &mut Vec<u8>,
) -> Result<Vec<u8>, Failure> {
    let (mut plaintext, mut room) = (Vec::new(), [0; 4096]);
    while let Some(length) = client.record_length(bytes, outgoing)? {
        if bytes.len() < length {
            break;
        }
        let mut record: Vec<u8> = bytes.drain(..length).collect();
        match client.record_into(&mut record, &mut room, outgoing)? {
            Event::Nothing => {}
            Event::Read(length) => plaintext.extend_from_slice(&room[..length]),
            Event::Plaintext(read) => plaintext.extend_from_slice(read),
            Event::Closed => return Err(Failure::Closed(tlslab_wire::outcome::Step::Body)),
        }
    }
    Ok(plaintext)
}

/// Transfers bytes in both directions until neither side has any. Returns the client's plaintext,
/// and the server.
fn exchange(
    client: &mut MinimalClient,
    server: &mut ServerConnection,
    outgoing: &mut Vec<u8>,
) -> (Vec<u8>, Vec<u8>) {
    let (mut plaintext, mut received, mut incoming) = (Vec::new(), Vec::new(), Vec::new());
    while !outgoing.is_empty() || server.wants_write() {
        let mut sent = &outgoing[..];
        while !sent.is_empty() {
            server.read_tls(&mut sent).unwrap();
            let state = server.process_new_packets().unwrap();
            let before = received.len();
            received.resize(before + state.plaintext_bytes_to_read(), 0);
            server.reader().read_exact(&mut received[before..]).unwrap();
        }
        outgoing.clear();
        while server.wants_write() {
            server.write_tls(&mut incoming).unwrap();
        }
        plaintext.extend(feed(client, &mut incoming, outgoing).unwrap());
    }
    assert!(incoming.is_empty());
    (plaintext, received)
}

/// A connection with a completed handshake.
fn connected(
    template: &Arc<ClientHelloTemplate>,
    config: ServerConfig,
) -> (MinimalClient, ServerConnection) {
    let (mut client, mut outgoing) = begun(template);
    let mut server = server(config);
    exchange(&mut client, &mut server, &mut outgoing);
    assert!(client.is_ready() && !server.is_handshaking(), "{:?}", client.reason());
    (client, server)
}

/// Sends plaintext in both directions.
fn converse(client: &mut MinimalClient, server: &mut ServerConnection) {
    let mut outgoing = Vec::new();
    let request: Vec<u8> = (0..40_000_u32).map(|number| number as u8).collect();
    client.write(&request, &mut outgoing).unwrap();
    assert_eq!(exchange(client, server, &mut outgoing), (Vec::new(), request.clone()));
    server.writer().write_all(&request).unwrap();
    assert_eq!(exchange(client, server, &mut outgoing), (request, Vec::new()));
}

#[test]
fn a_handshake_and_what_follows_with_every_suite_and_several_groups() {
    for group in GROUPS {
        for suite in &SUITES {
            let template = trusting(&config(group, &[suite.code_point]));
            let (mut client, mut server) = connected(&template, server_config(false));
            let facts = client.facts();
            assert_eq!(facts.suite, CipherSuite::from_code_point(suite.code_point));
            assert_eq!(facts.group, Some(KeyExchangeGroup::Named(group.code_point())));
            assert_eq!(facts.signature_scheme, Some(SignatureScheme::from_code_point(0x0403)));
            assert_eq!(facts.alpn, Some(Alpn::of(b"http/1.1")));
            assert!(!facts.authenticated && !facts.client_authenticated && facts.minimal_client);
            converse(&mut client, &mut server);
            server.send_close_notify();
            let mut end = Vec::new();
            server.write_tls(&mut end).unwrap();
            assert_eq!(client.record(&mut end, &mut Vec::new()), Ok(Event::Closed));
        }
    }
}

#[test]
fn messages_may_lie_across_records() {
    let mut config = server_config(false);
    config.max_fragment_size = Some(64);
    let (mut client, mut server) = connected(&template(Group::X25519), config);
    // No memory is kept for partial messages.
    assert_eq!(client.message.capacity(), 0);
    converse(&mut client, &mut server);
}

#[test]
fn a_key_that_is_worn_is_renewed() {
    let (mut client, mut server) = connected(&template(Group::X25519), server_config(false));
    let mut outgoing = Vec::new();
    client.renew(&mut outgoing).unwrap();
    exchange(&mut client, &mut server, &mut outgoing);
    converse(&mut client, &mut server);
    client.keys.sending.as_mut().unwrap().wear();
    client.write(b"x", &mut outgoing).unwrap();
    // A KeyUpdate of 5 bytes and one byte of plaintext, each in a record that adds 22 bytes.
    assert_eq!(outgoing.len(), 27 + 23);
    assert!(!client.keys.sending.as_ref().unwrap().is_worn());
}

#[test]
fn a_client_that_closes_sends_close_notify() {
    let (mut client, mut server) = connected(&template(Group::X25519), server_config(false));
    let mut outgoing = Vec::new();
    client.close(&mut outgoing).unwrap();
    server.read_tls(&mut &outgoing[..]).unwrap();
    assert!(server.process_new_packets().unwrap().peer_has_closed());
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_none() {
    let (mut client, mut server) = connected(&template(Group::X25519), server_config(true));
    assert!(server.peer_certificates().is_none_or(<[_]>::is_empty));
    converse(&mut client, &mut server);
}

#[test]
fn keys_are_updated_as_often_as_the_server_likes() {
    let (mut client, mut server) = connected(&template(Group::X25519), server_config(false));
    for _ in 0..3 {
        server.refresh_traffic_keys().unwrap();
        converse(&mut client, &mut server);
    }
}

#[test]
fn its_client_hello_is_that_of_rustls_but_for_what_is_drawn_anew() {
    let suites = SUITES.each_ref().map(|suite| suite.code_point);
    let config = config(Group::X25519, &suites);
    let template = trusting(&config);
    let (_, first) = begun(&template);
    let (_, second) = begun(&template);
    let same = |range: std::ops::Range<usize>| first[range.clone()] == second[range];
    assert!(same(0..11) && !same(11..43) && same(43..44) && !same(44..76) && same(76..first.len()));
    let mut library = UnbufferedClientConnection::new(config, name()).unwrap();
    let mut theirs = Vec::new();
    if let Ok(rustls::unbuffered::ConnectionState::EncodeTlsData(mut flight)) =
        library.process_tls_records(&mut []).state
    {
        crate::rustls::flight::encode_flight(&mut theirs, &mut flight);
    }
    // rustls shuffles its extensions.
    let sorted = |hello: &[u8]| {
        let (_, rest) = split(&hello[76..], 2).unwrap();
        let mut all = Vec::new();
        for_each_extension(&rest[2..], |number, content| {
            all.push((number, content.to_vec()));
            Ok(())
        })
        .unwrap();
        all.sort();
        all
    };
    assert_eq!(first.len(), theirs.len());
    assert_eq!(first[..11], theirs[..11]);
    assert_eq!(sorted(&first), sorted(&theirs));
}

#[test]
fn a_fresh_share_is_another_one_for_each_connection() {
    for group in GROUPS {
        let config = config(group, &[0x1301]);
        let fresh = key_exchange::own(group, KeyShare::Fresh).unwrap();
        let template = Arc::new(ClientHelloTemplate::new(&config, &name(), fresh, None).unwrap());
        let [first, second] = [(); 2].map(|()| {
            let (client, hello) = begun(&template);
            let share = client.handshake.share().unwrap().to_vec();
            let times = hello.windows(share.len()).filter(|window| *window == share).count();
            assert_eq!(times, 1, "{group}");
            share
        });
        assert_ne!(first, second);
        let (mut client, mut server) = connected(&template, server_config(false));
        converse(&mut client, &mut server);
        // A template belongs to a single group.
        let other = key_exchange::own(Group::P521, KeyShare::Fresh).unwrap();
        assert!(ClientHelloTemplate::new(&config, &name(), other, None).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_flight_that_was_tampered_with_completes_nothing(place in 0_usize..900, bit in 0_u8..8) {
        let (mut client, outgoing) = begun(&template(Group::X25519));
        let mut server = server(server_config(false));
        server.read_tls(&mut &outgoing[..]).unwrap();
        server.process_new_packets().unwrap();
        let mut flight = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut flight).unwrap();
        }
        let finished = flight.len();
        let place = place % finished;
        let hello = record_length(&flight).unwrap().unwrap_or(0);
        flight[place] ^= 1 << bit;
        // The minor version of an unencrypted record has no meaning (RFC 8446, section 5.1): in the
        // ServerHello's record and in the middlebox record after it.
        let is_free = [2, hello + 2].contains(&place);
        let said = feed(&mut client, &mut flight, &mut Vec::new());
        prop_assert!(is_free || said.is_err() || !client.is_ready());
        prop_assert!(!is_free || client.is_ready());
    }

    #[test]
    fn no_bytes_make_it_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..600),
        said in 0_usize..5,
    ) {
        let mut peer = Peer::new();
        peer.say_first(said);
        let mut record = peer.seal(HANDSHAKE, &bytes);
        let _ = peer.client.record(&mut record, &mut Vec::new());
        let (mut client, _) = begun(&template(Group::X25519));
        let _ = feed(&mut client, &mut bytes, &mut Vec::new());
    }
}

#[test]
fn what_is_no_record_is_named_by_its_header() {
    for (start, length) in [
        (&[22, 3, 3, 0][..], Ok(None)),
        (&[22, 3, 1, 0, 2, 9], Ok(Some(7))),
        (&[23, 3, 3, 0x41, 0], Ok(Some(5 + 0x4100))),
        (&[23, 3, 3, 0x41, 1], Err(Failure::TlsProtocol)),
        (b"SSH-2", Err(Failure::TlsProtocol)),
        (b"HTTP/", Err(Failure::TlsProtocol)),
        (&[24, 3, 3, 0, 2], Err(Failure::TlsProtocol)),
        (&[22, 2, 0, 0, 2], Err(Failure::TlsProtocol)),
    ] {
        assert_eq!(record_length(start).map_err(Failure::from), length, "{start:?}");
    }
}

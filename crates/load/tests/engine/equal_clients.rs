//! Two back ends agree. Against the same server, in every cell that both support, with all settings
//! fixed, they negotiate the same facts and receive the same bytes. The differences of their
//! ClientHellos are known to the byte. The minimal client agrees with both, in full and lean form,
//! and sends the same bytes as rustls.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::TcpListener;

use crate::harness::{BACKENDS, measured, spec};
use openssl::x509::X509;
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::{
    Authenticate, BackendChoice, ClientChoice, KeyShare, Resume, RunSpec, Stop, TlsSpec,
};
use tlslab_load::check::check;
use tlslab_serve::{ClientAuth, Resumption, ServeSpec, Server, ServerBackend};
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{Group, TlsVersion};

/// The number of connections of each run.
const COUNT: u64 = 8;

/// Each of the two numbers of an ECDSA signature takes a byte more or less, depending on its first
/// bit (DER). Handshakes with such a signature differ by N bytes at most, with any client.
const DER: u64 = 4;

/// The number of bytes by which rustls' ClientHello is longer than OpenSSL's. In TLS 1.2: 2 bytes
/// of a suite and 7 of an extension that only rustls sends, minus 5 of an extension that only
/// OpenSSL sends. With a hybrid group: the 6 bytes of ec_point_formats, which OpenSSL sends with
/// plain elliptic curves only.
fn longer_by(cell: &TlsSpec) -> u64 {
    match cell.versions[0] {
        TlsVersion::Tls12 => 4,
        TlsVersion::Tls13 if cell.groups[0].needs_tls13() => 6,
        TlsVersion::Tls13 => 0,
        old => panic!("rustls has no TLS {old}"),
    }
}

/// All settings fixed: one version, suite, group and signature scheme.
fn pinned(version: TlsVersion, suite: &str, group: Group, scheme: &str) -> TlsSpec {
    TlsSpec {
        versions: vec![version],
        suites: vec![suite.parse().unwrap()],
        groups: vec![group],
        signature_schemes: vec![scheme.parse().unwrap()],
        ..TlsSpec::default()
    }
}

/// The cells that both back ends support with a certificate of this kind.
fn cells(kind: KeyKind) -> Vec<TlsSpec> {
    let (scheme, tls12): (&str, [&str; 3]) = match kind {
        KeyKind::EcdsaP256 => (
            "ecdsa_secp256r1_sha256",
            [
                "ECDHE-ECDSA-AES128-GCM-SHA256",
                "ECDHE-ECDSA-AES256-GCM-SHA384",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ],
        ),
        _ => (
            "rsa_pss_rsae_sha256",
            [
                "ECDHE-RSA-AES128-GCM-SHA256",
                "ECDHE-RSA-AES256-GCM-SHA384",
                "ECDHE-RSA-CHACHA20-POLY1305",
            ],
        ),
    };
    let tls13 =
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
    let mut cells = Vec::new();
    let groups = [
        Group::X25519,
        Group::P256,
        Group::P384,
        Group::P521,
        Group::X448,
        Group::X25519MlKem768,
        Group::SecP256r1MlKem768,
    ];
    for group in groups {
        cells.push(pinned(TlsVersion::Tls13, tls13[0], group, scheme));
        if !group.needs_tls13() {
            cells.push(pinned(TlsVersion::Tls12, tls12[0], group, scheme));
        }
    }
    for suite in &tls13[1..] {
        cells.push(pinned(TlsVersion::Tls13, suite, Group::X25519, scheme));
    }
    for suite in &tls12[1..] {
        cells.push(pinned(TlsVersion::Tls12, suite, Group::X25519, scheme));
    }
    cells
}

/// The run of a cell by one back end against the server.
fn run(server: &Server, trust: &TrustAnchors, cell: &TlsSpec, backend: BackendChoice) -> RunRecord {
    let stop = Stop::Count(COUNT);
    let tls = TlsSpec { backend, ..cell.clone() };
    let record = measured(RunSpec { stop, tls, ..spec(server.address(), backend) }, trust.clone());
    assert_eq!(record.outcomes.completed, COUNT, "{cell:?}, {backend:?}");
    record
}

/// The same with the library for every connection.
fn by_library(cell: &TlsSpec) -> TlsSpec {
    TlsSpec { client: ClientChoice::Library, ..cell.clone() }
}

/// The same with the settings of `--lean`.
fn lean(cell: &TlsSpec) -> TlsSpec {
    let (authenticate, key_share) = (Authenticate::Sampled, KeyShare::Reused);
    TlsSpec { authenticate, key_share, ..cell.clone() }
}

#[test]
fn the_same_is_negotiated_and_the_same_bytes_are_received() {
    for (kind, signatures) in [(KeyKind::EcdsaP256, 1), (KeyKind::Rsa2048, 0)] {
        let made = self_signed(kind).unwrap();
        let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
        let trust = TrustAnchors::Certificates(vec![authority]);
        let serve = ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity]);
        let server = Server::start(&serve).unwrap();
        for cell in cells(kind) {
            let library = by_library(&cell);
            let [fast, complete] = BACKENDS.map(|backend| run(&server, &trust, &library, backend));
            assert_eq!((fast.minimal_client, complete.minimal_client), (0, 0));
            assert_eq!(fast.facts, complete.facts, "{cell:?}");
            let received = |record: &RunRecord| record.bytes.handshake_received;
            let apart = received(&fast).abs_diff(received(&complete));
            assert!(apart <= signatures * DER * COUNT, "{apart} bytes, {cell:?}");
            let sent = |record: &RunRecord| record.bytes.handshake_sent;
            assert_eq!(sent(&fast), sent(&complete) + longer_by(&cell) * COUNT, "{cell:?}");
            let after = |record: &RunRecord| {
                let bytes = &record.bytes;
                let sent = bytes.sent - bytes.handshake_sent;
                (sent, bytes.received - bytes.handshake_received, bytes.head, bytes.body)
            };
            assert_eq!(after(&fast), after(&complete), "{cell:?}");
            if cell.versions == [TlsVersion::Tls13] {
                for (minimal, authenticated) in [(cell.clone(), COUNT), (lean(&cell), 1)] {
                    let minimal = run(&server, &trust, &minimal, BackendChoice::Rustls);
                    // The library makes the first connection.
                    assert_eq!(minimal.minimal_client, COUNT - 1);
                    assert_eq!(minimal.authenticated, authenticated);
                    assert_eq!(minimal.facts, fast.facts, "{cell:?}");
                    let apart = received(&fast).abs_diff(received(&minimal));
                    assert!(apart <= signatures * DER * COUNT, "{apart} bytes, {cell:?}");
                    assert_eq!(sent(&minimal), sent(&fast), "{cell:?}");
                    assert_eq!(after(&minimal), after(&fast), "{cell:?}");
                }
            }
        }
    }
}

#[test]
fn a_resumption_is_the_same_to_the_byte() {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    let trust = TrustAnchors::Certificates(vec![authority]);
    for backend in [ServerBackend::Openssl, ServerBackend::Rustls] {
        let resumption = Resumption { psk: true, tickets: 1, ..Resumption::default() };
        let serve = ServeSpec::loopback(backend, vec![made.identity.clone()]);
        let server = Server::start(&ServeSpec { resumption, ..serve }).unwrap();
        for suite in ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"] {
            for group in [Group::X25519, Group::P256, Group::X25519MlKem768] {
                let cell = pinned(TlsVersion::Tls13, suite, group, "ecdsa_secp256r1_sha256");
                let cell = TlsSpec { resume: Resume::Psk, ..cell };
                let library = run(&server, &trust, &by_library(&cell), BackendChoice::Rustls);
                for minimal in [cell.clone(), lean(&cell)] {
                    let minimal = run(&server, &trust, &minimal, BackendChoice::Rustls);
                    // The library makes the first connection.
                    let by_minimal = (library.minimal_client, minimal.minimal_client);
                    assert_eq!(by_minimal, (0, COUNT - 1));
                    assert_eq!(minimal.facts, library.facts, "{cell:?}");
                    assert_eq!(minimal.facts[0].facts.resumed_by, "psk");
                    let bytes = |record: &RunRecord| {
                        let bytes = &record.bytes;
                        (bytes.handshake_sent, bytes.handshake_received, bytes.sent, bytes.received)
                    };
                    assert_eq!(bytes(&minimal), bytes(&library), "{cell:?}");
                }
            }
        }
    }
}

#[test]
fn without_options_the_minimal_client_sends_and_negotiates_what_the_library_does() {
    let made = self_signed(KeyKind::Rsa2048).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    let trust = TrustAnchors::Certificates(vec![authority]);
    // Both offered key shares, a server that wants a second ClientHello, and one of TLS 1.2.
    for (groups, versions, is_new) in [
        (vec![Group::X25519MlKem768], vec![], true),
        (vec![Group::X25519], vec![], true),
        (vec![Group::P384], vec![], true),
        (vec![Group::X25519], vec![TlsVersion::Tls12], false),
    ] {
        let serve = ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity.clone()]);
        let server = Server::start(&ServeSpec { groups, versions, ..serve }).unwrap();
        let cell = TlsSpec::default();
        let library = run(&server, &trust, &by_library(&cell), BackendChoice::Rustls);
        for minimal in [cell.clone(), lean(&cell)] {
            let minimal = run(&server, &trust, &minimal, BackendChoice::Rustls);
            let expected = if is_new { COUNT - 1 } else { 0 };
            assert_eq!((minimal.minimal_client, &minimal.client_fallback), (expected, &None));
            assert_eq!(minimal.facts, library.facts);
            let bytes = |record: &RunRecord| {
                let bytes = &record.bytes;
                (bytes.handshake_sent, bytes.handshake_received, bytes.sent, bytes.received)
            };
            assert_eq!(bytes(&minimal), bytes(&library));
        }
    }
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_the_same_answer() {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let authority = X509::from_pem(made.authority.as_bytes()).unwrap().to_der().unwrap();
    let trust = TrustAnchors::Certificates(vec![authority]);
    let client_auth = ClientAuth::from_pem(&made.authority, false);
    let serve = ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity]);
    let server = Server::start(&ServeSpec { client_auth, ..serve }).unwrap();
    let (scheme, suite) = ("ecdsa_secp256r1_sha256", "TLS_AES_128_GCM_SHA256");
    let cell = pinned(TlsVersion::Tls13, suite, Group::X25519, scheme);
    let library = run(&server, &trust, &by_library(&cell), BackendChoice::Rustls);
    for minimal in [cell.clone(), lean(&cell)] {
        let minimal = run(&server, &trust, &minimal, BackendChoice::Rustls);
        assert_eq!((library.minimal_client, minimal.minimal_client), (0, COUNT - 1));
        assert_eq!(minimal.facts, library.facts);
        let sent = |record: &RunRecord| (record.bytes.handshake_sent, record.bytes.sent);
        assert_eq!(sent(&minimal), sent(&library));
    }
}

/// A ClientHello (RFC 8446, section 4.1.2): the length of its session ID, its suites, its
/// compression methods, and its extensions by number.
#[derive(Debug, PartialEq, Eq)]
struct Hello {
    session_id: usize,
    suites: Vec<u16>,
    compression: Vec<u8>,
    extensions: BTreeMap<u16, Vec<u8>>,
}

/// Takes a field off the front that starts with its length in N bytes.
fn take<'b>(bytes: &mut &'b [u8], width: usize) -> &'b [u8] {
    let (length, rest) = bytes.split_at(width);
    let length = length.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
    let (taken, rest) = rest.split_at(length);
    *bytes = rest;
    taken
}

fn number(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

/// The first flight of a back end.
fn hello(cell: &TlsSpec, backend: BackendChoice) -> Hello {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // With TLS 1.2, if no group is forced, the first connection finds the certificate's curve.
    let before = usize::from(cell.versions.contains(&TlsVersion::Tls12));
    let server = std::thread::spawn(move || {
        let mut connections = listener.incoming().skip(before);
        let mut socket = connections.next().unwrap().unwrap();
        let mut header = [0; 5];
        socket.read_exact(&mut header).unwrap();
        let mut record = vec![0; usize::from(number(&header[3..]))];
        socket.read_exact(&mut record).unwrap();
        record
    });
    let tls = TlsSpec { backend, server_name: Some("localhost".to_owned()), ..cell.clone() };
    let spec = RunSpec { tls, ..spec(address, backend) }.checked().unwrap();
    check(&spec, TrustAnchors::Anyone).unwrap_err();
    parse(&server.join().unwrap())
}

fn parse(record: &[u8]) -> Hello {
    let mut message = &record[1..];
    let mut body = &take(&mut message, 3)[2 + 32..];
    let session_id = take(&mut body, 1).len();
    let suites = take(&mut body, 2).chunks(2).map(number).collect();
    let compression = take(&mut body, 1).to_vec();
    let mut list = take(&mut body, 2);
    let mut extensions = BTreeMap::new();
    while !list.is_empty() {
        let kind = number(list);
        list = &list[2..];
        extensions.insert(kind, take(&mut list, 2).to_vec());
    }
    Hello { session_id, suites, compression, extensions }
}

/// The cell's ClientHellos by both back ends.
fn hellos(version: TlsVersion, suite: &str) -> [Hello; 2] {
    let cell = pinned(version, suite, Group::X25519, "ecdsa_secp256r1_sha256");
    BACKENDS.map(|backend| hello(&cell, backend))
}

/// The extensions that have the same content in both ClientHellos, apart from the key share's
/// random key.
fn same(fast: &Hello, complete: &Hello) {
    for (kind, content) in &fast.extensions {
        let Some(other) = complete.extensions.get(kind) else { continue };
        assert_eq!(content.len(), other.len(), "extension {kind}");
        assert!(*kind == KEY_SHARE || content == other, "extension {kind}");
    }
}

const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const RENEGOTIATION_INFO: u16 = 0xff01;
const RENEGOTIATION_SUITE: u16 = 0x00ff;

#[test]
fn client_hellos_of_tls_1_3_differ_in_their_random_bytes_and_their_order_only() {
    let [fast, complete] = hellos(TlsVersion::Tls13, "TLS_AES_128_GCM_SHA256");
    assert!(fast.extensions.keys().eq(complete.extensions.keys()), "{fast:?} {complete:?}");
    same(&fast, &complete);
    assert_eq!((fast.session_id, complete.session_id), (32, 32));
    assert_eq!((&fast.suites, &fast.compression), (&complete.suites, &complete.compression));
}

/// The necessary differences: rustls signals secure renegotiation by a suite, OpenSSL by an
/// extension (RFC 5746, section 3.4); and rustls lists its versions even if there is only one.
/// rustls' ClientHello is therefore 4 bytes longer.
#[test]
fn client_hellos_of_tls_1_2_differ_by_renegotiation_and_versions() {
    let [mut fast, mut complete] = hellos(TlsVersion::Tls12, "ECDHE-ECDSA-AES128-GCM-SHA256");
    assert_eq!(fast.suites.pop(), Some(RENEGOTIATION_SUITE));
    assert_eq!(fast.extensions.remove(&SUPPORTED_VERSIONS), Some(vec![2, 3, 3]));
    assert_eq!(complete.extensions.remove(&RENEGOTIATION_INFO), Some(vec![0]));
    assert!(fast.extensions.keys().eq(complete.extensions.keys()), "{fast:?} {complete:?}");
    same(&fast, &complete);
    assert_eq!((fast.session_id, complete.session_id), (0, 0));
    assert_eq!((fast.suites, fast.compression), (complete.suites, complete.compression));
}

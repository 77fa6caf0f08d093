//! Facts about the server that a run learns before its load: the key share that the server accepts,
//! whether the server accepts the minimal client, and whether it accepts rustls at all.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::x509::X509;

use crate::harness::{BACKENDS, lean, measured, spec, trust, try_run, with_minimal_client};
use tlslab_contract::spec::{BackendChoice, KeyShare, RunSpec, Stop};
use tlslab_load::check::check;
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::lockstep::LockstepServer;
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, bare, except};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_tls::TrustAnchors;
use tlslab_wire::names::Group;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that has these groups only.
fn settings(authority: &Authority, groups: &str) -> Settings {
    Settings {
        identities: vec![authority.issue(Key::P256)],
        version: Some(Version::Tls13),
        groups: groups.to_owned(),
        ..Settings::default()
    }
}

fn asks_for_nothing(spec: RunSpec) -> RunSpec {
    spec
}

fn reuses_its_share(mut spec: RunSpec) -> RunSpec {
    spec.tls.key_share = KeyShare::Reused;
    spec
}

/// `--lean` without a version and a group.
fn lean_by_default(spec: RunSpec) -> RunSpec {
    let (versions, groups) = (spec.tls.versions.clone(), spec.tls.groups.clone());
    let mut spec = lean(spec);
    (spec.tls.versions, spec.tls.groups) = (versions, groups);
    spec
}

#[test]
fn without_a_group_each_connection_sends_the_share_that_the_server_takes() {
    let authority = Authority::new("tlslab test");
    for groups in ["X25519", "P-256", "P-384"] {
        let peer = Peer::honest(&settings(&authority, groups));
        for backend in BACKENDS {
            // OpenSSL generates a share for each connection.
            let reused = [reuses_its_share, lean_by_default].into_iter();
            let reused = reused.take(if backend == BackendChoice::Rustls { 2 } else { 0 });
            for change in reused.chain([asks_for_nothing as fn(RunSpec) -> RunSpec]) {
                let record = measured(change(spec(peer.address(), backend)), trust(&authority));
                let seen = (record.outcomes.completed, record.facts.len());
                assert_eq!(seen, (4, 1), "{groups} {backend:?}: {:?}", record.outcomes);
                let facts = &record.facts[0].facts;
                assert!(!facts.hello_retry_request);
                let group: Group = facts.group.parse().unwrap();
                assert_eq!(group.openssl_name(), groups);
                let notes = record.notes.iter().filter(|note| note.contains("key share of"));
                // X25519 is among the default shares of both libraries.
                assert!(notes.count() <= 1 && (groups == "X25519" || !record.notes.is_empty()));
            }
        }
    }
}

/// Serves connections one after the other, but rejects those with these numbers, until a connection
/// sends nothing.
fn refusing(listener: &TcpListener, server: &LockstepServer, refused: &[usize]) -> usize {
    let mut served = 0;
    loop {
        let (mut socket, _) = listener.accept().unwrap();
        let mut session = server.session(RESPONSE);
        let mut buffer = [0; 16 * 1024];
        let mut came = 0;
        while let Ok(length @ 1..) = socket.read(&mut buffer) {
            came += length;
            if refused.contains(&served)
                || socket.write_all(&session.take(&buffer[..length])).is_err()
            {
                break;
            }
        }
        if came == 0 {
            return served;
        }
        served += 1;
    }
}

fn refusing_server(
    authority: &Authority,
    refused: &'static [usize],
) -> (SocketAddr, JoinHandle<usize>) {
    let server = LockstepServer::new(&settings(authority, "X25519"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, std::thread::spawn(move || refusing(&listener, &server, refused)))
}

#[test]
fn where_the_minimal_client_is_refused_the_library_makes_all_connections_and_a_note_says_so() {
    let authority = Authority::new("tlslab test");
    // The library's connection and the minimal client's; after a failure one more of each.
    let cases: [(&[usize], usize, u64); 3] = [(&[1, 3], 4, 0), (&[1], 4, 3), (&[], 2, 3)];
    for (refused, preflight, minimal) in cases {
        for change in [with_minimal_client, lean] {
            let (address, server) = refusing_server(&authority, refused);
            let spec = change(spec(address, BackendChoice::Rustls));
            let record = measured(RunSpec { stop: Stop::Count(4), ..spec }, trust(&authority));
            assert_eq!(record.outcomes.completed, 4, "{:?}", record.outcomes);
            assert_eq!(record.minimal_client, minimal);
            let reported =
                record.notes.iter().any(|note| note.contains("minimal client could not"));
            assert_eq!(reported, minimal == 0, "{:?}", record.notes);
            drop(TcpStream::connect(address));
            assert_eq!(server.join().unwrap(), preflight + 4);
        }
    }
}

#[test]
fn where_the_library_fails_as_well_the_minimal_client_goes_on() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority, "X25519");
    // The server ends each connection except the first: the minimal client is not the reason.
    let peer = Peer::start(&settings, 1, bare(vec![Act::Reset]));
    let spec = with_minimal_client(spec(peer.address(), BackendChoice::Rustls));
    let record = measured(spec, trust(&authority));
    assert_eq!((record.outcomes.completed, record.notes.len()), (0, 0), "{:?}", record.notes);
}

/// A certificate of its own with an Ed448 key, which rustls does not have.
fn ed448() -> Identity {
    let key = PKey::generate_ed448().unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    builder.sign(&key, MessageDigest::null()).unwrap();
    Identity { certificate: builder.build(), key }
}

#[test]
fn a_kind_of_key_that_rustls_lacks_makes_openssl_the_choice() {
    let settings = Settings { identities: vec![ed448()], ..Settings::default() };
    let peer = Peer::honest(&settings);
    let record = measured(spec(peer.address(), BackendChoice::Auto), TrustAnchors::Anyone);
    assert_eq!((record.backend.as_str(), record.outcomes.completed), ("openssl", 4));
    assert_eq!(record.facts[0].facts.signature_scheme, "ed448");
    assert!(record.notes.iter().any(|note| note.contains("OpenSSL made all")), "{record:?}");
    let error =
        try_run(spec(peer.address(), BackendChoice::Rustls), TrustAnchors::Anyone).unwrap_err();
    assert_eq!(error.class(), "alert_handshake_failure");
    // The answer to rustls is the one that is reported.
    let own = Settings { groups: "P-521".to_owned(), ..settings };
    let peer = Peer::honest(&own);
    let mut refused = spec(peer.address(), BackendChoice::Auto);
    refused.tls.groups = vec![Group::X25519];
    let error = try_run(refused, TrustAnchors::Anyone).unwrap_err();
    assert_eq!(error.class(), "alert_handshake_failure");
}

#[test]
fn a_server_that_falls_silent_is_tried_once_more_and_the_run_shows_it() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority, "X25519");
    let peer = Peer::start(&settings, 1, bare(vec![Act::Wait]));
    let spec = with_minimal_client(spec(peer.address(), BackendChoice::Rustls));
    let began = Instant::now();
    let checked = check(&spec.checked().unwrap(), trust(&authority)).unwrap();
    // A connection that is served, one by the minimal client, and one by the library; the time
    // limit of a step is 10 s.
    assert_eq!((peer.accepted(), checked.preflight.status), (3, Some(200)));
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn where_a_server_is_silent_to_the_minimal_client_only_the_library_makes_all_connections() {
    let authority = Authority::new("tlslab test");
    let settings = settings(&authority, "X25519");
    let asked = AtomicUsize::new(0);
    // The preflight and the library's try are served; both tries of the minimal client are not.
    let is_minimal = move |_: &[u8]| [0, 2].contains(&asked.fetch_add(1, Ordering::Relaxed));
    let peer = Peer::start(&settings, 1, except(&settings, is_minimal, u64::MAX, vec![Act::Wait]));
    let record = measured(
        with_minimal_client(spec(peer.address(), BackendChoice::Rustls)),
        trust(&authority),
    );
    assert_eq!(record.minimal_client, 0);
    assert!(record.outcomes.failed.is_empty() && record.outcomes.completed > 0);
    let why = record.client_fallback.unwrap();
    assert!(why.contains("timeout_handshake"), "{why}");
    assert!(record.notes.iter().any(|note| note.contains(&why)), "{:?}", record.notes);
}

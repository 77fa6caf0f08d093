//! The key log: the client's lines must equal the server's, one set for each connection.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::harness::{BACKENDS, Deaf, measured, spec, trust};
use tlslab_contract::spec::{RunSpec, Stop};
use tlslab_load::check::check_logged;
use tlslab_load::run::run;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::memory::Memory;
use tlslab_testkit::tls_server::{Settings, TlsServer, Version};
use tlslab_tls::KeyLog;

const CONNECTIONS: usize = 6;

/// The labels of a connection (RFC 9850, section 2).
const LABELS_13: [&str; 5] = [
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0",
    "EXPORTER_SECRET",
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_TRAFFIC_SECRET_0",
];
const LABELS_12: [&str; 1] = ["CLIENT_RANDOM"];

#[test]
fn the_clients_secrets_are_the_servers_for_every_connection() {
    let authority = Authority::new("secrets");
    for (version, labels) in [(Version::Tls12, &LABELS_12[..]), (Version::Tls13, &LABELS_13)] {
        for backend in BACKENDS {
            let servers = Arc::new(Mutex::new(Vec::new()));
            let server = TlsServer::start(&Settings {
                identities: vec![authority.issue(Key::P256)],
                version: Some(version),
                key_log: Some(Arc::clone(&servers)),
                body_length: 10,
                ..Settings::default()
            });
            let stop = Stop::Count(CONNECTIONS as u64);
            let spec = RunSpec { stop, ..spec(server.address(), backend) }.checked().unwrap();
            let memory = Memory::default();
            let log = Arc::new(KeyLog::new(memory.clone()));
            let checked = check_logged(&spec, trust(&authority), Some(Arc::clone(&log))).unwrap();
            let record = run(&spec, &checked, &mut Deaf, &AtomicBool::new(false)).unwrap();
            log.finish().unwrap();
            drop(server);

            let text = memory.text();
            let ours: BTreeSet<String> = text.lines().map(str::to_lowercase).collect();
            let theirs = servers.lock().unwrap().iter().map(|line| line.to_lowercase()).collect();
            assert_eq!(ours, theirs, "{backend:?}");
            // The preflight connection is logged as well.
            assert_sets(&text, labels, CONNECTIONS + 1);
            assert!(record.notes[0].contains("key log: the run was slowed"), "{:?}", record.notes);
        }
    }
}

/// Each client random has one line of each label.
fn assert_sets(text: &str, labels: &[&str], connections: usize) {
    let random = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    let randoms: BTreeSet<String> = text.lines().map(random).collect();
    assert_eq!((randoms.len(), text.lines().count()), (connections, connections * labels.len()));
    for one in randoms {
        let mut set: Vec<&str> = text.lines().filter(|line| random(line) == one).collect();
        set.sort_unstable();
        let found = set.iter().map(|line| line.split(' ').next().unwrap());
        assert!(found.eq(labels.iter().copied()), "{set:?}");
    }
}

#[test]
fn nothing_is_logged_and_noted_by_default() {
    let authority = Authority::new("secrets");
    let server = TlsServer::start(&Settings {
        identities: vec![authority.issue(Key::P256)],
        ..Settings::default()
    });
    for backend in BACKENDS {
        let record = measured(spec(server.address(), backend), trust(&authority));
        assert_eq!(record.notes, Vec::<String>::new());
    }
}

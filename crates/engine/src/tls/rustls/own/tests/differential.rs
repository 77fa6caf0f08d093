//! The minimal client and rustls' own, against the same scripted servers, in both directions: what the
//! minimal client lets in rustls lets in as well, with the same plaintext; and what rustls lets in and
//! the minimal client does not breaks a rule that is named here.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{TestRng, TestRunner};
use rustls::ClientConnection;
use rustls::client::Resumption;

use super::scripted::{Edit, Script};
use super::*;

/// Scripts that are tried, each time the same ones.
const CASES: u32 = 4_000;

/// A reason of the minimal client's, and whether an edit breaks the rule behind it.
type Stricter = (&'static str, fn(&Edit) -> bool);

/// Rules by which the minimal client refuses what rustls lets in.
const STRICTER: [Stricter; 4] = [
    // RFC 8446, section 4.1.3.
    ("the server does not repeat the session ID", |edit| matches!(edit, Edit::Flip(..))),
    // Section 4.2: the client has offered it, but the ServerHello may not hold it.
    ("an extension that was not asked for", |edit| matches!(edit, Edit::Extension(..))),
    // Section 5.4: no handshake record is empty, under keys neither.
    (
        "a content that has no place here",
        |edit| matches!(edit, Edit::Record(true, HANDSHAKE, content) if content.is_empty()),
    ),
    // Section 5.2: the version in front of an encrypted record is 0x0303, and is authenticated.
    ("a record that is not authentic", |edit| matches!(edit, Edit::Version(3, _))),
];

/// What rustls says where the minimal client is right to let in what rustls does not. A
/// change_cipher_spec may come at any time behind the ClientHello (RFC 8446, section 5); a client that
/// shows no certificate needs no scheme to sign with (section 4.4.2).
const LAXER: [&str; 2] = [
    "received unexpected message: got ChangeCipherSpec when expecting Handshake",
    "peer is incompatible: NoCertificateRequestSignatureSchemesInCommon",
];

/// What became of one connection.
#[derive(Debug, Default, PartialEq)]
struct End {
    /// The record that was refused, and why.
    refused: Option<(usize, String)>,
    ready: bool,
    closed: bool,
    plaintext: Vec<u8>,
}

/// One group, no sessions of earlier connections.
fn setup() -> (Arc<ClientConfig>, Arc<Template>) {
    let suites = SUITES.each_ref().map(|suite| suite.code_point);
    let mut config = Arc::unwrap_or_clone(config(Group::X25519, &suites));
    config.resumption = Resumption::disabled();
    let config = Arc::new(config);
    let template = trusting(&config);
    (config, template)
}

/// What the minimal client makes of a script, and what it waits for at the end.
fn minimal(template: &Arc<Template>, script: &Script) -> (End, State) {
    let (mut client, hello) = begun(template);
    let (mut end, mut outgoing) = (End::default(), Vec::new());
    for (place, mut record) in script.records(&hello).into_iter().enumerate() {
        let length = client.record_length(&record, &mut outgoing);
        let event = length.and_then(|length| {
            assert_eq!(length, Some(record.len()));
            client.record(&mut record, &mut outgoing)
        });
        match event {
            Ok(Event::Nothing) => {}
            Ok(Event::Plaintext(read)) => end.plaintext.extend_from_slice(read),
            Ok(Event::Closed) => end.closed = true,
            Err(failure) => {
                let reason = client.reason().map(|reason| reason.name.into_owned());
                end.refused = Some((place, reason.unwrap_or_else(|| failure.to_string())));
            }
        }
        if end.closed || end.refused.is_some() {
            break;
        }
    }
    end.ready = client.is_ready();
    (end, client.state)
}

/// What rustls makes of it.
fn library(config: &Arc<ClientConfig>, script: &Script) -> End {
    let mut client = ClientConnection::new(Arc::clone(config), name()).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    let mut end = End::default();
    for (place, record) in script.records(&hello).into_iter().enumerate() {
        let mut bytes = &record[..];
        while !bytes.is_empty() && end.refused.is_none() && !end.closed {
            client.read_tls(&mut bytes).unwrap();
            match client.process_new_packets() {
                Ok(state) => {
                    let before = end.plaintext.len();
                    end.plaintext.resize(before + state.plaintext_bytes_to_read(), 0);
                    client.reader().read_exact(&mut end.plaintext[before..]).unwrap();
                    end.closed = state.peer_has_closed();
                }
                Err(error) => end.refused = Some((place, error.to_string())),
            }
        }
        if end.closed || end.refused.is_some() {
            break;
        }
    }
    end.ready = !client.is_handshaking();
    end
}

/// How often something was seen.
#[derive(Default)]
struct Counts(RefCell<BTreeMap<String, u32>>);

impl Counts {
    fn add(&self, what: &str) {
        *self.0.borrow_mut().entry(what.to_owned()).or_default() += 1;
    }
}

#[test]
fn a_right_flight_is_right_for_both() {
    let (config, template) = setup();
    for asks in [false, true] {
        let script = Script { asks, tickets: 2, updates: vec![0, 1], edits: Vec::new() };
        let (own, state) = minimal(&template, &script);
        assert_eq!((&own.refused, state), (&None, State::Ready));
        assert!(own.closed && own.plaintext == b"x", "{own:?}");
        assert_eq!(own, library(&config, &script));
    }
}

#[test]
fn edited_flights_are_taken_as_rustls_takes_them_or_refused_by_a_named_rule() {
    let (config, template) = setup();
    let [states, reasons, stricter, laxer] = [(); 4].map(|()| Counts::default());
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) };
    let rng = TestRng::deterministic_rng(cases.rng_algorithm);
    let run = TestRunner::new_with_rng(cases, rng).run(&Script::any(), |script| {
        let (own, state) = minimal(&template, &script);
        let theirs = library(&config, &script);
        let Some((_, reason)) = &own.refused else {
            states.add("taken");
            match &theirs.refused {
                Some((_, words)) if LAXER.contains(&&words[..]) => laxer.add(words),
                _ => prop_assert_eq!(own, theirs),
            }
            return Ok(());
        };
        states.add(&format!("{state:?}"));
        reasons.add(reason);
        if theirs.refused.is_none() {
            let rule = STRICTER.iter().find(|(words, breaks)| {
                reason.contains(words) && script.edits.iter().any(|(_, edit)| breaks(edit))
            });
            prop_assert!(rule.is_some(), "only the minimal client refuses it: {}", reason);
            stricter.add(reason);
        }
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    // The edits get as far as this, or else the test has become one that sees nothing.
    let states = states.0.into_inner();
    let deep = |state: &str, least| {
        let seen = states.get(state).copied().unwrap_or_default();
        assert!(seen >= least, "{state} is reached {seen} times, not {least}: {states:?}");
    };
    deep("taken", CASES / 10);
    for state in ["ServerHello", "EncryptedExtensions", "Certificate", "CertificateVerify", "Ready"]
    {
        deep(state, CASES / 50);
    }
    deep("Finished", CASES / 100);
    let reasons = reasons.0.into_inner();
    assert!(reasons.len() >= 25, "{reasons:#?}");
    // Each exception is one.
    assert_eq!(stricter.0.into_inner().len(), STRICTER.len());
    assert_eq!(laxer.0.into_inner().len(), LAXER.len());
}

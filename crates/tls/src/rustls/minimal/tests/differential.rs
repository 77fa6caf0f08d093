//! Random scripts for both clients. `invariants` defines how they must agree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{TestRng, TestRunner};
use rustls::client::Resumption;

use super::*;
use crate::rustls::minimal::invariants::script::{Edit, Script};
use crate::rustls::minimal::invariants::{
    Agreed, Clients, LAXER, STRICTER, hold, library, minimal,
};

/// The number of scripts, which are the same in each run.
const CASES: u32 = 6_000;

/// Clients with one group and without earlier sessions.
fn clients() -> Clients {
    let suites = SUITES.each_ref().map(|suite| suite.code_point);
    let mut config = Arc::unwrap_or_clone(config(Group::X25519, &suites));
    config.resumption = Resumption::disabled();
    let group = implementation(Group::X25519, KeyShare::Reused).unwrap();
    Clients::new(Arc::new(config), group)
}

/// The number of times that each observation occurred.
#[derive(Default)]
struct Counts(RefCell<BTreeMap<String, u32>>);

impl Counts {
    fn add(&self, what: &str) {
        *self.0.borrow_mut().entry(what.to_owned()).or_default() += 1;
    }
}

#[test]
fn a_right_flight_is_right_for_both() {
    let clients = clients();
    for (resumes, asks) in [(false, false), (false, true), (true, false)] {
        let script = Script { resumes, asks, tickets: 2, updates: vec![0, 1], edits: Vec::new() };
        let (end, state) = minimal(&clients, &script);
        assert_eq!((&end.refused, state), (&None, State::Ready));
        assert!(end.closed && end.plaintext == b"x", "{end:?}");
        assert_eq!(end, library(&clients, &script));
    }
}

#[test]
fn edited_flights_are_taken_as_rustls_takes_them_or_refused_by_a_named_rule() {
    let clients = clients();
    let [states, reasons, stricter, laxer] = [(); 4].map(|()| Counts::default());
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) };
    let rng = TestRng::deterministic_rng(cases.rng_algorithm);
    let note = |script: &Script| {
        let state = match hold(&clients, script) {
            Agreed::Taken => "taken".to_owned(),
            Agreed::Laxer(words) => {
                laxer.add(&words);
                "taken".to_owned()
            }
            Agreed::Refused(state, reason) => {
                reasons.add(&reason);
                format!("{state:?}")
            }
            Agreed::Stricter(state, reason) => {
                reasons.add(&reason);
                stricter.add(&reason);
                format!("{state:?}")
            }
        };
        states.add(&state);
        if script.resumes {
            states.add(&format!("{state}, resumed"));
        }
    };
    // These edits would be too rare at random.
    let second_entry = vec![(2, Edit::Insert(10, 0)); 5];
    let empty_entry = [second_entry, vec![(2, Edit::Flip(3, 6 ^ 11))]].concat();
    for edits in [
        vec![(1, Edit::Version(0, 2))],
        vec![(0, Edit::Flip(1, 7))],
        vec![(1, Edit::Extension(5, vec![]))],
        empty_entry,
        vec![(0, Edit::Record(false, ALERT, vec![1, CLOSE_NOTIFY]))],
    ] {
        note(&Script { edits, tickets: 0, ..Script::issuing() });
    }
    let other_scheme = vec![(2, Edit::Flip(9, 7))];
    note(&Script { asks: true, edits: other_scheme, ..Script::issuing() });
    let run = TestRunner::new_with_rng(cases, rng).run(&scripted::scripts(), |script| {
        note(&script);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
    // The edits must reach all of these states; otherwise the test checks too little.
    let states = states.0.into_inner();
    let deep = |state: &str, least| {
        let seen = states.get(state).copied().unwrap_or_default();
        assert!(seen >= least, "{state} is reached {seen} times, not {least}: {states:?}");
    };
    deep("taken", CASES / 10);
    for state in ["ServerHello", "EncryptedExtensions", "Certificate", "CertificateVerify", "Ready"]
    {
        deep(state, CASES / 75);
    }
    deep("Finished", CASES / 75);
    deep("taken, resumed", CASES / 30);
    deep("Finished, resumed", CASES / 100);
    let reasons = reasons.0.into_inner();
    assert!(reasons.len() >= 25, "{reasons:#?}");
    // Each listed exception has occurred.
    assert_eq!(stricter.0.into_inner().len(), STRICTER.len());
    assert_eq!(laxer.0.into_inner().len(), LAXER.len());
}

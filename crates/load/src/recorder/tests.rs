//! The accounting of several workers and of a misbehaving server: cases that no other test has.

mod record;

use super::*;
use tlslab_contract::spec::Resume;
use tlslab_tls::KeyExchangeGroup;
use tlslab_wire::names::{CipherSuite, TlsVersion};
use tlslab_wire::outcome::Failure;

fn negotiated(group: u16) -> Negotiated {
    Negotiated {
        version: TlsVersion::Tls13,
        suite: CipherSuite::from_code_point(0x1301),
        group: Some(KeyExchangeGroup::Named(group)),
        signature_scheme: None,
        kind: HandshakeKind::Full,
        hello_retry_request: false,
        alpn: None,
        client_authenticated: false,
        resumed_by: Resume::None,
        early_data: EarlyData::None,
        ocsp_response_bytes: 0,
        authenticated: true,
        minimal_client: true,
    }
}

/// A recorder with a distinct number in every sum, each a multiple of `times`.
fn worker(times: u64) -> Recorder {
    let mut recorder = Recorder::new(1, true);
    let at = Milestones::default();
    for connection in 0..times {
        let bytes = Bytes {
            handshake_sent: 1,
            handshake_received: 2,
            sent: 3,
            received: 4,
            ..Bytes::default()
        };
        recorder.completed(&at, connection + 1, Some(negotiated(1)), &bytes);
    }
    recorder.refilled(3 * times);
    recorder.carried = 5 * times;
    recorder.in_flight_at_stop = 7 * times;
    recorder.troubled = 11 * times;
    recorder.slow_connects = 13 * times;
    let (due, blocked, waiting_at_stop) = (17 * times, 19 * times, 23 * times);
    recorder.arrivals = ArrivalAccounting { due, blocked, waiting_at_stop, window: times };
    let of = |number: u64| u128::from(number * times);
    recorder.flight =
        Flight { within: of(29), before: of(31), troubled: of(37), unfinished: of(41) };
    recorder
}

#[test]
fn a_user_who_gives_up_counts_with_the_time_until_then() {
    let mut recorder = Recorder::new(1, true);
    let [arrived, secured, gives_up_at] = [100, 130, 180].map(|ms| ms * MILLISECOND);
    let attempt = Attempt { arrived, retry: 0, gives_up_at };
    let again = Attempt { retry: 1, ..attempt };
    let at = Milestones { intended: arrived, secured, ..Milestones::default() };
    let left = |recorder: &mut Recorder, attempt, outcome| {
        recorder.user_left(attempt, outcome, &at, true);
    };
    left(&mut recorder, attempt, Outcome::Abandoned);
    left(&mut recorder, attempt, Outcome::Completed);
    left(&mut recorder, again, Outcome::Completed);
    left(&mut recorder, again, Outcome::Failed(Failure::Refused));
    recorder.left_waiting(2, 80 * MILLISECOND, true);
    recorder.came_back();
    let mut all = Recorder::new(1, true);
    all.merge(&recorder);
    let expected = Users {
        answered_at_first: 1,
        answered_after_retry: 1,
        gave_up: 3,
        left_waiting: 2,
        failed: 1,
        retries: 1,
        ..Users::default()
    };
    assert_eq!(all.users, expected);
    // The handshake of one was complete after 30 ms; nobody got a byte of a response.
    let summaries = all.parts[0].whole().summaries();
    for (name, least, most) in [
        ("response", 80.0, 80.0),
        ("response_established", 30.0, 80.0),
        ("response_first_byte", 80.0, 80.0),
    ] {
        let found = summaries[name];
        assert_eq!(found.n, 3, "{name}");
        assert!((found.min_ms - least).abs() < 0.1 && (found.max_ms - most).abs() < 0.1, "{name}");
    }
    assert_eq!((summaries["service"].n, recorder.second.response().unwrap().n), (0, 3));
}

#[test]
fn the_notes_of_workers_add_up() {
    let mut all = worker(2);
    all.merge(&worker(3));
    let ArrivalAccounting { due, blocked, waiting_at_stop, window } = all.arrivals;
    assert_eq!((due, blocked, waiting_at_stop, window), (5 * 17, 5 * 19, 5 * 23, 3));
    let Flight { within, before, troubled, unfinished } = all.flight;
    assert_eq!((within, before, troubled, unfinished), (5 * 29, 5 * 31, 5 * 37, 5 * 41));
    assert_eq!((all.carried, all.in_flight_at_stop), (25, 35));
    assert_eq!((all.completed, all.troubled, all.slow_connects), (5, 55, 65));
    assert_eq!((all.authenticated, all.minimal_client), (5, 5));
    assert_eq!((all.kinds.full, all.kinds.resumed, all.kinds.refill_connections), (5, 0, 15));
    let Bytes { handshake_sent, handshake_received, sent, received, .. } = all.bytes;
    assert_eq!((handshake_sent, handshake_received, sent, received), (5, 10, 15, 20));
    let facts: Vec<u64> = all.facts.iter().map(|(_, count)| *count).collect();
    assert_eq!(facts, [5]);
}

#[test]
fn facts_are_the_same_whoever_made_the_connection_and_checked_the_server() {
    let mut recorder = Recorder::new(1, false);
    for (authenticated, minimal_client) in [(true, true), (false, true), (true, false)] {
        let facts = Negotiated { authenticated, minimal_client, ..negotiated(1) };
        recorder.completed(&Milestones::default(), 1, Some(facts), &Bytes::default());
    }
    assert_eq!(recorder.facts.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3]);
    assert_eq!((recorder.authenticated, recorder.minimal_client), (2, 2));
}

#[test]
fn a_connect_is_slow_from_a_tick_before_the_first_retransmission() {
    // One second (RFC 6298, section 2.1); a tick of the slowest kernel timer takes 10 ms.
    assert_eq!(SLOW_CONNECT + 10 * MILLISECOND, SECOND);
}

#[test]
fn a_server_that_shows_ever_new_facts_takes_no_more_memory() {
    let mut recorder = Recorder::new(1, false);
    let connections = 2 * FACTS_LIMIT as u64;
    for group in 0..connections {
        let group = u16::try_from(group).unwrap();
        recorder.completed(&Milestones::default(), 1, Some(negotiated(group)), &Bytes::default());
    }
    assert_eq!(recorder.facts.len(), FACTS_LIMIT);
    assert_eq!(recorder.facts.iter().map(|(_, count)| count).sum::<u64>(), connections);
}

use tlslab_contract::record::{
    ClientTimes, CountedFacts, CountedName, CountedUrl, RunRecord, Summary, Verdict, VerdictCode,
};
use tlslab_tls::rustls::certificate_error::{EXPIRED, UNKNOWN_ISSUER, WRONG_NAME};
use tlslab_wire::reason::{CountedReason, Example};

use super::advice::what_to_do;
use super::tables::figure;
use super::{Aside, csv, markdown, tables, text_within};
use crate::load::shown::assert_shown;

/// A record without content except its histograms.
const EMPTY: &str = r#"{
    "schema": "tlslab.record/1",
    "spec": {"url": "https://localhost/", "stop": {"count": 1}, "tls": {"trust": {"pem": ""}}},
    "backend": "rustls",
    "versions": {},
    "environment": {"kernel": "", "processor": "", "processors": 1},
    "address": "127.0.0.1:1",
    "preflight": {
        "facts": {
            "tls": "1.3", "suite": "TLS_AES_128_GCM_SHA256", "group": "X25519MLKEM768",
            "signature_scheme": "ecdsa_secp256r1_sha256", "kind": "full", "alpn": "none",
            "hello_retry_request": false, "resumed_by": "none", "early_data": "none"
        },
        "certificate": null, "status": null, "body_bytes": null, "server": null
    },
    "outcomes": {
        "attempts": 0, "completed": 0, "in_flight_at_stop": 0, "failed": {}, "unexpected": {}
    },
    "facts": [],
    "authenticated": 0,
    "requests": 0,
    "seconds": 1.0,
    "cpu": {"user_us": 0, "system_us": 0},
    "workers": [],
    "bytes": {
        "handshake_sent": 0, "handshake_received": 0, "sent": 0, "received": 0, "head": 0, "body": 0
    },
    "histograms": {}, "summaries": {}, "intervals": [], "verdicts": []
}"#;

pub fn empty() -> RunRecord {
    serde_json::from_str(EMPTY).unwrap()
}

/// A record whose connections all failed, for this reason and with these details.
fn failing(class: &str, reason: &str, words: &str) -> RunRecord {
    let mut record = empty();
    let (class, reason) = (class.to_owned(), reason.to_owned());
    record.outcomes.attempts = 40;
    record.outcomes.failed.insert(class.clone(), 40);
    let examples = vec![Example { local_port: 1, words: words.to_owned() }];
    record.outcomes.reasons = vec![CountedReason { class, reason, count: 40, examples }];
    record
}

#[test]
fn the_share_of_resumed_sessions_is_that_of_the_connections_that_were_to_resume() {
    let mut record = empty();
    record.kinds.resumed = 176;
    record.outcomes.unexpected.insert("kind".to_owned(), 160);
    let shown = text_within(130, &record, &Aside::default());
    assert!(shown.contains("176  resumed an earlier session (52.38 % of those that"), "{shown}");
}

#[test]
fn round_trips_are_one_line_by_kind_of_handshake() {
    let mut record = empty();
    assert!(!text_within(100, &record, &Aside::default()).contains("round trip"));
    record.round_trips.full.insert("3".to_owned(), 1_200);
    record.round_trips.resumed.insert("2".to_owned(), 7);
    let line = "             round trips to the first byte: 3 (full), 2 (resumed)\n";
    assert!(text_within(100, &record, &Aside::default()).contains(line));
    record.round_trips.full.insert("4".to_owned(), 5);
    record.spec.handshake_only = true;
    let line = "round trips to the confirmation: 3 (full: 1,200), 4 (full: 5), 2 (resumed)";
    assert!(markdown(&record, &Aside::default()).contains(line));
}

fn times(n: u64, ms: f64) -> Summary {
    Summary { n, p50_ms: ms, p90_ms: ms, p99_ms: ms, p999_ms: ms, max_ms: ms, ..Summary::default() }
}

#[test]
fn figures_are_grouped_and_their_absence_is_a_dash() {
    assert_eq!(figure(Some(4515.26), 1), "4,515.3");
    assert_eq!(figure(Some(0.0521), 3), "0.052");
    assert_eq!(figure(None, 3), "-");
}

#[test]
fn tables_fit_the_columns_and_lose_no_word() {
    let words = "a reason of some length, ".repeat(12);
    assert!(words.len() >= 300);
    let mut record = failing("tls_protocol", "bad_record_mac (a record)", words.trim_end());
    record.outcomes.completed = 1_234_567;
    for name in ["connect", "handshake", "first_byte", "exchange", "service", "response"] {
        record.summaries.insert(name.to_owned(), times(9_000_000, 1_234.567));
    }
    record.facts = vec![CountedFacts { facts: record.preflight.facts.clone(), count: 1_234_567 }];
    let name = format!("{}.example", "long-name".repeat(20));
    let (completed, failed, unexpected, abandoned) = (1_234_567, 40, 0, 0);
    record.server_names = vec![CountedName { name, completed, failed, unexpected, abandoned }];
    for columns in [80, 100, 130] {
        let mut rows = 0;
        for table in tables::all(&record, None) {
            for line in table.text(columns).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
                rows += 1;
            }
        }
        let text = text_within(columns, &record, &Aside::default());
        let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains(words.trim_end()), "{text}");
        assert!(whole.contains("due until the last byte: what a user waits for"), "{text}");
        assert!(text.lines().count() >= rows);
    }
    let text = text_within(130, &record, &Aside::default());
    let class = text.lines().find(|line| line.contains("tls_protocol")).unwrap();
    assert!(class.trim_start().starts_with("40 "), "the count comes first: {class}");
}

#[test]
fn a_terminal_that_is_too_narrow_gets_80_columns() {
    let record = failing("reset", "reset", &"words ".repeat(30));
    assert_eq!(
        text_within(20, &record, &Aside::default()),
        text_within(80, &record, &Aside::default())
    );
}

#[test]
fn a_bar_in_a_reason_ends_no_cell_in_markdown() {
    let record = failing("http_status", "a|b", "c|d");
    let shown = markdown(&record, &Aside::default());
    let line = shown.lines().find(|line| line.contains("a\\|b")).unwrap();
    assert_eq!(line, "| 40 | 100.00 % | a\\|b: c\\|d |");
}

/// All verdict codes: the schema is derived from the type.
fn verdict_codes() -> Vec<VerdictCode> {
    let schema = schemars::schema_for!(VerdictCode);
    let variants = schema.get("oneOf").and_then(|variants| variants.as_array()).unwrap();
    variants.iter().map(|each| serde_json::from_value(each["const"].clone()).unwrap()).collect()
}

#[test]
fn every_verdict_but_valid_says_what_to_do() {
    let mut failed = failing("certificate", "certificate has expired", "");
    failed.outcomes.unexpected.insert("group".to_owned(), 3);
    for record in [empty(), failed] {
        for code in verdict_codes() {
            let words = what_to_do(&record, code);
            assert_eq!(words.is_none(), code == VerdictCode::Valid, "{code:?}");
            assert!(words.is_none_or(|words| !words.trim().is_empty()), "{code:?}");
        }
    }
}

#[test]
fn what_to_do_about_a_certificate_goes_by_the_reason() {
    let advice = |reason: &str| {
        let record = failing("certificate", reason, "");
        what_to_do(&record, VerdictCode::Failures).unwrap()
    };
    for (openssl, [alert, phrase], words) in [
        ("certificate has expired", ["certificate_expired", EXPIRED], "renew "),
        ("hostname mismatch", ["bad_certificate", WRONG_NAME], "--sni"),
        ("self-signed certificate", ["unknown_ca", UNKNOWN_ISSUER], "is not its CA"),
    ] {
        for reason in [openssl, &format!("{alert} ({phrase})")] {
            assert!(advice(reason).contains(words), "{reason}");
        }
    }
}

#[test]
fn what_to_do_about_a_status_goes_by_the_status() {
    for (status, words) in [("500", "see its log"), ("404", "correct the path")] {
        let record = failing("http_status", status, "");
        let advice = what_to_do(&record, VerdictCode::Failures).unwrap();
        assert!(advice.contains(words), "{advice}");
        assert!(advice.ends_with(&format!("--expect-status {status}")), "{advice}");
    }
}

#[test]
fn what_to_do_about_a_verdict_is_an_option_of_a_load() {
    for code in [
        VerdictCode::ClientSaturated,
        VerdictCode::LittlesLaw,
        VerdictCode::LateArrivals,
        VerdictCode::RateNotAchieved,
        VerdictCode::ResumeRatio,
        VerdictCode::Stalled,
        VerdictCode::NothingCompleted,
        VerdictCode::NotSimultaneous,
        VerdictCode::HostLost,
        VerdictCode::ClockMoved,
        VerdictCode::Interrupted,
    ] {
        assert_shown(&what_to_do(&empty(), code).unwrap(), "run");
    }
}

#[test]
fn a_verdict_stands_with_its_remedy_in_the_last_line() {
    let mut record = empty();
    let message = "a worker was busy".to_owned();
    record.verdicts = vec![Verdict { code: VerdictCode::ClientSaturated, message }];
    let text = text_within(100, &record, &Aside::default());
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("lower bound: a worker was busy; give the generator"), "{last}");
}

#[test]
fn csv_has_the_times_that_the_text_has_and_the_other_clients_apart() {
    let mut record = empty();
    let of = |connections, ms| ClientTimes {
        connections,
        histograms: [].into(),
        summaries: [("handshake".to_owned(), times(connections, ms))].into(),
    };
    record.clients =
        [("minimal".to_owned(), of(1270, 1.25)), ("library".to_owned(), of(1000, 9.5))].into();
    record.summaries.insert("handshake".to_owned(), times(2270, 5.0));
    let shown = text_within(100, &record, &Aside::default());
    let handshake = shown.lines().find(|line| line.starts_with("  handshake ")).unwrap();
    assert_eq!(handshake.split_whitespace().nth(3), Some("1.250"));
    let csv = csv(&record, None);
    for line in [
        "latencies.client,,minimal",
        "handshake.n,1,1270",
        "handshake.p99,ms,1.250000",
        "clients.library.connections,1,1000",
        "clients.library.handshake.p99,ms,9.500000",
    ] {
        assert!(csv.lines().any(|found| found == line), "{line}: {csv}");
    }
    assert!(!csv.contains("5.000000"), "no mixture: {csv}");
}

#[test]
fn csv_has_the_reasons_in_quotation_marks_where_they_need_them() {
    let csv = csv(&failing("stream_reset", "a \"word\", and others", ""), None);
    for line in [
        "failed.stream_reset,1,40",
        r#"failed.stream_reset.reason.1,,"a ""word"", and others""#,
        "failed.stream_reset.reason.1.connections,1,40",
    ] {
        assert!(csv.lines().any(|found| found == line), "{line}: {csv}");
    }
}

#[test]
fn the_head_has_what_was_transferred_and_the_responses_by_status() {
    let mut record = empty();
    record.seconds = 2.0;
    (record.bytes.head, record.bytes.body) = (1_000_000, 24_000_000);
    record.statuses = [("200".to_owned(), 12_345), ("503".to_owned(), 3)].into();
    let shown = text_within(100, &record, &Aside::default());
    assert!(shown.contains("12.5 MB/s  25.0 MB of responses, 24.0 MB of it bodies\n"), "{shown}");
    assert!(shown.contains(" responses by status: 200 12,345; 503 3\n"), "{shown}");
    let csv = csv(&record, None);
    for line in ["responses.body,B,24000000", "responses_per_s,B/s,12500000.000", "status.503,1,3"]
    {
        assert!(csv.lines().any(|found| found == line), "{line}: {csv}");
    }
    (record.bytes.head, record.bytes.body) = (0, 0);
    (record.bytes.sent, record.bytes.received) = (900, 4_000);
    let shown = text_within(100, &record, &Aside::default());
    assert!(shown.contains("2.0 kB/s  4.0 kB received, 900 B sent\n"), "{shown}");
    assert!(!text_within(100, &empty(), &Aside::default()).contains("B/s"));
}

#[test]
fn a_default_number_of_connections_says_how_it_results() {
    let record = empty();
    let default =
        |words: &str| Aside { default_connections: Some(words.to_owned()), ..Aside::default() };
    let shown = text_within(100, &record, &default("default: 32 for each worker"));
    assert!(shown.contains("1 connection at once (default: 32 for each worker), 1 worker"));
    assert!(text_within(100, &record, &Aside::default()).contains("1 connection at once, 1"));
}

#[test]
fn each_of_several_urls_has_its_requests_and_those_beyond_the_table_are_added_up() {
    let mut record = empty();
    let url = |place: u64| CountedUrl {
        path: format!("/{place}"),
        requests: 1_000 - place,
        failed: place,
        exchange: Some(times(900, 2.5)),
        histogram: None,
    };
    record.urls = (0..23).map(url).collect();
    let shown = text_within(100, &record, &Aside::default());
    let row = |path: &str| -> Vec<String> {
        let line = shown.lines().find(|line| line.ends_with(path)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("  /3"), ["997", "997.0", "3", "2.500", "2.500", "/3"]);
    assert_eq!(row("3 more: see the record")[0], "2,937");
    let csv = csv(&record, None);
    for line in ["url.23,,/22", "url.23.failed,1,22", "url.1.exchange.p99,ms,2.500000"] {
        assert!(csv.lines().any(|found| found == line), "{line}: {csv}");
    }
}

//! The content of requests, and the accepted responses: runs against the reference server, whose
//! pages and statuses are known, over both versions of HTTP.

use std::net::SocketAddr;

use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::{
    BackendChoice, ExpectStatus, HeaderField, HttpVersion, RequestBody, RequestsPerConnection,
    RunSpec, Stop, WeightedPath,
};
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Peer, answering, secured};
use tlslab_testkit::tls_server::Settings;
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

use crate::harness::{measured, spec, try_run};

fn server() -> Server {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    Server::start(&ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity])).unwrap()
}

/// Twenty requests, five on each connection, in one version of HTTP.
fn run_of(address: SocketAddr, version: HttpVersion) -> RunSpec {
    let mut spec = RunSpec {
        stop: Stop::Count(4),
        requests_per_connection: RequestsPerConnection::Count(5),
        ..spec(address, BackendChoice::Rustls)
    };
    spec.http.version = version;
    spec
}

const VERSIONS: [HttpVersion; 2] = [HttpVersion::Http11, HttpVersion::Http2];

fn asking_for(spec: RunSpec, path: &str) -> RunSpec {
    let url = spec.url.rsplit_once("/bytes").map_or(spec.url.trim_end_matches('/'), |(at, _)| at);
    RunSpec { url: format!("{url}{path}"), ..spec }
}

fn statuses(text: &str) -> ExpectStatus {
    text.parse().unwrap()
}

fn assert_all_completed(record: &RunRecord) {
    assert_eq!(record.outcomes.ended(), record.outcomes.completed, "{:?}", record.outcomes);
    assert_eq!((record.outcomes.completed, record.requests), (4, 20));
}

#[test]
fn another_status_is_an_answer_where_it_is_expected_and_a_failure_elsewhere() {
    let server = server();
    for version in VERSIONS {
        let mut spec = asking_for(run_of(server.address(), version), "/missing");
        for (expected, is_good) in [("404", true), ("any", true), ("2xx", false), ("302", false)] {
            spec.http.expect_status = statuses(expected);
            match try_run(spec.clone(), TrustAnchors::Anyone) {
                Ok(record) => {
                    assert!(is_good, "{version:?} {expected}");
                    assert_all_completed(&record);
                    assert_eq!(record.preflight.status, Some(404));
                    assert_eq!(record.spec.http.expect_status, statuses(expected));
                }
                Err(error) => {
                    assert!(!is_good, "{version:?} {expected}: {error}");
                    assert_eq!(error.class(), "http_status");
                    assert!(error.to_string().contains("status 404"), "{error}");
                }
            }
        }
    }
}

#[test]
fn pages_are_asked_for_by_their_weights_exactly() {
    let server = server();
    for version in VERSIONS {
        let mut spec = run_of(server.address(), version);
        let page = |path: &str, weight| WeightedPath { path: path.to_owned(), weight };
        spec.http.paths = vec![page("/bytes/1000", 3), page("/bytes/10", 1), page("/bytes/0", 1)];
        let record = measured(spec, TrustAnchors::Anyone);
        assert_all_completed(&record);
        // Four rounds of five requests: 3 of the first page, 1 of each of the others.
        assert_eq!(record.bytes.body, 4 * (3 * 1000 + 10), "{version:?}");
        assert!(record.urls.iter().map(|url| (url.requests, url.failed)).eq([
            (12, 0),
            (4, 0),
            (4, 0)
        ]));
        assert_eq!(record.statuses, [("200".to_owned(), 20)].into());
    }
}

#[test]
fn a_failure_counts_for_the_page_that_was_requested_and_its_response_for_its_status() {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    let identities = vec![Authority::new("tlslab test").issue(Key::P256)];
    let settings = Settings { identities, body_length: 100, ..Settings::default() };
    let page = |path: &str| WeightedPath { path: path.to_owned(), weight: 1 };
    for (fault, statuses) in [
        (answering(&settings, ANSWER), [("200", 4), ("503", 6)].as_slice()),
        (secured(&settings, vec![Act::Receive, Act::Reset]), &[("200", 4)]),
    ] {
        // The first two connections are those before the load, one for each page.
        let peer = Peer::start(&settings, 6, fault);
        let mut spec = spec(peer.address(), BackendChoice::Auto);
        spec.http.paths = vec![page("/a"), page("/b")];
        let record = measured(RunSpec { stop: Stop::Count(10), ..spec }, TrustAnchors::Anyone);
        assert!(record.urls.iter().map(|url| (url.requests, url.failed)).eq([(2, 3), (2, 3)]));
        let statuses = statuses.iter().map(|(status, count)| ((*status).to_owned(), *count));
        assert_eq!(record.statuses, statuses.collect());
    }
}

#[test]
fn a_page_that_is_not_there_is_reported_by_its_path_before_the_load() {
    let server = server();
    let mut spec = run_of(server.address(), HttpVersion::Http11);
    let page = |path: &str| WeightedPath { path: path.to_owned(), weight: 1 };
    spec.http.paths = vec![page("/bytes/1"), page("/missing")];
    let error = try_run(spec, TrustAnchors::Anyone).unwrap_err();
    assert!(error.to_string().contains("/missing answered with status 404"), "{error}");
}

#[test]
fn head_brings_no_body_and_its_connection_goes_on() {
    let server = server();
    for version in VERSIONS {
        let mut spec = asking_for(run_of(server.address(), version), "/bytes/1000");
        spec.http.method = "HEAD".to_owned();
        let record = measured(spec, TrustAnchors::Anyone);
        assert_all_completed(&record);
        assert_eq!((record.bytes.body, record.preflight.body_bytes), (0, Some(0)));
    }
}

#[test]
fn a_body_goes_with_every_request_over_http2() {
    let server = server();
    let mut spec = run_of(server.address(), HttpVersion::Http2);
    // More than one frame.
    spec.http.body = Some(RequestBody::Text("x".repeat(100_000)));
    spec.http.method = "POST".to_owned();
    spec.http.expect_status = statuses("405");
    let record = measured(spec, TrustAnchors::Anyone);
    assert_all_completed(&record);
    // This server answers before it has read the whole body (RFC 9113, section 8.1), and the
    // connection then ends: at least one frame of each body was sent.
    assert!(record.bytes.sent > 20 * 16_384, "{}", record.bytes.sent);
}

#[test]
fn more_header_fields_than_usual_are_sent_over_both_versions() {
    let server = server();
    for version in VERSIONS {
        let mut spec = run_of(server.address(), version);
        let field = |n: u32| HeaderField { name: format!("X-{n}"), value: "v".repeat(50) };
        let plain = measured(spec.clone(), TrustAnchors::Anyone);
        spec.http.headers = (0..30).map(field).collect();
        let record = measured(spec, TrustAnchors::Anyone);
        assert_all_completed(&record);
        assert!(record.bytes.sent > plain.bytes.sent + 1_500, "{version:?}");
    }
}

#[test]
fn another_place_to_connect_leaves_the_names_as_they_are() {
    let server = server();
    let (address, authority) = (server.address(), "tlslab.invalid:9");
    let url = format!("https://{authority}/bytes/1");
    let connect_to = Some(format!("localhost:{}", address.port()));
    let spec = RunSpec { url, connect_to, ..run_of(address, HttpVersion::Http11) };
    let record = measured(spec, TrustAnchors::Anyone);
    assert_all_completed(&record);
    assert_eq!(record.address, address.to_string());
}

#[test]
fn a_place_that_may_not_be_loaded_is_refused_whatever_the_url_says() {
    let server = server();
    let connect_to = Some("192.0.2.1:443".to_owned());
    let spec = RunSpec { connect_to, ..run_of(server.address(), HttpVersion::Http11) };
    let error = try_run(spec, TrustAnchors::Anyone).unwrap_err();
    assert_eq!(error.class(), "target_refused", "{error}");
}

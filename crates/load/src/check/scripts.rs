//! The scripts of the connections before and during a load.

use crate::connection::Script;
use tlslab_contract::record::Preflight;
use tlslab_contract::spec::{BodyCheck, CheckedSpec, HttpVersion};
use tlslab_system::clock::{MICROSECOND, MILLISECOND, Nanos};
use tlslab_system::guard::Permit;
use tlslab_tls::expectation::Expectation;
use tlslab_wire::http::body::{BodyRule, from_hexadecimal};
use tlslab_wire::http::message::Messages;
use tlslab_wire::target::Target;

/// The idempotent methods (RFC 9110, section 9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/// The script of the run's connections. The check of bodies is added after the preflight.
pub fn script(spec: &CheckedSpec, permit: &Permit) -> Script {
    let (deadlines, http) = (&spec.spec().deadlines, &spec.spec().http);
    Script {
        address: permit.address,
        sources: spec.spec().sources.clone(),
        messages: Messages::new(spec.pages(), &http.parts(), spec.spec().load.seed),
        head_only: http.method == "HEAD",
        idempotent: IDEMPOTENT.contains(&&*http.method),
        statuses: http.expect_status.set(),
        requests: spec.requests_per_connection(),
        think: spec.spec().load.think_us * MICROSECOND,
        handshake_only: spec.spec().handshake_only,
        close: spec.spec().close,
        finished: spec.spec().finished,
        early_data: spec.spec().tls.early_data,
        deadlines: [
            deadlines.connect_ms,
            deadlines.handshake_ms,
            deadlines.first_byte_ms,
            deadlines.body_ms,
        ]
        .map(|ms| Nanos::from(ms) * MILLISECOND),
        expectation: Expectation::new(&spec.spec().tls, http.version),
        body: BodyRule::Count,
        http2: (http.version == HttpVersion::Http2).then_some(http.streams),
    }
}

/// The script of the preflight: one request for the first page, whose response is recorded.
pub fn learning(spec: &CheckedSpec, script: &Script) -> Script {
    let body = BodyRule::Learn { hash: spec.spec().http.check_body == BodyCheck::Hash };
    let messages = only(spec, &spec.pages()[0]);
    Script { requests: Some(1), body, messages, ..script.clone() }
}

/// The rule for the run's bodies, derived from the body in the preflight.
pub fn body_rule(check: BodyCheck, seen: &Preflight) -> BodyRule {
    let hash = seen.body_sha256.as_deref().and_then(from_hexadecimal);
    match (check, hash, seen.body_bytes) {
        (BodyCheck::Hash, Some(hash), _) => BodyRule::Hash(hash),
        (BodyCheck::Length, _, Some(length)) => BodyRule::Length(length),
        _ => BodyRule::Count,
    }
}

/// The requests of a run that asks only for this page.
pub fn only(spec: &CheckedSpec, page: &(Target, u32)) -> Messages {
    Messages::new(&[(page.0.clone(), 1)], &spec.spec().http.parts(), 0)
}

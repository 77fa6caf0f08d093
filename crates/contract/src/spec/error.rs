//! Errors that prevent the run of a specification.

use super::load::LoadError;
use super::request;
use super::tls::SERVER_NAMES_LIMIT;
use super::{SPEC_SCHEMA, THREADS_LIMIT};
use tlslab_wire::http::h2::STREAMS_LIMIT;
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};
use tlslab_wire::target::UrlError;
use tlslab_wire::tls::PROTOCOL_NAME_LIMIT;

/// An error that prevents the run of a specification. The message names the field and its permitted
/// values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum SpecError {
    #[error("schema is '{0}'; this program reads {SPEC_SCHEMA}")]
    Schema(String),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("{field} must be at least 1")]
    Zero { field: &'static str },
    #[error("connections ({connections}) must be at least threads ({threads})")]
    FewerConnectionsThanThreads { connections: u32, threads: u32 },
    #[error("{field} must not be longer than a day")]
    TooLong { field: &'static str },
    #[error("threads ({0}) may be {THREADS_LIMIT} at most")]
    TooManyThreads(u32),
    #[error(
        "a run with unlimited requests on a connection ends by time, not by count; give \
         stop.duration_ms"
    )]
    CountOfUnlimited,
    #[error("handshake_only sends no request; leave requests_per_connection at 1")]
    HandshakeOnlyWithRequests,
    #[error("http.streams ({0}) may be {STREAMS_LIMIT} at most")]
    TooManyStreams(u32),
    #[error("several streams on a connection exist in HTTP/2 only; give http.version 2")]
    StreamsNeedHttp2,
    #[error("http.streams ({streams}) must not be more than requests_per_connection ({requests})")]
    MoreStreamsThanRequests { streams: u32, requests: u32 },
    #[error("http.check_body needs requests, and handshake_only sends none")]
    BodyOfHandshakeOnly,
    #[error("http.check_body needs one server name: each may have its own body")]
    BodyOfSeveralNames,
    #[error("http.check_body needs one URL: each may have its own body")]
    BodyOfSeveralPaths,
    #[error("http.check_body needs responses with a body, and HEAD has none")]
    BodyOfHead,
    #[error("http.method '{0}' is no method of a request to a resource; write GET, POST, PUT, ...")]
    Method(String),
    #[error("http.headers: {0}")]
    Header(String),
    #[error("http.headers may be {limit} at most, not {0}", limit = request::FIELDS_LIMIT)]
    TooManyHeaders(usize),
    #[error("http.body is not base64")]
    BodyNotBase64,
    #[error("http.body may have {} bytes at most", request::BODY_LIMIT)]
    BodyTooLong,
    #[error(
        "http.paths may be {} at most, with weights of {} together",
        request::PATHS_LIMIT,
        request::WEIGHTS_LIMIT
    )]
    TooManyPaths,
    #[error("http.paths: '{0}' is no path; it begins with /")]
    Path(String),
    #[error("{0} needs TLS, and the URL is http://; leave it out, or write https://")]
    OfTls(&'static str),
    #[error("early data may be replayed: it needs GET or HEAD without a body (RFC 8470)")]
    EarlyDataNotSafe,
    #[error("allowed host '{host}': {why}; write a host's name or address")]
    Allowed { host: String, why: String },
    #[error("connect_to '{to}': {why}; write HOST:PORT, where all connections go")]
    ConnectTo { to: String, why: String },
    #[error("think time (load.think_us) needs one stream at a time; leave http.streams at 1")]
    ThinkWithStreams,
    #[error("early data (tls.early_data) needs http.version 1.1")]
    EarlyDataOverHttp2,
    #[error("suite {suite} belongs to TLS {needs}, which is not among the versions asked for")]
    SuiteOutsideVersions { suite: CipherSuite, needs: TlsVersion },
    #[error("no suite given for TLS {0}; give one, or leave that version or all suites out")]
    VersionWithoutSuite(TlsVersion),
    #[error("group {0} exists in TLS 1.3 only, and only TLS 1.2 is asked for")]
    GroupNeedsTls13(Group),
    #[error("group {0} cannot be forced: suite {1} exchanges keys without an elliptic curve")]
    GroupWithoutEcdhe(Group, CipherSuite),
    #[error("resume_ratio needs a kind of resumption; give tls.resume")]
    RatioOfNothing,
    #[error("resume_ratio ({0}) must lie between 0 and 1")]
    ResumeRatio(String),
    #[error("early data needs resumption by psk or psk-only; give tls.resume")]
    EarlyDataWithoutPsk,
    #[error("early data is a request, and handshake_only sends none")]
    EarlyDataWithoutRequest,
    #[error("in TLS 1.3 tickets come after the handshake; handshake_only does not wait for them")]
    TicketsAfterHandshakeOnly,
    #[error("hello_retry needs full handshakes; leave tls.resume out")]
    RetryOfResumed,
    #[error(
        "hello_retry sends a key share of {0}, which the server must lack; leave {0} out of groups"
    )]
    ShareIsWanted(Group),
    #[error("{what} exists in TLS {needs} only; leave the other versions out")]
    OneVersionOnly { what: String, needs: TlsVersion },
    #[error("portion ({0}) must be above 0 and at most 1")]
    Portion(String),
    #[error("proof must be 16 to 64 letters, digits and hyphens")]
    Proof,
    #[error("schema is '{0}'; a probe reads tlslab.probe-spec/1")]
    ProbeSchema(String),
    #[error("target '{target}': {why}")]
    Target { target: String, why: String },
    #[error("{field} must be 1 to {most}")]
    OutOfRange { field: &'static str, most: u32 },
    #[error("server_name '{0}' is not a DNS name or an address")]
    ServerName(String),
    #[error("server_name and server_names exclude each other")]
    NameAndNames,
    #[error("server_names may be {SERVER_NAMES_LIMIT} at most, not {0}")]
    TooManyNames(usize),
    #[error("{0} is obsolete; give --allow-obsolete to have it all the same")]
    Obsolete(String),
    #[error("the versions must be consecutive, but TLS {0} is missing between them")]
    VersionsApart(TlsVersion),
    #[error("dh_bits needs DHE suites, and no others")]
    DhBitsWithoutDhe,
    #[error("alpn: '{0}' must have 1 to {PROTOCOL_NAME_LIMIT} bytes")]
    ProtocolName(String),
    #[error("alpn: requests are made in {spoken}; {name} needs handshake_only")]
    ProtocolWithRequests { name: String, spoken: &'static str },
    #[error("alpn: HTTP/2 needs h2 among the offered protocols")]
    Http2WithoutAlpn,
    #[error("server_names need full handshakes: a session is resumed under one name")]
    NamesWithResumption,
    #[error(transparent)]
    Load(#[from] LoadError),
}

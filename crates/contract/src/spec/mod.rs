//! What to do: the run specification, plain data, and its checked form.
//!
//! [`RunSpec`] is what crosses the JSON contract. [`CheckedSpec`] is a specification whose parts fit
//! each other; nothing else can be run.

mod client_identity;
mod http;
pub mod load;
mod request;
mod resumption;
mod shape;
mod tls;

pub use http::{BodyCheck, HttpSpec, HttpVersion};
pub use request::{ExpectStatus, HeaderField, RequestBody, WeightedPath};

use std::net::IpAddr;

use rustls_pki_types::ServerName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::load::{LoadError, LoadSpec};
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};
use tlslab_wire::target::{Target, UrlError, host_of};
use tlslab_wire::tls::PROTOCOL_NAME_LIMIT;

pub use self::client_identity::{ClientIdentity, Secret};
pub use self::resumption::{HelloRetry, Resume};
pub use self::shape::{Close, Finished};
use self::tls::SERVER_NAMES_LIMIT;
pub use self::tls::{Authenticate, BackendChoice, ClientChoice, KeyShare, TlsSpec, Trust};

#[cfg(any(test, feature = "invariants"))]
pub mod invariants;

/// The identifier of this wire format; a change that old readers would misread changes the number.
pub const SPEC_SCHEMA: &str = "tlslab.spec/1";

/// The most workers: as many as Linux's fixed-size affinity mask has room for processors.
const THREADS_LIMIT: u32 = 1024;

/// The longest time of a run, in milliseconds: a day.
const TIME_LIMIT_MS: u64 = 24 * 3600 * 1000;

/// One run of the load generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The wire format, `tlslab.spec/1`.
    #[serde(default = "spec_schema")]
    pub schema: String,
    /// Where to connect and what to ask for: `https://host[:port]/path`.
    pub url: String,
    /// Where to connect in place of the URL's host and port: `HOST:PORT`. Names, header fields and
    /// the certificate check stay the URL's.
    #[serde(default)]
    pub connect_to: Option<String>,
    /// Connections in flight at once, over all threads (closed loop).
    #[serde(default = "one")]
    pub connections: u32,
    /// Workers; each is one thread with a poller of its own.
    #[serde(default = "one")]
    pub threads: u32,
    /// The processors to pin the workers to, in order and repeated as needed; empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Load before the measurement begins, in milliseconds; nothing of it is counted.
    #[serde(default)]
    pub warmup_ms: u64,
    /// When the measurement ends.
    pub stop: Stop,
    /// Requests on each connection before it is closed.
    #[serde(default)]
    pub requests_per_connection: RequestsPerConnection,
    /// Close each connection as soon as the handshake is done, without a request.
    #[serde(default)]
    pub handshake_only: bool,
    /// How a connection is closed once it has all that it asked for.
    #[serde(default)]
    pub close: Close,
    /// When the client's Finished leaves.
    #[serde(default)]
    pub finished: Finished,
    /// The HTTP that is spoken.
    #[serde(default)]
    pub http: HttpSpec,
    /// How load is made over time, and what is kept of each connection.
    #[serde(default)]
    pub load: LoadSpec,
    /// What to offer and what to insist on.
    #[serde(default)]
    pub tls: TlsSpec,
    /// The time each step may take.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// Hosts, beside loopback ones, that the user has allowed as targets.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Addresses of this machine to connect from, in turn; empty: the system chooses one. A target's
    /// address takes some 28,000 connections at once from each.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// For a public target: the token whose page `/.well-known/tlslab-<token>` the target serves, by
    /// which its operator agrees to more than 1,000 connections/s or 60 s.
    #[serde(default)]
    pub proof: Option<String>,
    /// Generators that load this target together, this one among them.
    #[serde(default = "one")]
    pub generators: u32,
    /// This generator's part of the load of all, above 0 and up to 1: so much it takes of what a public
    /// target takes without proof. By default an equal part.
    #[serde(default)]
    pub portion: Option<f64>,
}

/// When a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After N milliseconds.
    DurationMs(u64),
    /// After N connections.
    Count(u64),
}

/// How many requests one connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestsPerConnection {
    /// N, then the connection is closed.
    Count(u32),
    /// As many as fit into the run.
    Unlimited,
}

impl Default for RequestsPerConnection {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// The time that each step may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deadlines {
    /// From the start of the TCP connection until it is established.
    pub connect_ms: u32,
    /// From there until the TLS handshake is complete.
    pub handshake_ms: u32,
    /// From the start of a request until its first byte is answered.
    pub first_byte_ms: u32,
    /// From the first byte of a response until its last.
    pub body_ms: u32,
}

impl Default for Deadlines {
    /// Ten seconds a step: Coradiant's study gives a user's patience as 4 to 20 s.
    fn default() -> Self {
        Self { connect_ms: 10_000, handshake_ms: 10_000, first_byte_ms: 10_000, body_ms: 10_000 }
    }
}

fn spec_schema() -> String {
    SPEC_SCHEMA.to_owned()
}

fn one() -> u32 {
    1
}

/// Refuses what names no host among those that the user has allowed.
///
/// # Errors
/// The first that names none.
pub fn check_allowed(allow: &[String]) -> Result<(), SpecError> {
    for host in allow {
        host_of(host).map_err(|UrlError { url: host, why }| SpecError::Allowed { host, why })?;
    }
    Ok(())
}

/// Why a specification cannot be run; the text names the field and what it may be.
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
        "a run with unlimited requests on a connection ends by time, not by count; give stop.duration_ms"
    )]
    CountOfUnlimited,
    #[error("handshake_only sends no request; leave requests_per_connection at 1")]
    HandshakeOnlyWithRequests,
    #[error("http.streams ({0}) may be {limit} at most", limit = tlslab_wire::http::h2::STREAMS_LIMIT)]
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
    #[error("{0} is obsolete; give --allow-obsolete (allow_obsolete) to have it all the same")]
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

/// A specification whose parts fit each other. Only [`RunSpec::checked`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSpec {
    spec: RunSpec,
    target: Target,
    peer: Target,
    pages: Vec<(Target, u32)>,
    server_names: Vec<String>,
}

impl CheckedSpec {
    /// The specification as it was given.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The target that its URL names.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Where to connect: the target, unless the specification names another place.
    pub fn peer(&self) -> &Target {
        &self.peer
    }

    /// What is asked for, with weights: the target, unless there are several paths. At least one.
    pub fn pages(&self) -> &[(Target, u32)] {
        &self.pages
    }

    /// The names for SNI and the certificate check: connections take them in turn. At least one.
    pub fn server_names(&self) -> &[String] {
        &self.server_names
    }

    /// The number of requests on a connection; `None`: as many as fit into the run.
    pub fn requests_per_connection(&self) -> Option<u32> {
        match self.spec.requests_per_connection {
            RequestsPerConnection::Count(count) => Some(count),
            RequestsPerConnection::Unlimited => None,
        }
    }
}

impl RunSpec {
    /// Checks that the parts fit each other.
    pub fn checked(self) -> Result<CheckedSpec, SpecError> {
        if self.schema != SPEC_SCHEMA {
            return Err(SpecError::Schema(self.schema));
        }
        self.check_counts()?;
        self.check_portion()?;
        self.check_proof()?;
        self.http.check(&self)?;
        self.load.check(&self)?;
        self.tls.check(self.http.version, self.handshake_only)?;
        self.check_handshake_only()?;
        check_allowed(&self.allow)?;
        let target = Target::parse(&self.url)?;
        let server_names = match (&*self.tls.server_names, &self.tls.server_name) {
            ([], None) => vec![target.host.clone()],
            ([], Some(name)) => vec![name.clone()],
            (names, _) => names.to_vec(),
        };
        let is_no_name = |name: &&String| ServerName::try_from(name.as_str()).is_err();
        if let Some(name) = server_names.iter().find(is_no_name) {
            return Err(SpecError::ServerName(name.clone()));
        }
        let peer = self.peer(&target)?;
        let pages = self.pages(&target)?;
        Ok(CheckedSpec { spec: self, target, peer, pages, server_names })
    }

    fn peer(&self, target: &Target) -> Result<Target, SpecError> {
        let Some(to) = &self.connect_to else { return Ok(target.clone()) };
        let refuse = |why: &str| {
            let (to, why) = (to.chars().take(200).collect(), why.to_owned());
            SpecError::ConnectTo { to, why }
        };
        if to.contains(['/', '?', '#', '@', '\\']) {
            return Err(refuse("is not a host with a port"));
        }
        match Target::parse(&format!("https://{to}/")) {
            Ok(peer) if peer.has_port => Ok(peer),
            Ok(_) => Err(refuse("names no port")),
            Err(_) => Err(refuse(match &*to.split(':').collect::<Vec<_>>() {
                [_, _, _, _] if !to.contains('[') => {
                    "has the four parts of curl's option, of which the last two alone are taken here"
                }
                _ => "is not a host with a port",
            })),
        }
    }

    fn pages(&self, target: &Target) -> Result<Vec<(Target, u32)>, SpecError> {
        if self.http.paths.is_empty() {
            return Ok(vec![(target.clone(), 1)]);
        }
        let page = |page: &WeightedPath| {
            if !page.path.starts_with('/') {
                return Err(SpecError::Path(page.path.chars().take(200).collect()));
            }
            let parsed = Target::parse(&format!("https://{}{}", target.authority, page.path))?;
            Ok((parsed, page.weight))
        };
        self.http.paths.iter().map(page).collect()
    }

    fn check_portion(&self) -> Result<(), SpecError> {
        match self.portion {
            Some(portion) if portion <= 0.0 || portion > 1.0 => {
                Err(SpecError::Portion(portion.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The token becomes part of a path, so that it may hold nothing that means something there.
    fn check_proof(&self) -> Result<(), SpecError> {
        let Some(token) = &self.proof else { return Ok(()) };
        let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_plain && (16..=64).contains(&token.len()) { Ok(()) } else { Err(SpecError::Proof) }
    }

    fn check_handshake_only(&self) -> Result<(), SpecError> {
        let resumes_in_tls13 = self.tls.resume.version() == Some(TlsVersion::Tls13);
        match self.handshake_only {
            true if self.tls.early_data => Err(SpecError::EarlyDataWithoutRequest),
            true if resumes_in_tls13 => Err(SpecError::TicketsAfterHandshakeOnly),
            _ => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<(), SpecError> {
        let stop = match self.stop {
            Stop::DurationMs(ms) => ("stop.duration_ms", ms),
            Stop::Count(count) => ("stop.count", count),
        };
        let requests = match self.requests_per_connection {
            RequestsPerConnection::Count(count) => count,
            RequestsPerConnection::Unlimited => u32::MAX,
        };
        let positive = [
            ("connections", u64::from(self.connections)),
            ("threads", u64::from(self.threads)),
            ("generators", u64::from(self.generators)),
            stop,
            ("requests_per_connection", u64::from(requests)),
            ("deadlines.connect_ms", u64::from(self.deadlines.connect_ms)),
            ("deadlines.handshake_ms", u64::from(self.deadlines.handshake_ms)),
            ("deadlines.first_byte_ms", u64::from(self.deadlines.first_byte_ms)),
            ("deadlines.body_ms", u64::from(self.deadlines.body_ms)),
        ];
        if let Some((field, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(SpecError::Zero { field });
        }
        let times = [("warmup_ms", self.warmup_ms), stop];
        let is_long =
            |(field, value): &(&str, u64)| *field != "stop.count" && *value > TIME_LIMIT_MS;
        if let Some((field, _)) = times.into_iter().find(is_long) {
            return Err(SpecError::TooLong { field });
        }
        if self.threads > THREADS_LIMIT {
            return Err(SpecError::TooManyThreads(self.threads));
        }
        if self.connections < self.threads {
            return Err(SpecError::FewerConnectionsThanThreads {
                connections: self.connections,
                threads: self.threads,
            });
        }
        let unlimited = self.requests_per_connection == RequestsPerConnection::Unlimited;
        if unlimited && matches!(self.stop, Stop::Count(_)) {
            return Err(SpecError::CountOfUnlimited);
        }
        if self.handshake_only && requests != 1 {
            return Err(SpecError::HandshakeOnlyWithRequests);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

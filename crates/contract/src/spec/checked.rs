//! The checks that the parts of a specification fit each other, and the values derived from it.

use rustls_pki_types::ServerName;

use super::{
    Finished, RequestsPerConnection, RunSpec, SPEC_SCHEMA, SpecError, Stop, THREADS_LIMIT,
    TIME_LIMIT_MS, WeightedPath,
};
use tlslab_wire::names::TlsVersion;
use tlslab_wire::target::{Target, UrlError, host_of, server_name};

/// A specification whose parts fit each other. Only [`RunSpec::checked`] creates it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSpec {
    spec: RunSpec,
    target: Target,
    peer: Target,
    pages: Vec<(Target, u32)>,
    server_names: Vec<String>,
}

impl CheckedSpec {
    /// Checks that the parts of a specification fit each other.
    pub(super) fn new(spec: RunSpec) -> Result<Self, SpecError> {
        if spec.schema != SPEC_SCHEMA {
            return Err(SpecError::Schema(spec.schema));
        }
        check_counts(&spec)?;
        check_portion(&spec)?;
        check_proof(&spec)?;
        spec.http.check(&spec)?;
        spec.load.check(&spec)?;
        spec.tls.check(spec.http.version, spec.handshake_only)?;
        check_handshake_only(&spec)?;
        check_allowed(&spec.allow)?;
        let target = Target::parse(&spec.url)?;
        if target.is_plain {
            check_plain(&spec)?;
        }
        let given = match (&*spec.tls.server_names, &spec.tls.server_name) {
            ([], None) => std::slice::from_ref(&target.host),
            ([], Some(name)) => std::slice::from_ref(name),
            (names, _) => names,
        };
        let server_names = given.iter().map(|name| checked_name(name)).collect::<Result<_, _>>()?;
        let peer = peer(&spec, &target)?;
        let pages = pages(&spec, &target)?;
        Ok(Self { spec, target, peer, pages, server_names })
    }

    /// The specification as it was given.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// The target of the specification's URL.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The host and port to connect to: the target's, unless the specification names others.
    pub fn peer(&self) -> &Target {
        &self.peer
    }

    /// The targets to request, with weights: the URL's own, unless paths are given. At least one.
    pub fn pages(&self) -> &[(Target, u32)] {
        &self.pages
    }

    /// The names for SNI and the certificate check, which connections take in turn. At least one.
    pub fn server_names(&self) -> &[String] {
        &self.server_names
    }

    /// The number of requests on a connection; `None` if a connection makes as many as fit into the
    /// run.
    pub fn requests_per_connection(&self) -> Option<u32> {
        match self.spec.requests_per_connection {
            RequestsPerConnection::Count(count) => Some(count),
            RequestsPerConnection::Unlimited => None,
        }
    }
}

/// Checks that a connection without TLS is asked for nothing that needs TLS.
fn check_plain(spec: &RunSpec) -> Result<(), SpecError> {
    let of_tls = [
        (spec.handshake_only, "handshake_only"),
        (spec.finished != Finished::default(), "finished"),
    ];
    let is_set = of_tls.into_iter().find_map(|(is_set, option)| is_set.then_some(option));
    is_set.or_else(|| spec.tls.of_tls()).map_or(Ok(()), |option| Err(SpecError::OfTls(option)))
}

/// Checks that each entry of the hosts that the user has allowed names a host.
///
/// # Errors
/// The first entry that names no host.
pub fn check_allowed(allow: &[String]) -> Result<(), SpecError> {
    for host in allow {
        host_of(host).map_err(|UrlError { url: host, why }| SpecError::Allowed { host, why })?;
    }
    Ok(())
}

/// A name for SNI and for the certificate check, as it is sent.
///
/// # Errors
/// The text is neither a DNS name nor an address.
pub fn checked_name(text: &str) -> Result<String, SpecError> {
    let name = server_name(text);
    let is_name = !name.ends_with('.') && ServerName::try_from(name.as_str()).is_ok();
    if is_name { Ok(name) } else { Err(SpecError::ServerName(text.to_owned())) }
}

fn peer(spec: &RunSpec, target: &Target) -> Result<Target, SpecError> {
    let Some(to) = &spec.connect_to else { return Ok(target.clone()) };
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

fn pages(spec: &RunSpec, target: &Target) -> Result<Vec<(Target, u32)>, SpecError> {
    if spec.http.paths.is_empty() {
        return Ok(vec![(target.clone(), 1)]);
    }
    let page = |page: &WeightedPath| {
        if !page.path.starts_with('/') {
            return Err(SpecError::Path(page.path.chars().take(200).collect()));
        }
        let parsed =
            Target::parse(&format!("{}://{}{}", target.scheme(), target.authority, page.path))?;
        Ok((parsed, page.weight))
    };
    spec.http.paths.iter().map(page).collect()
}

fn check_portion(spec: &RunSpec) -> Result<(), SpecError> {
    match spec.portion {
        Some(portion) if portion <= 0.0 || portion > 1.0 => {
            Err(SpecError::Portion(portion.to_string()))
        }
        _ => Ok(()),
    }
}

/// Checks the token of a proof. It becomes part of a path, so it may contain no character that has
/// a meaning there.
fn check_proof(spec: &RunSpec) -> Result<(), SpecError> {
    let Some(token) = &spec.proof else { return Ok(()) };
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain && (16..=64).contains(&token.len()) { Ok(()) } else { Err(SpecError::Proof) }
}

fn check_handshake_only(spec: &RunSpec) -> Result<(), SpecError> {
    let resumes_in_tls13 = spec.tls.resume.version() == Some(TlsVersion::Tls13);
    match spec.handshake_only {
        true if spec.tls.early_data => Err(SpecError::EarlyDataWithoutRequest),
        true if resumes_in_tls13 => Err(SpecError::TicketsAfterHandshakeOnly),
        _ => Ok(()),
    }
}

fn check_counts(spec: &RunSpec) -> Result<(), SpecError> {
    let stop = match spec.stop {
        Stop::DurationMs(ms) => ("stop.duration_ms", ms),
        Stop::Count(count) => ("stop.count", count),
    };
    let requests = match spec.requests_per_connection {
        RequestsPerConnection::Count(count) => count,
        RequestsPerConnection::Unlimited => u32::MAX,
    };
    let positive = [
        ("connections", u64::from(spec.connections)),
        ("threads", u64::from(spec.threads)),
        ("generators", u64::from(spec.generators)),
        stop,
        ("requests_per_connection", u64::from(requests)),
        ("deadlines.connect_ms", u64::from(spec.deadlines.connect_ms)),
        ("deadlines.handshake_ms", u64::from(spec.deadlines.handshake_ms)),
        ("deadlines.first_byte_ms", u64::from(spec.deadlines.first_byte_ms)),
        ("deadlines.body_ms", u64::from(spec.deadlines.body_ms)),
    ];
    if let Some((field, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
        return Err(SpecError::Zero { field });
    }
    let times = [("warmup_ms", spec.warmup_ms), stop];
    let is_long = |(field, value): &(&str, u64)| *field != "stop.count" && *value > TIME_LIMIT_MS;
    if let Some((field, _)) = times.into_iter().find(is_long) {
        return Err(SpecError::TooLong { field });
    }
    if spec.threads > THREADS_LIMIT {
        return Err(SpecError::TooManyThreads(spec.threads));
    }
    if spec.connections < spec.threads {
        return Err(SpecError::FewerConnectionsThanThreads {
            connections: spec.connections,
            threads: spec.threads,
        });
    }
    let unlimited = spec.requests_per_connection == RequestsPerConnection::Unlimited;
    if unlimited && matches!(spec.stop, Stop::Count(_)) {
        return Err(SpecError::CountOfUnlimited);
    }
    if spec.handshake_only && requests != 1 {
        return Err(SpecError::HandshakeOnlyWithRequests);
    }
    Ok(())
}

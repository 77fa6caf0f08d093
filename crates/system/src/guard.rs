//! The guard: the targets that may be loaded (invariant 9). This program must be useless as a
//! weapon.
//!
//! The guard checks the resolved addresses at every start. Loopback addresses are always allowed.
//! The user must have listed any other host. Of several allowed addresses, the first that accepts a
//! TCP connection is the target. A public host is also limited to [`PUBLIC_RATE`] and
//! [`PUBLIC_TIME`], unless it proves that its operator consents.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::addresses::{decisive, first_to_accept, in_turn, in_words};
use crate::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_contract::spec::load::Rate;
use tlslab_contract::spec::{RunSpec, Stop};
use tlslab_wire::outcome::{Failure, Step};
use tlslab_wire::target::{Target, host_of};

/// The highest rate at a public address without proof of consent, in new connections a second.
pub const PUBLIC_RATE: u64 = 1_000;

/// The longest load of a public address without proof of consent.
pub const PUBLIC_TIME: Nanos = 60 * SECOND;

/// The relative rounding error of a rate that was divided, written as JSON and parsed.
const BLUR: f64 = 1e-9;

/// Errors that forbid a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The name has no address.
    #[error("cannot find an address of '{host}': {why}")]
    NameNotFound {
        /// The host as given.
        host: String,
        /// The resolver's message.
        why: String,
    },
    /// The name server did not answer in time.
    #[error("no name server says what the address of '{host}' is")]
    NameTimedOut {
        /// The host as given.
        host: String,
    },
    /// The address is neither loopback nor allowed.
    #[error(
        "refused to load {host} ({address}): only loopback addresses and hosts that you list are \
         targets"
    )]
    NotAllowed {
        /// The host as given.
        host: String,
        /// The resolved address.
        address: IpAddr,
    },
    /// The name has several addresses, and none of them accepts a connection.
    #[error("{}", describe_refusals(.target, .refusals, *.failure))]
    NoneAccepts {
        /// Host and port.
        target: String,
        /// The addresses that were tried, each with its failure.
        refusals: String,
        /// The failure that says most.
        failure: Failure,
    },
    /// The address is public, and the load exceeds the limits without proof.
    #[error("refused to load the public address {address} beyond 1,000 connections/s or 60 s")]
    PublicWithoutProof {
        /// The resolved address.
        address: IpAddr,
    },
}

/// The permission to load a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permit {
    /// The address to connect to.
    pub address: SocketAddr,
    /// Whether the limits of public targets without proof apply.
    pub bounded: bool,
    /// This generator's part of the rate limit, which applies to the sum of all generators.
    pub portion: f64,
}

impl Permit {
    /// True if N connections in this time exceed this generator's part of the target's limits.
    pub fn is_exceeded(&self, connections: u64, elapsed: Nanos) -> bool {
        let seconds = elapsed.div_ceil(SECOND).max(1);
        let is_many = connections as f64 > self.rate() * seconds as f64;
        self.bounded && (is_many || elapsed > PUBLIC_TIME)
    }

    /// The highest rate of this generator at a bounded target, in connections a second.
    fn rate(&self) -> f64 {
        PUBLIC_RATE as f64 * self.portion * (1.0 + BLUR)
    }
}

/// The path of the page by which a public target proves that its operator consents.
pub fn proof_path(token: &str) -> String {
    format!("/.well-known/tlslab-{token}")
}

fn describe_refusals(target: &str, refusals: &str, failure: Failure) -> String {
    match failure {
        Failure::Refused => format!("nothing listens on {target} ({refusals})"),
        other => format!("{target}: {other} ({refusals})"),
    }
}

/// Resolves the target and decides whether it may be loaded.
pub fn permit(spec: &RunSpec, target: &Target) -> Result<Permit, GuardError> {
    let patience = Duration::from_millis(spec.deadlines.connect_ms.into());
    let found = resolve(target, patience)?;
    let permit = permit_one(target, found, &spec.allow, &spec.sources, patience)?;
    let portion = spec.portion.unwrap_or(1.0 / f64::from(spec.generators));
    Ok(Permit { portion, ..permit })
}

/// Resolves a host within a time limit and decides whether connections to it are allowed: loopback
/// addresses and listed hosts.
pub fn permit_host(
    target: &Target,
    allow: &[String],
    patience: Duration,
) -> Result<Permit, GuardError> {
    permit_one(target, resolve(target, patience)?, allow, &[], patience)
}

/// Checks each address that was found for a host. Of several that are allowed, and of the family of
/// the source addresses, takes the first that accepts a connection.
fn permit_one(
    target: &Target,
    found: Vec<SocketAddr>,
    allow: &[String],
    sources: &[IpAddr],
    patience: Duration,
) -> Result<Permit, GuardError> {
    let mut found = in_turn(found);
    let fits = |address: &SocketAddr| sources.iter().all(|s| s.is_ipv4() == address.is_ipv4());
    if found.iter().any(fits) {
        found.retain(fits);
    }
    let first = found.first().map(|address| address.ip().to_canonical());
    found.retain(|address| is_allowed(target, address.ip().to_canonical(), allow));
    let address = match (&*found, first) {
        ([], Some(address)) => {
            return Err(GuardError::NotAllowed { host: target.host.clone(), address });
        }
        ([one], _) => *one,
        (several, _) => first_to_accept(several, patience).map_err(|refusals| {
            let failure = decisive(&refusals).unwrap_or(Failure::TimedOut(Step::Connect));
            let (target, refusals) = (target.place(), in_words(&refusals));
            GuardError::NoneAccepts { target, refusals, failure }
        })?,
    };
    let ip = address.ip().to_canonical();
    Ok(Permit { address, bounded: !ip.is_loopback() && is_public(ip), portion: 1.0 })
}

/// True for a loopback address, and for a host or an address that the user has listed.
fn is_allowed(target: &Target, ip: IpAddr, allow: &[String]) -> bool {
    let is_meant = |entry: &String| {
        // An entry that is not a host was already refused with the specification.
        host_of(entry).is_ok_and(|host| {
            let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
            host.eq_ignore_ascii_case(&target.host) || address == Ok(ip)
        })
    };
    ip.is_loopback() || allow.iter().any(is_meant)
}

/// Checks that the planned time and rate are within the limits of a public target without proof.
/// The generator's part of the rate is compared with its part of the limit: all generators are
/// refused if the sum is too high.
pub fn check_length(spec: &RunSpec, permit: &Permit) -> Result<(), GuardError> {
    let rate = spec.load.rate.as_ref().map_or(0.0, Rate::highest);
    let time = match spec.stop {
        Stop::DurationMs(ms) => (spec.load.open_within_ms + spec.warmup_ms + ms) * MILLISECOND,
        Stop::Count(_) => 0,
    };
    if permit.bounded && (time > PUBLIC_TIME || rate > permit.rate()) {
        return Err(GuardError::PublicWithoutProof { address: permit.address.ip() });
    }
    Ok(())
}

/// Calls the system's resolver, which has no time limit, in a separate thread. After a time-out the
/// thread ends by itself, or with the process. Returns at least one address.
fn resolve(target: &Target, patience: Duration) -> Result<Vec<SocketAddr>, GuardError> {
    let not_found = |why: String| GuardError::NameNotFound { host: target.host.clone(), why };
    if let Ok(ip) = target.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, target.port)]);
    }
    let name = (target.dns_name(), target.port);
    let (answer, answered) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || {
            // After a time-out nobody receives the result.
            let _ = answer.send(name.to_socket_addrs().map(Vec::from_iter));
        })
        .map_err(|e| not_found(e.to_string()))?;
    let found = answered
        .recv_timeout(patience)
        .map_err(|_| GuardError::NameTimedOut { host: target.host.clone() })?
        .map_err(|e| not_found(e.to_string()))?;
    if found.is_empty() { Err(not_found("the name has no address".to_owned())) } else { Ok(found) }
}

/// True if an address is globally reachable: not private (RFC 1918, RFC 4193), link-local, shared
/// (RFC 6598) or unspecified.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let shared = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            !(v4.is_private() || v4.is_link_local() || v4.is_unspecified() || shared)
        }
        IpAddr::V6(v6) => {
            !(v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_unspecified())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(url: &str, allow: &[&str], seconds: u64) -> Result<Permit, GuardError> {
        let spec = RunSpec {
            allow: allow.iter().map(ToString::to_string).collect(),
            ..serde_json::from_str(&format!(
                r#"{{"url":"{url}","stop":{{"duration_ms":{}}}}}"#,
                seconds * 1000
            ))
            .unwrap()
        };
        let checked = spec.checked().unwrap();
        let permit = permit(checked.spec(), checked.target())?;
        check_length(checked.spec(), &permit).map(|()| permit)
    }

    #[test]
    fn loopback_is_always_allowed() {
        for url in ["https://127.0.0.1/", "https://127.9.9.9:1/", "https://[::1]/"] {
            assert!(!decide(url, &[], 600).unwrap().bounded, "{url}");
        }
        assert!(decide("https://[::ffff:127.0.0.1]/", &[], 600).is_ok());
    }

    #[test]
    fn others_are_refused_unless_listed() {
        let refused = decide("https://192.0.2.7/", &[], 1).unwrap_err();
        assert!(matches!(refused, GuardError::NotAllowed { .. }), "{refused}");
        assert!(decide("https://10.0.0.7/", &["10.0.0.8"], 1).is_err());
        assert!(!decide("https://10.0.0.7/", &["10.0.0.7"], 600).unwrap().bounded);
    }

    #[test]
    fn a_host_is_allowed_in_every_form_that_a_target_has() {
        for entry in
            ["https://10.0.0.7/", "10.0.0.7:8443", "https://10.0.0.7:8443/page", "10.0.0.7/"]
        {
            assert!(decide("https://10.0.0.7/", &[entry], 1).is_ok(), "{entry}");
        }
        for entry in ["fd00::7", "[fd00::7]", "[FD00:0::7]:8443", "https://[fd00::7]/"] {
            assert!(decide("https://[fd00::7]/", &[entry], 1).is_ok(), "{entry}");
        }
        assert!(decide("https://10.0.0.7/", &["https://10.0.0.8/"], 1).is_err());
    }

    #[test]
    fn a_public_address_is_bounded_in_rate_and_time() {
        let permit = decide("https://192.0.2.7/", &["192.0.2.7"], 60).unwrap();
        assert!(!permit.is_exceeded(900, SECOND / 2));
        assert!(permit.is_exceeded(1_100, SECOND));
        assert!(permit.is_exceeded(10, 61 * SECOND));
        let long = decide("https://192.0.2.7/", &["192.0.2.7"], 61);
        assert!(matches!(long, Err(GuardError::PublicWithoutProof { .. })));
    }

    #[test]
    fn several_generators_share_what_a_public_address_takes() {
        let alone = decide("https://192.0.2.7/", &["192.0.2.7"], 60).unwrap();
        let permit = Permit { portion: 0.25, ..alone };
        assert!(!permit.is_exceeded(250, SECOND) && permit.is_exceeded(251, SECOND));
        let json = |rate| {
            format!(
                r#"{{"url":"https://192.0.2.7/","stop":{{"duration_ms":1000}},"generators":4,
                    "allow":["192.0.2.7"],"connections":9,"load":{{"rate":{{"constant":{rate}}}}}}}"#
            )
        };
        for (rate, is_refused) in [(250, false), (251, true)] {
            let spec: RunSpec = serde_json::from_str(&json(rate)).unwrap();
            let checked = spec.checked().unwrap();
            let permit = super::permit(checked.spec(), checked.target()).unwrap();
            assert_eq!(permit.portion, 0.25);
            assert_eq!(check_length(checked.spec(), &permit).is_err(), is_refused, "{rate}");
        }
    }

    #[test]
    fn unequal_parts_of_a_rate_are_judged_by_their_sum() {
        for (rates, is_refused) in [([700.0, 200.0], false), ([800.0, 201.0], true)] {
            let whole: f64 = rates.iter().sum();
            for rate in rates {
                let portion = rate / whole;
                let json = format!(
                    r#"{{"url":"https://192.0.2.7/","stop":{{"duration_ms":1000}},"generators":2,
                        "portion":{portion},"allow":["192.0.2.7"],"connections":9,
                        "load":{{"rate":{{"constant":{rate}}}}}}}"#
                );
                let spec: RunSpec = serde_json::from_str(&json).unwrap();
                let checked = spec.checked().unwrap();
                let permit = super::permit(checked.spec(), checked.target()).unwrap();
                assert_eq!(check_length(checked.spec(), &permit).is_err(), is_refused, "{rate}");
                assert_eq!(permit.is_exceeded(rate as u64, SECOND), is_refused, "{rate}");
            }
        }
    }

    /// Decides about a name that the resolver has given these addresses.
    fn found(addresses: &[SocketAddr], allow: &[&str], from: &str) -> Result<Permit, GuardError> {
        let target = Target::parse(&format!("https://bed.test:{}/", addresses[0].port())).unwrap();
        let allow: Vec<_> = allow.iter().map(ToString::to_string).collect();
        let sources: Vec<IpAddr> = from.parse().into_iter().collect();
        permit_one(&target, addresses.to_vec(), &allow, &sources, Duration::from_secs(5))
    }

    #[test]
    fn each_address_of_a_name_is_judged_and_the_first_that_accepts_is_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let works = listener.local_addr().unwrap();
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), works.port());
        let permit = found(&[at("::1"), works], &[], "").unwrap();
        assert_eq!((permit.address, permit.bounded), (works, false));
        // What is not allowed is not tried, even if it comes first.
        assert_eq!(found(&[at("192.0.2.7"), works], &[], "").unwrap().address, works);
        assert!(found(&[at("192.0.2.7"), works], &["192.0.2.7"], "127.0.0.9").is_ok());
        let refused = found(&[at("192.0.2.7"), at("192.0.2.8")], &["192.0.2.9"], "").unwrap_err();
        assert!(matches!(refused, GuardError::NotAllowed { .. }), "{refused}");
        // An address of another family than the sources cannot be connected to.
        assert_eq!(
            found(&[at("::1"), at("127.0.0.9")], &[], "127.0.0.9").unwrap().address.ip(),
            IpAddr::from([127, 0, 0, 9])
        );
        let none = found(&[at("127.0.0.8"), at("127.0.0.9")], &[], "").unwrap_err().to_string();
        let place = format!("bed.test:{}", works.port());
        let words = "(127.0.0.8 refused, 127.0.0.9 refused)";
        assert_eq!(none, format!("nothing listens on {place} {words}"));
    }

    #[test]
    fn a_name_without_address_is_not_found() {
        let missing = decide("https://no-such-host.invalid/", &[], 1);
        assert!(matches!(missing, Err(GuardError::NameNotFound { .. })), "{missing:?}");
    }
}

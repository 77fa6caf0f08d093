//! The guard: the targets that may be loaded (invariant 9). This program must be useless as a
//! weapon.
//!
//! The guard checks the resolved address at every start. Loopback addresses are always allowed. The
//! user must have listed any other host. A public host is also limited to [`PUBLIC_RATE`] and
//! [`PUBLIC_TIME`], unless it proves that its operator consents.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_contract::spec::load::Rate;
use tlslab_contract::spec::{RunSpec, Stop};
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

/// Resolves the target and decides whether it may be loaded.
pub fn permit(spec: &RunSpec, target: &Target) -> Result<Permit, GuardError> {
    let patience = Duration::from_millis(spec.deadlines.connect_ms.into());
    let permit = permit_host(target, &spec.allow, patience)?;
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
    let address = resolve(target, patience)?;
    let ip = address.ip().to_canonical();
    if ip.is_loopback() {
        return Ok(Permit { address, bounded: false, portion: 1.0 });
    }
    let is_meant = |entry: &String| {
        // An entry that is not a host was already refused with the specification.
        host_of(entry).is_ok_and(|host| {
            let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
            host.eq_ignore_ascii_case(&target.host) || address == Ok(ip)
        })
    };
    if !allow.iter().any(is_meant) {
        return Err(GuardError::NotAllowed { host: target.host.clone(), address: ip });
    }
    Ok(Permit { address, bounded: is_public(ip), portion: 1.0 })
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
/// thread ends by itself, or with the process.
fn resolve(target: &Target, patience: Duration) -> Result<SocketAddr, GuardError> {
    let not_found = |why: String| GuardError::NameNotFound { host: target.host.clone(), why };
    if let Ok(ip) = target.host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, target.port));
    }
    let name = (target.host.clone(), target.port);
    let (answer, answered) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || {
            // After a time-out nobody receives the result.
            let _ = answer.send(name.to_socket_addrs().map(|mut addresses| addresses.next()));
        })
        .map_err(|e| not_found(e.to_string()))?;
    answered
        .recv_timeout(patience)
        .map_err(|_| GuardError::NameTimedOut { host: target.host.clone() })?
        .map_err(|e| not_found(e.to_string()))?
        .ok_or_else(|| not_found("the name has no address".to_owned()))
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

    #[test]
    fn a_name_without_address_is_not_found() {
        let missing = decide("https://no-such-host.invalid/", &[], 1);
        assert!(matches!(missing, Err(GuardError::NameNotFound { .. })), "{missing:?}");
    }
}

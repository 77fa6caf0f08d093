//! Finds the server's suites, groups and signature schemes.

use std::collections::BTreeSet;

use super::asker::Asker;
use super::connection::Stop;
use super::enumerate::{Choice, Found, enumerate};
use super::record::{Accepted, Named, ProbeRecord, Suite};
use super::{handshake, shares};
use tls_parser::TlsCipherKx;
use tlslab_tls::certificates::certificate_group;
use tlslab_tls::openssl::dh_prime::weakness;
use tlslab_wire::tls::answer::Flight;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry::{self, Authentication, Protocol};

/// Finds the suites of each version, and what is weak about the server's own Diffie-Hellman primes.
pub fn find_suites(asker: &mut Asker, record: &mut ProbeRecord) -> Result<(), Stop> {
    let mut primes = BTreeSet::new();
    for version in asker.versions().to_vec() {
        if version == Protocol::Ssl2 {
            continue;
        }
        let found = suites_of(asker, version)?;
        if Some(version) == asker.newest_legacy() {
            asker.learn_legacy_suites(numbers(&found));
        }
        primes.extend(found.chosen.iter().filter_map(|(_, flight)| flight.prime.clone()));
        record.suites.push(Accepted {
            version,
            order: found.order,
            accepted: found.chosen.iter().map(|(number, flight)| suite(*number, flight)).collect(),
            refusal: found.refusal,
        });
    }
    record.dh_prime = primes.iter().find_map(|prime| weakness(prime)).map(str::to_owned);
    Ok(())
}

fn suites_of(asker: &mut Asker, version: Protocol) -> Result<Found<Flight>, Stop> {
    asker.about(format!("suites of {version}"));
    let whole = asker.hello(version);
    let lots: Vec<_> = whole.suites.chunks(asker.suites_at_once()).map(<[u16]>::to_vec).collect();
    enumerate(&lots, |suites| {
        let hello = ClientHello { suites: suites.to_vec(), ..whole.clone() };
        Ok(asker.ask(&hello)?.map(|flight| (flight.suite, flight)))
    })
}

/// The suites of the newest version up to TLS 1.2, which other questions need.
fn known_suites(asker: &mut Asker) -> Result<Vec<u16>, Stop> {
    if let (Some(version), true) = (asker.newest_legacy(), asker.legacy_suites().is_empty()) {
        let found = suites_of(asker, version)?;
        asker.learn_legacy_suites(numbers(&found));
    }
    Ok(asker.legacy_suites().to_vec())
}

/// Finds the groups of TLS 1.3, and those of the newest version before it.
pub fn find_groups(asker: &mut Asker, groups: &mut Vec<Accepted<Named>>) -> Result<(), Stop> {
    if asker.has(Protocol::Tls13) {
        let found = groups_of_tls13(asker)?;
        groups.push(named(Protocol::Tls13, found, registry::group_name));
    }
    let suites = known_suites(asker)?;
    if let Some(version) = asker.newest_legacy() {
        let exchanging = |authentication| {
            let fits = |number: &&u16| {
                registry::suite(**number).is_some_and(|s| s.kx == TlsCipherKx::Ecdhe)
                    && registry::authentication(**number) == Some(authentication)
            };
            suites.iter().filter(fits).copied().collect::<Vec<_>>()
        };
        // An RSA key has no curve that the server could require.
        let rsa = exchanging(Authentication::Rsa);
        let suites = if rsa.is_empty() { exchanging(Authentication::Ecdsa) } else { rsa };
        if !suites.is_empty() {
            let found = groups_with(asker, version, &suites)?;
            groups.push(named(version, found, registry::group_name));
        }
    }
    Ok(())
}

/// A ClientHello without a key share makes the server name a group (RFC 8446, section 4.2.8). Each
/// is then offered alone, with a key share: a server, or a device in front of it, may name a group
/// and not stand its key share. If the server names none, all groups are offered so.
fn groups_of_tls13(asker: &mut Asker) -> Result<Found<Flight>, Stop> {
    asker.about(format!("groups of {}", Protocol::Tls13));
    let whole = ClientHello { shares: Vec::new(), ..asker.hello(Protocol::Tls13) };
    let mut found = enumerate(std::slice::from_ref(&whole.groups), |groups| {
        let hello = ClientHello { groups: groups.to_vec(), ..whole.clone() };
        Ok(asker.ask(&hello)?.and_then(with_group))
    })?;
    let named = std::mem::take(&mut found.chosen);
    if named.is_empty() {
        asker.settle();
        found.refusal = None;
    }
    let candidates: Vec<(u16, Option<Flight>)> = match named[..] {
        [] => whole.groups.iter().map(|group| (*group, None)).collect(),
        _ => named.into_iter().map(|(group, flight)| (group, Some(flight))).collect(),
    };
    for (group, named) in candidates {
        let Some(key) = shares::public_key(group) else {
            // The probe has no key of this group, and takes the server's word.
            found.chosen.extend(named.map(|flight| (group, flight)));
            continue;
        };
        let shares = vec![(group, key)];
        let hello = ClientHello { groups: vec![group], shares, ..whole.clone() };
        match asker.ask_for_share(&hello)?.and_then(continued) {
            Ok(flight) => found.chosen.push((group, flight)),
            Err(refusal) => found.refuse(refusal),
        }
    }
    found.order = found.order.filter(|_| found.chosen.len() > 1);
    Ok(found)
}

/// A group is accepted when a ServerHello has it.
fn continued(flight: Flight) -> Result<Flight, Refusal> {
    let words = "asked for another ClientHello instead of continuing".to_owned();
    if flight.retry { Err(Refusal::other("hello_retry_request", words)) } else { Ok(flight) }
}

/// The groups of a version up to TLS 1.2 with these suites. Many servers choose an ECDSA
/// certificate only if its curve is listed (RFC 8422, section 5.1): the curve then follows the
/// groups in question.
fn groups_with(
    asker: &mut Asker,
    version: Protocol,
    suites: &[u16],
) -> Result<Found<Flight>, Stop> {
    asker.about(format!("groups of {version}"));
    let whole = ClientHello { suites: suites.to_vec(), ..asker.hello(version) };
    let mut found = groups_beside(asker, &whole, None)?;
    let certificate = found.chosen.first().map(|(_, flight)| &flight.certificates);
    let curve = certificate.and_then(|chain| certificate_group(chain));
    if let Some(curve) = curve.map(|curve| curve.code_point()) {
        let known: Vec<u16> = found.chosen.iter().map(|(group, _)| *group).collect();
        let unknown = |group: &&u16| !known.contains(group) && **group != curve;
        let rest = whole.groups.iter().filter(unknown).copied().collect();
        let more = ClientHello { groups: rest, ..whole };
        let beside = groups_beside(asker, &more, Some(curve))?;
        found.chosen.extend(beside.chosen);
        beside.refusal.into_iter().filter(Refusal::is_silence).for_each(|r| found.refuse(r));
    }
    Ok(found)
}

fn groups_beside(
    asker: &mut Asker,
    whole: &ClientHello,
    curve: Option<u16>,
) -> Result<Found<Flight>, Stop> {
    enumerate(std::slice::from_ref(&whole.groups), |groups| {
        let groups = groups.iter().copied().chain(curve).collect();
        let hello = ClientHello { groups, ..whole.clone() };
        let choice = asker.ask(&hello)?.and_then(with_group);
        let curve_only = |choice: &(u16, Flight)| Some(choice.0) == curve;
        Ok(match choice {
            Ok(choice) if curve_only(&choice) => Err(Refusal::alert(HANDSHAKE_FAILURE)),
            other => other,
        })
    })
}

/// Finds the schemes of TLS 1.3, by complete handshakes, and those of TLS 1.2.
pub fn find_schemes(asker: &mut Asker, schemes: &mut Vec<Accepted<Named>>) -> Result<(), Stop> {
    if asker.has(Protocol::Tls13) {
        asker.about(format!("signature schemes of {}", Protocol::Tls13));
        let found = handshake::schemes_of_tls13(asker)?;
        if let (true, Some(refusal)) = (found.chosen.is_empty(), &found.refusal) {
            // The server accepts the version, so it signs by a scheme.
            asker.doubt(refusal.clone())?;
        }
        schemes.push(named(Protocol::Tls13, found, registry::scheme_name));
    }
    if asker.has(Protocol::Tls12) {
        let signing = |number: &u16| {
            let kx = registry::suite(*number).map(|suite| suite.kx);
            matches!(kx, Some(TlsCipherKx::Ecdhe | TlsCipherKx::Dhe))
        };
        let suites: Vec<u16> = known_suites(asker)?.into_iter().filter(signing).collect();
        let whole = ClientHello { suites, ..asker.hello(Protocol::Tls12) };
        if !whole.suites.is_empty() {
            asker.about(format!("signature schemes of {}", Protocol::Tls12));
            let found = enumerate(&registry::scheme_families(), |schemes| {
                let suites = fitting(&whole.suites, schemes);
                if suites.is_empty() {
                    return Ok(Err(Refusal::alert(HANDSHAKE_FAILURE)));
                }
                let schemes = schemes.to_vec();
                let hello = ClientHello { suites, schemes, ..whole.clone() };
                Ok(asker.ask(&hello)?.and_then(with_scheme))
            })?;
            schemes.push(named(Protocol::Tls12, found, registry::scheme_name));
        }
    }
    Ok(())
}

/// The alert of a server that has no parameters in common with a client. Used if the server need
/// not be asked, or if its choice amounts to a refusal.
const HANDSHAKE_FAILURE: u8 = 40;

/// The suites whose certificates can sign with one of the schemes. A server may choose an RSA
/// certificate for a suite, and only then find that it has no scheme for it.
fn fitting(suites: &[u16], schemes: &[u16]) -> Vec<u16> {
    let wanted = |suite: &u16| {
        let authentication = registry::authentication(*suite);
        schemes.iter().any(|scheme| registry::authentication_of_scheme(*scheme) == authentication)
    };
    suites.iter().copied().filter(wanted).collect()
}

fn with_group(flight: Flight) -> Choice<Flight> {
    let words = "chose no group by name".to_owned();
    flight.group.map(|group| (group, flight)).ok_or_else(|| Refusal::other("group", words))
}

fn with_scheme(flight: Flight) -> Choice<Flight> {
    let words = "signed nothing".to_owned();
    let scheme = flight.scheme;
    scheme.map(|s| (s, flight)).ok_or_else(|| Refusal::other("signature_scheme", words))
}

fn suite(number: u16, flight: &Flight) -> Suite {
    let group = flight.group.map(registry::group_name);
    Suite {
        name: registry::suite_name(number),
        code_point: number,
        bits: registry::bits(number),
        group: group.or_else(|| flight.prime_bits().map(|bits| format!("DH-{bits}"))),
    }
}

fn numbers(found: &Found<Flight>) -> Vec<u16> {
    found.chosen.iter().map(|(number, _)| *number).collect()
}

fn named<T>(version: Protocol, found: Found<T>, name: fn(u16) -> String) -> Accepted<Named> {
    let named = |(number, _): &(u16, T)| Named { name: name(*number), code_point: *number };
    Accepted {
        version,
        order: found.order,
        accepted: found.chosen.iter().map(named).collect(),
        refusal: found.refusal,
    }
}

//! Lists of what the server has: suites, groups, signature schemes.

use super::connection::Stop;
use super::enumerate::{Choice, Found, enumerate};
use super::record::{Accepted, Named, Suite};
use super::{Prober, shares};
use tls_parser::TlsCipherKx;
use tlslab_tls::certificates::certificate_group;
use tlslab_wire::tls::answer::Flight;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry::{self, Authentication, Protocol};

impl Prober {
    /// The suites of each version.
    pub(super) fn find_suites(&mut self, suites: &mut Vec<Accepted<Suite>>) -> Result<(), Stop> {
        for version in self.versions.clone() {
            if version == Protocol::Ssl2 {
                continue;
            }
            let found = self.suites_of(version)?;
            if Some(version) == self.newest_legacy() {
                self.legacy_suites = found.chosen.iter().map(|(number, _)| *number).collect();
            }
            suites.push(Accepted {
                version,
                order: found.order,
                accepted: found
                    .chosen
                    .iter()
                    .map(|(number, flight)| suite(*number, flight))
                    .collect(),
                refusal: found.refusal,
            });
        }
        Ok(())
    }

    fn suites_of(&mut self, version: Protocol) -> Result<Found<Flight>, Stop> {
        let whole = self.hello(version);
        let lots: Vec<_> = whole.suites.chunks(self.suites_at_once).map(<[u16]>::to_vec).collect();
        enumerate(&lots, |suites| {
            let hello = ClientHello { suites: suites.to_vec(), ..whole.clone() };
            Ok(self.ask(&hello)?.map(|flight| (flight.suite, flight)))
        })
    }

    /// The suites of the newest version up to TLS 1.2, which other questions need.
    fn known_suites(&mut self) -> Result<Vec<u16>, Stop> {
        if let (Some(version), true) = (self.newest_legacy(), self.legacy_suites.is_empty()) {
            let found = self.suites_of(version)?;
            self.legacy_suites = found.chosen.iter().map(|(number, _)| *number).collect();
        }
        Ok(self.legacy_suites.clone())
    }

    /// The groups of TLS 1.3, and those of the newest version before it.
    pub(super) fn find_groups(&mut self, groups: &mut Vec<Accepted<Named>>) -> Result<(), Stop> {
        if self.has(Protocol::Tls13) {
            let found = self.groups_of_tls13()?;
            groups.push(named(Protocol::Tls13, found, registry::group_name));
        }
        let suites = self.known_suites()?;
        if let Some(version) = self.newest_legacy() {
            let exchanging = |authentication| {
                let fits = |number: &&u16| {
                    registry::suite(**number).is_some_and(|s| s.kx == TlsCipherKx::Ecdhe)
                        && registry::authentication(**number) == Some(authentication)
                };
                suites.iter().filter(fits).copied().collect::<Vec<_>>()
            };
            // An RSA key does not lie on a curve that the server might insist on.
            let rsa = exchanging(Authentication::Rsa);
            let suites = if rsa.is_empty() { exchanging(Authentication::Ecdsa) } else { rsa };
            if !suites.is_empty() {
                let found = self.groups_with(version, &suites)?;
                groups.push(named(version, found, registry::group_name));
            }
        }
        Ok(())
    }

    /// A hello without a key share makes the server name a group (RFC 8446, section 4.2.8). Where it
    /// refuses that, each group is offered alone, with a key share.
    fn groups_of_tls13(&mut self) -> Result<Found<Flight>, Stop> {
        let whole = ClientHello { shares: Vec::new(), ..self.hello(Protocol::Tls13) };
        let mut found = enumerate(std::slice::from_ref(&whole.groups), |groups| {
            let hello = ClientHello { groups: groups.to_vec(), ..whole.clone() };
            Ok(self.ask(&hello)?.and_then(with_group))
        })?;
        if found.chosen.is_empty() {
            for group in whole.groups.clone() {
                let Some(key) = shares::public_key(group) else { continue };
                let shares = vec![(group, key)];
                let hello = ClientHello { groups: vec![group], shares, ..whole.clone() };
                match self.ask(&hello)? {
                    Ok(flight) => found.chosen.push((group, flight)),
                    Err(refusal) => found.refusal = Some(refusal),
                }
            }
        }
        Ok(found)
    }

    /// The groups of a version up to TLS 1.2, with these suites. Many servers choose an ECDSA
    /// certificate only if its own curve is listed (RFC 8422, section 5.1): it then stands behind
    /// the groups that are asked for.
    fn groups_with(&mut self, version: Protocol, suites: &[u16]) -> Result<Found<Flight>, Stop> {
        let whole = ClientHello { suites: suites.to_vec(), ..self.hello(version) };
        let mut found = self.groups_beside(&whole, None)?;
        let certificate = found.chosen.first().map(|(_, flight)| &flight.certificates);
        let curve = certificate.and_then(|chain| certificate_group(chain));
        if let Some(curve) = curve.map(|curve| curve.code_point()) {
            let known: Vec<u16> = found.chosen.iter().map(|(group, _)| *group).collect();
            let unknown = |group: &&u16| !known.contains(group) && **group != curve;
            let rest = whole.groups.iter().filter(unknown).copied().collect();
            let more = ClientHello { groups: rest, ..whole };
            found.chosen.extend(self.groups_beside(&more, Some(curve))?.chosen);
        }
        Ok(found)
    }

    fn groups_beside(
        &mut self,
        whole: &ClientHello,
        curve: Option<u16>,
    ) -> Result<Found<Flight>, Stop> {
        enumerate(std::slice::from_ref(&whole.groups), |groups| {
            let groups = groups.iter().copied().chain(curve).collect();
            let hello = ClientHello { groups, ..whole.clone() };
            let choice = self.ask(&hello)?.and_then(with_group);
            let curve_only = |choice: &(u16, Flight)| Some(choice.0) == curve;
            Ok(match choice {
                Ok(choice) if curve_only(&choice) => Err(Refusal::alert(HANDSHAKE_FAILURE)),
                other => other,
            })
        })
    }

    /// The schemes of TLS 1.3, by real handshakes, and those of TLS 1.2.
    pub(super) fn find_schemes(&mut self, schemes: &mut Vec<Accepted<Named>>) -> Result<(), Stop> {
        if self.has(Protocol::Tls13) {
            let found = self.schemes_of_tls13()?;
            schemes.push(named(Protocol::Tls13, found, registry::scheme_name));
        }
        if self.has(Protocol::Tls12) {
            let signing = |number: &u16| {
                let kx = registry::suite(*number).map(|suite| suite.kx);
                matches!(kx, Some(TlsCipherKx::Ecdhe | TlsCipherKx::Dhe))
            };
            let suites: Vec<u16> = self.known_suites()?.into_iter().filter(signing).collect();
            let whole = ClientHello { suites, ..self.hello(Protocol::Tls12) };
            if !whole.suites.is_empty() {
                let found = enumerate(&registry::scheme_families(), |schemes| {
                    let suites = fitting(&whole.suites, schemes);
                    if suites.is_empty() {
                        return Ok(Err(Refusal::alert(HANDSHAKE_FAILURE)));
                    }
                    let schemes = schemes.to_vec();
                    let hello = ClientHello { suites, schemes, ..whole.clone() };
                    Ok(self.ask(&hello)?.and_then(with_scheme))
                })?;
                schemes.push(named(Protocol::Tls12, found, registry::scheme_name));
            }
        }
        Ok(())
    }
}

/// What a server answers that has nothing in common with a client: where it need not be asked, or
/// did something that amounts to it.
const HANDSHAKE_FAILURE: u8 = 40;

/// The suites whose certificates can sign by one of the schemes: a server may choose an RSA
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
        group: group.or_else(|| flight.prime_bits.map(|bits| format!("DH-{bits}"))),
    }
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

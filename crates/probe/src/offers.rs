//! Single offers: whether the server would continue with exactly this handshake. Found with a
//! ClientHello that has a key share for the first group, as in a load, without completing the key
//! exchange.

use super::asker::Asker;
use super::connection::Stop;
use super::record::{OfferFound, accepted};
use super::shares;
use super::spec::ProbeOffer;
use tls_parser::TlsCipherKx;
use tlslab_tls::certificates::{certificate_group, describe};
use tlslab_wire::names::TlsVersion;
use tlslab_wire::tls::answer::Flight;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry::{self, Protocol};

/// The server's answer to an offer. In TLS 1.2 the curve of the certificate is added after the
/// groups, as in a load, if the server requires it.
pub fn offer(asker: &mut Asker, offer: &ProbeOffer) -> Result<OfferFound, Stop> {
    let hello = hello_of(asker, offer);
    let mut answer = asker.ask_for_share(&hello)?;
    let has_tls12 = hello.versions.contains(&Protocol::Tls12);
    let refused = answer.as_ref().is_err_and(|refusal| !refusal.is_silence());
    if refused && has_tls12 && !offer.groups.is_empty() {
        let open = ClientHello { groups: registry::groups(), ..hello.clone() };
        match asker.ask(&open)? {
            Ok(flight) => {
                let curve = certificate_group(&flight.certificates);
                if let Some(curve) = curve.filter(|curve| !offer.groups.contains(curve)) {
                    let groups = hello.groups.iter().copied().chain([curve.code_point()]).collect();
                    answer = asker.ask(&ClientHello { groups, ..hello.clone() })?;
                }
            }
            // Whether the certificate's curve was missing is not known.
            Err(silence) if silence.is_silence() => answer = Err(silence),
            Err(_) => {}
        }
    }
    let forced = !offer.groups.is_empty();
    Ok(match answer.and_then(|flight| as_offered(&hello, forced, flight)) {
        Ok(flight) => OfferFound {
            accepted: Some(true),
            key: describe(&flight.certificates).map(|certificate| certificate.key),
            refusal: None,
        },
        Err(refusal) => {
            OfferFound { accepted: accepted(Some(&refusal)), key: None, refusal: Some(refusal) }
        }
    })
}

fn hello_of(asker: &Asker, offer: &ProbeOffer) -> ClientHello {
    let versions: Vec<Protocol> = [Protocol::Tls13, Protocol::Tls12]
        .into_iter()
        .filter(|v| offer.versions.is_empty() || offer.versions.contains(&of_engine(*v)))
        .collect();
    let whole = asker.hello(versions.first().copied().unwrap_or(Protocol::Tls13));
    let all_suites = versions.iter().flat_map(|version| registry::suites_of(*version));
    let exchanging = |suite: &u16| offer.groups.is_empty() || has_group(*suite);
    let all_suites = all_suites.filter(exchanging).collect();
    let groups = numbers(&offer.groups, |group| group.code_point(), whole.groups);
    let share = groups.first().and_then(|group| Some((*group, shares::public_key(*group)?)));
    ClientHello {
        suites: numbers(&offer.suites, |suite| suite.code_point(), all_suites),
        schemes: numbers(&offer.signature_schemes, |s| s.code_point(), whole.schemes),
        shares: share.into_iter().collect(),
        versions,
        groups,
        ..whole
    }
}

/// True if a suite uses a named group: all of TLS 1.3, and ECDHE.
fn has_group(suite: u16) -> bool {
    let kx = registry::suite(suite).map(|suite| suite.kx);
    matches!(kx, Some(TlsCipherKx::Tls13 | TlsCipherKx::Ecdhe))
}

/// A server may choose the certificate's curve, which was listed only for the certificate, or none
/// of the groups: neither is the offered handshake.
fn as_offered(hello: &ClientHello, forced: bool, flight: Flight) -> Result<Flight, Refusal> {
    let other = |words| Err(Refusal::other("group", words));
    match flight.group {
        None if flight.retry => other("asked for another ClientHello without a group".to_owned()),
        None if forced => other("exchanges keys without a group".to_owned()),
        Some(group) if !hello.groups.contains(&group) => {
            other(format!("chose group {}", registry::group_name(group)))
        }
        _ => Ok(flight),
    }
}

fn of_engine(version: Protocol) -> TlsVersion {
    if version == Protocol::Tls13 { TlsVersion::Tls13 } else { TlsVersion::Tls12 }
}

fn numbers<T>(named: &[T], number: impl Fn(&T) -> u16, all: Vec<u16>) -> Vec<u16> {
    if named.is_empty() { all } else { named.iter().map(number).collect() }
}

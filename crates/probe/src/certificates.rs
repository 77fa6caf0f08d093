//! Finds the server's certificate chains. A server with several chooses by the client's schemes and
//! suites, so each kind of key is requested separately.

use std::net::IpAddr;

use openssl::nid::Nid;
use openssl::ocsp::{OcspResponse, OcspResponseStatus};
use openssl::x509::{X509, X509VerifyResult};

use super::asker::Asker;
use super::connection::Stop;
use super::handshake;
use super::record::{Chain, Staple};
use super::trust;
use tlslab_tls::TrustAnchors;
use tlslab_tls::certificates::{describe, requires_staple};
use tlslab_tls::openssl::ffi;
use tlslab_wire::names::{SignatureKey, SignatureScheme};
use tlslab_wire::sanitize::sanitize;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::registry::{self, Authentication, PSS_ONLY, Protocol};

/// The highest number of stored names of a certificate, and the highest length of each in bytes.
const NAMES_LIMIT: usize = 20;
const NAME_LIMIT: usize = 256;

/// The server's chain in DER, and its stapled OCSP response.
type Sent = (Vec<Vec<u8>>, Option<Vec<u8>>);

/// Finds each chain once, by its first certificate, with the versions in which it was sent.
pub fn find_certificates(
    asker: &mut Asker,
    trust: &TrustAnchors,
    chains: &mut Vec<Chain>,
) -> Result<(), Stop> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let server_name = asker.server_name().to_owned();
    let mut add = |(chain, staple): Sent, version| {
        let Some(own) = chain.first() else { return };
        if let Some(at) = seen.iter().position(|other| other == own) {
            if !chains[at].versions.contains(&version) {
                chains[at].versions.push(version);
            }
            return;
        }
        if let Some(found) = describe_chain(&chain, staple.as_deref(), version, trust, &server_name)
        {
            seen.push(own.clone());
            chains.push(found);
        }
    };
    if asker.has(Protocol::Tls13) {
        let mut refusals = Vec::new();
        for schemes in handshake::known_families() {
            let answer = chain_of_tls13(asker, &schemes)?;
            refusals.push(answer.map(|sent| add(sent, Protocol::Tls13)).err());
        }
        note_if_none(asker, Protocol::Tls13, &refusals)?;
    }
    if let Some(hello) = asker.legacy_hello() {
        let version = hello.versions[0];
        let mut refusals = Vec::new();
        for (authentication, schemes) in kinds() {
            if let Some(answer) = chain_in_the_clear(asker, &hello, authentication, schemes)? {
                refusals.push(answer.map(|sent| add(sent, version)).err());
            }
        }
        note_if_none(asker, version, &refusals)?;
    }
    Ok(())
}

/// Notes that no certificate of a version was seen, if every question for one was refused. The
/// server accepts the version, so it has one. A silence is noted already.
fn note_if_none(
    asker: &mut Asker,
    version: Protocol,
    refusals: &[Option<Refusal>],
) -> Result<(), Stop> {
    let open = |refusal: &Option<Refusal>| refusal.as_ref().is_some_and(|r| !r.is_silence());
    match refusals {
        [.., Some(last)] if refusals.iter().all(open) => {
            asker.about(format!("certificates of {version}"));
            asker.doubt(last.clone())
        }
        _ => Ok(()),
    }
}

fn chain_of_tls13(asker: &mut Asker, schemes: &[u16]) -> Result<Result<Sent, Refusal>, Stop> {
    let wanted = schemes.first().copied().map(registry::scheme_name).unwrap_or_default();
    asker.about(format!("certificate for {wanted} in {}", Protocol::Tls13));
    let terms = handshake::Terms::new(Protocol::Tls13).and_then(|terms| terms.schemes(schemes));
    let answer = handshake::shake(asker, terms)?;
    if let Ok(stream) = &answer {
        asker.learn_client_certificate(ffi::is_asked_for_certificate(stream.ssl()));
    }
    Ok(answer.and_then(|stream| {
        let chain = stream.ssl().peer_cert_chain().into_iter().flatten();
        let chain = chain.filter_map(|certificate| certificate.to_der().ok()).collect();
        sent(chain, stream.ssl().ocsp_status().map(<[u8]>::to_vec))
    }))
}

fn sent(chain: Vec<Vec<u8>>, staple: Option<Vec<u8>>) -> Result<Sent, Refusal> {
    let none = || Refusal::other("certificate", "sent no certificate".to_owned());
    if chain.is_empty() { Err(none()) } else { Ok((chain, staple)) }
}

/// The chain up to TLS 1.2 for a kind of key; `None` if no suite is for it.
fn chain_in_the_clear(
    asker: &mut Asker,
    hello: &ClientHello,
    authentication: Authentication,
    schemes: Vec<u16>,
) -> Result<Option<Result<Sent, Refusal>>, Stop> {
    let fits = |suite: &u16| registry::authentication(*suite) == Some(authentication);
    let suites: Vec<u16> = hello.suites.iter().copied().filter(fits).collect();
    if suites.is_empty() {
        return Ok(None);
    }
    let signed =
        |scheme: &&u16| registry::authentication_of_scheme(**scheme) == Some(authentication);
    let wanted = schemes.iter().find(signed).copied().map(registry::scheme_name);
    let wanted = wanted.unwrap_or_default();
    asker.about(format!("certificate for {wanted} in {}", hello.versions[0]));
    let answer = asker.ask(&ClientHello { suites, schemes, ..hello.clone() })?;
    if let Ok(flight) = &answer {
        asker.learn_client_certificate(flight.asks_for_certificate);
    }
    Ok(Some(answer.and_then(|flight| sent(flight.certificates, flight.staple))))
}

/// The fields of a chain, and whether it leads to a trust anchor.
fn describe_chain(
    chain: &[Vec<u8>],
    staple: Option<&[u8]>,
    version: Protocol,
    trust: &TrustAnchors,
    server_name: &str,
) -> Option<Chain> {
    let certificate = describe(chain)?;
    let parsed: Vec<X509> = chain.iter().filter_map(|der| X509::from_der(der).ok()).collect();
    let own = parsed.first()?;
    let names = names(own);
    let name_matches = trust::is_for(&chain[0], server_name);
    let checked = match trust {
        TrustAnchors::Anyone => None,
        TrustAnchors::Certificates(anchors) => Some(trust::check(anchors, &parsed, chain)),
    };
    let verdict =
        checked.as_ref().map(|fault| trust::verdict(fault.as_ref(), name_matches, server_name));
    Some(Chain {
        versions: vec![version],
        certificate,
        bytes: chain[0].len(),
        signature_algorithm: algorithm(own),
        names_count: names.len(),
        names: names.into_iter().take(NAMES_LIMIT).collect(),
        name_matches,
        in_order: parsed.windows(2).all(|pair| pair[1].issued(&pair[0]) == X509VerifyResult::OK),
        trusted: checked.as_ref().map(Option::is_none),
        problem: checked.flatten().map(|fault| fault.problem),
        verdict,
        staple: staple.map(describe_staple),
        must_staple: requires_staple(&chain[0]),
    })
}

/// The kinds of key that suites up to TLS 1.2 name, with the signature schemes to offer for each.
fn kinds() -> [(Authentication, Vec<u16>); 5] {
    let all = registry::schemes();
    let (edwards, others): (Vec<u16>, Vec<u16>) = all.iter().copied().partition(|number| {
        SignatureScheme::from_code_point(*number).key() == Some(SignatureKey::EdDsa)
    });
    let not_pss_only = all.iter().copied().filter(|number| !PSS_ONLY.contains(number)).collect();
    [
        (Authentication::Ecdsa, others),
        (Authentication::Ecdsa, edwards),
        (Authentication::Rsa, not_pss_only),
        (Authentication::Rsa, PSS_ONLY.to_vec()),
        (Authentication::Dsa, all),
    ]
}

/// The name of the algorithm that signs a certificate; its number if OpenSSL does not know it.
fn algorithm(certificate: &X509) -> String {
    let object = certificate.signature_algorithm().object();
    let known = Some(object.nid()).filter(|nid| *nid != Nid::UNDEF);
    known
        .and_then(|nid| nid.long_name().ok())
        .map_or_else(|| sanitize(&object.to_string(), NAME_LIMIT), str::to_owned)
}

/// The names in a certificate: DNS names and addresses (RFC 9525, section 6).
fn names(certificate: &X509) -> Vec<String> {
    let names = certificate.subject_alt_names().into_iter().flatten();
    let text = |name: openssl::x509::GeneralName| match (name.dnsname(), name.ipaddress()) {
        (Some(dns), _) => Some(sanitize(dns, NAME_LIMIT)),
        (None, Some(bytes)) => address(bytes).map(|address| address.to_string()),
        (None, None) => None,
    };
    names.filter_map(text).collect()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn describe_staple(der: &[u8]) -> Staple {
    let status = OcspResponse::from_der(der).map(|response| response.status());
    let status = match status {
        Ok(OcspResponseStatus::SUCCESSFUL) => "successful",
        Ok(OcspResponseStatus::MALFORMED_REQUEST) => "malformed_request",
        Ok(OcspResponseStatus::INTERNAL_ERROR) => "internal_error",
        Ok(OcspResponseStatus::TRY_LATER) => "try_later",
        Ok(OcspResponseStatus::SIG_REQUIRED) => "signature_required",
        Ok(OcspResponseStatus::UNAUTHORIZED) => "unauthorized",
        Ok(_) | Err(_) => "unreadable",
    };
    Staple { bytes: der.len(), status: status.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_tls::self_signed::self_signed;
    use tlslab_wire::names::KeyKind;

    #[test]
    fn every_kind_of_key_is_asked_for_alone() {
        let families = handshake::known_families();
        assert_eq!(families.len(), 5, "{families:?}");
        assert!(families[0].contains(&0x0403) && families[1].contains(&0x0804));
        assert!(families.iter().any(|family| family == &PSS_ONLY));
    }

    #[test]
    fn an_algorithm_that_openssl_does_not_know_has_its_number() {
        /// ecdsa-with-SHA256 (RFC 5758, section 3.2).
        const KNOWN: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
        let mut der = self_signed(KeyKind::EcdsaP256).unwrap().identity.certificate().to_vec();
        let named = |der: &[u8]| algorithm(&X509::from_der(der).unwrap());
        assert_eq!(named(&der), "ecdsa-with-SHA256");
        for at in 0..der.len() - KNOWN.len() {
            if der[at..].starts_with(&KNOWN) {
                der[at + KNOWN.len() - 1] = 0x7f;
            }
        }
        assert_eq!(named(&der), "1.2.840.10045.4.3.127");
    }

    #[test]
    fn what_is_no_ocsp_response_is_reported_and_taken() {
        let staple = describe_staple(b"nonsense");
        assert_eq!((staple.bytes, staple.status.as_str()), (8, "unreadable"));
        assert_eq!(describe_staple(&[0x30, 3, 0x0a, 1, 3]).status, "try_later");
    }
}

//! Finds the server's certificate chains. A server with several chooses by the client's schemes and
//! suites, so each kind of key is requested separately.

use std::net::IpAddr;

use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::ocsp::{OcspResponse, OcspResponseStatus};
use openssl::stack::Stack;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::{X509, X509PurposeId, X509StoreContext, X509VerifyResult};
use rustls_pki_types::{CertificateDer, ServerName};
use webpki::EndEntityCert;

use super::asker::Asker;
use super::connection::Stop;
use super::handshake;
use super::record::{Chain, Staple};
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
    let problem = match trust {
        TrustAnchors::Anyone => None,
        TrustAnchors::Certificates(anchors) => Some(problem(anchors, &parsed, chain)),
    };
    Some(Chain {
        versions: vec![version],
        certificate,
        bytes: chain[0].len(),
        signature_algorithm: algorithm(own),
        names_count: names.len(),
        names: names.into_iter().take(NAMES_LIMIT).collect(),
        name_matches: is_for(&chain[0], server_name),
        in_order: parsed.windows(2).all(|pair| pair[1].issued(&pair[0]) == X509VerifyResult::OK),
        trusted: problem.as_ref().map(Option::is_none),
        problem: problem.flatten(),
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

/// True if a certificate covers a name, whoever issued it.
fn is_for(certificate: &[u8], name: &str) -> bool {
    let der = CertificateDer::from(certificate);
    let (Ok(certificate), Ok(name)) = (EndEntityCert::try_from(&der), ServerName::try_from(name))
    else {
        return false;
    };
    certificate.verify_is_valid_for_subject_name(&name).is_ok()
}

/// The reason to reject a chain: it leads to none of these trust anchors, is not valid now, or is
/// not for a server. As in a load, any trust anchor ends a chain, including an intermediate. `der`:
/// the same chain in DER.
fn problem(anchors: &[Vec<u8>], chain: &[X509], der: &[Vec<u8>]) -> Option<String> {
    let verified = || -> Result<X509VerifyResult, ErrorStack> {
        let store = store_of(anchors)?;
        let mut sent = Stack::new()?;
        for certificate in chain {
            sent.push(certificate.clone())?;
        }
        let mut context = X509StoreContext::new()?;
        context.init(&store, &chain[0], &sent, |context| {
            let valid = context.verify_cert()?;
            Ok(if valid { X509VerifyResult::OK } else { context.error() })
        })
    };
    match verified() {
        Ok(X509VerifyResult::OK) => None,
        Ok(result) => {
            let words = result.error_string();
            let issuer = ISSUER_MISSING.contains(&result.as_raw()).then(|| last_issuer(chain, der));
            Some(match issuer.flatten() {
                Some(issuer) => format!(
                    "{words}: '{issuer}' is not among the certificates that the server sends, nor \
                     trusted"
                ),
                None => words.to_owned(),
            })
        }
        Err(_) => Some("the certificate cannot be verified".to_owned()),
    }
}

/// `X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY` and `X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE` of
/// openssl/x509_vfy.h: the server omits an intermediate, or its authority is not trusted.
const ISSUER_MISSING: [i32; 2] = [20, 21];

/// The issuer of the last certificate on the way from the server's own to the top.
fn last_issuer(chain: &[X509], der: &[Vec<u8>]) -> Option<String> {
    let mut at = 0;
    // Each step goes to another certificate: no longer way than the chain.
    for _ in 1..chain.len() {
        let issued = |(other, issuer): &(usize, &X509)| {
            *other != at && issuer.issued(&chain[at]) == X509VerifyResult::OK
        };
        match chain.iter().enumerate().find(issued) {
            Some((next, _)) => at = next,
            None => break,
        }
    }
    Some(describe(der.get(at..)?)?.issuer)
}

fn store_of(anchors: &[Vec<u8>]) -> Result<X509Store, ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    for anchor in anchors {
        // A system trust anchor that this OpenSSL cannot read is skipped.
        if let Ok(anchor) = X509::from_der(anchor) {
            store.add_cert(anchor)?;
        }
    }
    store.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    store.set_purpose(X509PurposeId::SSL_SERVER)?;
    Ok(store.build())
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

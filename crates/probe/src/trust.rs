//! Whether a client such as curl trusts a chain: it leads to a trusted authority, is valid now, and
//! is for the name asked for.

use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::stack::Stack;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{X509, X509PurposeId, X509StoreContext, X509VerifyResult};
use rustls_pki_types::{CertificateDer, ServerName};
use webpki::EndEntityCert;

use super::record::{Chain, TrustCode, TrustVerdict};
use tlslab_tls::certificates::describe;

/// `X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT`, `..._LOCALLY` and `X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE`
/// of openssl/x509_vfy.h: the server omits an intermediate, or its authority is not trusted.
const ISSUER_MISSING: [i32; 3] = [2, 20, 21];

/// Other results of a check, of openssl/x509_vfy.h.
const NOT_YET_VALID: i32 = 9;
const HAS_EXPIRED: i32 = 10;
const SELF_SIGNED_LEAF: i32 = 18;
const SELF_SIGNED_IN_CHAIN: i32 = 19;
const INVALID_PURPOSE: i32 = 26;

/// `X509_V_ERR_EE_KEY_TOO_SMALL`, `..._CA_KEY_TOO_SMALL` and `..._CA_MD_TOO_WEAK`.
const TOO_WEAK: [i32; 3] = [66, 67, 68];

/// OpenSSL's security level that most systems' clients have: keys of RSA with 2,048 bits or more,
/// no signatures with SHA-1.
const SECURITY_LEVEL: i32 = 2;

/// The reason to reject a chain, whatever its name is.
pub struct Fault {
    code: TrustCode,
    /// The words of a verdict.
    message: String,
    /// OpenSSL's words.
    pub problem: String,
}

/// The reason to reject a chain: it leads to none of these trust anchors, is not valid now, or is
/// not for a server. As in a load, any trust anchor ends a chain, including an intermediate. `der`:
/// the same chain in DER.
pub fn check(anchors: &[Vec<u8>], chain: &[X509], der: &[Vec<u8>]) -> Option<Fault> {
    let (result, depth) = match verify(anchors, chain) {
        Ok((X509VerifyResult::OK, _)) => return None,
        Ok(rejected) => rejected,
        Err(_) => {
            let words = "the certificate cannot be verified".to_owned();
            return Some(Fault {
                code: TrustCode::Invalid,
                message: words.clone(),
                problem: words,
            });
        }
    };
    let words = result.error_string();
    let top = top_of(chain);
    let issuer = der.get(top..).and_then(describe).map(|certificate| certificate.issuer);
    let problem = match &issuer {
        Some(issuer) if ISSUER_MISSING.contains(&result.as_raw()) => format!(
            "{words}: '{issuer}' is not among the certificates that the server sends, nor trusted"
        ),
        _ => words.to_owned(),
    };
    let issuer = issuer.unwrap_or_default();
    let whose = if depth == 0 { "the certificate" } else { "the certificate of an issuer" };
    let (code, message) = match result.as_raw() {
        SELF_SIGNED_LEAF => (TrustCode::SelfSigned, "self-signed certificate".to_owned()),
        raw if raw == SELF_SIGNED_IN_CHAIN || ISSUER_MISSING.contains(&raw) => {
            untrusted(anchors, &chain[0], top, &issuer)
        }
        HAS_EXPIRED => (TrustCode::Expired, format!("{whose} has expired")),
        NOT_YET_VALID => (TrustCode::NotYetValid, format!("{whose} is not valid yet")),
        INVALID_PURPOSE => (TrustCode::WrongPurpose, format!("{whose} is not for servers")),
        raw if TOO_WEAK.contains(&raw) => {
            (TrustCode::TooWeak, format!("{whose} is too weak for most clients: {words}"))
        }
        _ => (TrustCode::Invalid, words.to_owned()),
    };
    Some(Fault { code, message, problem })
}

/// The verdict on a chain with this fault, if it has one.
pub fn verdict(fault: Option<&Fault>, name_matches: bool, server_name: &str) -> TrustVerdict {
    let (code, message) = match fault {
        Some(fault) => (fault.code, fault.message.clone()),
        None if name_matches => {
            let words = format!("the chain leads to a trusted authority, and is for {server_name}");
            (TrustCode::Trusted, words)
        }
        None => (TrustCode::WrongName, format!("the certificate is not for {server_name}")),
    };
    TrustVerdict { code, message }
}

/// The verdict on all chains of a server: a client may get any of them. With several, it names the
/// key of the one that is not trusted.
pub fn overall(chains: &[Chain]) -> Option<TrustVerdict> {
    let verdicts = || chains.iter().filter_map(|chain| Some((chain, chain.verdict.as_ref()?)));
    let bad = verdicts().find(|(_, verdict)| verdict.code != TrustCode::Trusted);
    let (chain, verdict) = bad.or_else(|| verdicts().next())?;
    let mut verdict = verdict.clone();
    if bad.is_some() && chains.len() > 1 {
        verdict.message = format!("{} (that with {})", verdict.message, chain.certificate.key);
    }
    Some(verdict)
}

/// Code and words for a chain whose last issuer is not trusted. A server that sends nothing above
/// its own certificate omits an intermediate if that names a place to fetch its issuer from, as the
/// certificates of public authorities do (RFC 5280, section 4.2.2.1). Without such a place the
/// authority is more likely a private one that the client does not trust.
fn untrusted(anchors: &[Vec<u8>], own: &X509, top: usize, issuer: &str) -> (TrustCode, String) {
    let is_alone = top == 0;
    if anchors.is_empty() {
        let words = "no authority is trusted: this machine has none".to_owned();
        (TrustCode::UnknownAuthority, words)
    } else if !is_alone {
        (TrustCode::UnknownAuthority, format!("'{issuer}' is no trusted authority"))
    } else if names_issuers_place(own) {
        let words = format!("the server does not send the intermediate certificate of '{issuer}'");
        (TrustCode::MissingIntermediate, words)
    } else {
        let words = format!(
            "its issuer '{issuer}' is neither sent by the server nor trusted: the authority is \
             unknown, or an intermediate certificate is missing"
        );
        (TrustCode::UnknownAuthority, words)
    }
}

fn names_issuers_place(certificate: &X509) -> bool {
    let places = certificate.authority_info();
    places.is_some_and(|all| all.iter().any(|p| p.method().nid() == Nid::AD_CA_ISSUERS))
}

/// True if a certificate covers a name, whoever issued it.
pub fn is_for(certificate: &[u8], name: &str) -> bool {
    let der = CertificateDer::from(certificate);
    let (Ok(certificate), Ok(name)) = (EndEntityCert::try_from(&der), ServerName::try_from(name))
    else {
        return false;
    };
    certificate.verify_is_valid_for_subject_name(&name).is_ok()
}

/// The result of OpenSSL's check, with the place in the chain that it is about, from 0.
fn verify(anchors: &[Vec<u8>], chain: &[X509]) -> Result<(X509VerifyResult, u32), ErrorStack> {
    let store = store_of(anchors)?;
    let mut sent = Stack::new()?;
    for certificate in chain {
        sent.push(certificate.clone())?;
    }
    let mut context = X509StoreContext::new()?;
    context.init(&store, &chain[0], &sent, |context| {
        let is_valid = context.verify_cert()?;
        let result = if is_valid { X509VerifyResult::OK } else { context.error() };
        Ok((result, context.error_depth()))
    })
}

/// The last certificate on the way from the server's own to the top.
fn top_of(chain: &[X509]) -> usize {
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
    at
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
    let mut level = X509VerifyParam::new()?;
    level.set_auth_level(SECURITY_LEVEL);
    store.set_param(&level)?;
    Ok(store.build())
}

#[cfg(test)]
mod tests {
    use openssl::asn1::Asn1Time;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::hash::MessageDigest;
    use openssl::pkey::{PKey, Private};
    use openssl::rsa::Rsa;
    use openssl::x509::X509NameBuilder;
    use openssl::x509::extension::BasicConstraints;

    use super::*;

    /// A certificate of a key with a name, issued by another one, or by itself.
    fn issued(name: &str, key: &PKey<Private>, by: Option<(&X509, &PKey<Private>)>) -> X509 {
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        let mut made = X509::builder().unwrap();
        made.set_version(2).unwrap();
        made.set_subject_name(&subject).unwrap();
        made.set_issuer_name(by.map_or(&subject, |(issuer, _)| issuer.subject_name())).unwrap();
        made.set_pubkey(key).unwrap();
        made.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        made.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
        if by.is_none() {
            made.append_extension(BasicConstraints::new().critical().ca().build().unwrap())
                .unwrap();
        }
        made.sign(by.map_or(key, |(_, signer)| signer), MessageDigest::sha256()).unwrap();
        made.build()
    }

    #[test]
    fn a_key_that_most_clients_refuse_is_not_trusted() {
        let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let signer = PKey::from_ec_key(EcKey::generate(&curve).unwrap()).unwrap();
        let authority = issued("authority", &signer, None);
        let anchors = [authority.to_der().unwrap()];
        let code_of = |bits| {
            let key = PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap();
            let chain = [issued("own", &key, Some((&authority, &signer)))];
            let der: Vec<_> = chain.iter().map(|each| each.to_der().unwrap()).collect();
            check(&anchors, &chain, &der).map(|fault| fault.code)
        };
        assert_eq!(code_of(2048), None);
        assert_eq!(code_of(1024), Some(TrustCode::TooWeak));
    }
}

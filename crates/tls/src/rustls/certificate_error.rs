//! Phrases in plain English for the errors by which rustls and webpki reject a server's
//! certificate.

use std::borrow::Cow;

use rustls::pki_types::UnixTime;
use rustls::{CertificateError, ExtendedKeyPurpose, OtherError};
use x509_parser::asn1_rs::{FromDer as _, Oid};

use super::variant_name::word;
use crate::staple;

/// The certificate's validity has ended. `tlslab-load` chooses a remedy by this phrase and the next
/// four.
pub const EXPIRED: &str = "a certificate has expired";
/// The certificate's validity has not begun.
pub const NOT_YET_VALID: &str = "a certificate is not valid yet";
/// The requested name is none of the certificate's names.
pub const WRONG_NAME: &str = "the certificate is for other names";
/// The chain does not end at a trusted authority.
pub const UNKNOWN_ISSUER: &str = "no trusted CA has issued the certificate";
/// The signature of an issuer on a certificate, or of the server on the handshake, is wrong.
pub const BAD_SIGNATURE: &str = "a signature does not fit the signer's key";

/// The phrase for an error of neither library.
const UNNAMED: &str = "the certificate is refused for another reason";

const CRITICAL_EXTENSION: &str = "a certificate has an unknown critical extension";

const REVOCATION_LIST: &str = "a certificate revocation list of an unsupported kind";

/// The phrase for an error, without anything that the server chose. An error without a phrase, such
/// as a new one of a later release, is named by its variant in lower case.
pub(super) fn phrase(error: &CertificateError) -> Cow<'static, str> {
    use CertificateError as E;
    let phrase = match error {
        E::BadEncoding => "a certificate is not encoded correctly",
        // This is webpki's InvalidCertValidity. An expired certificate is an `ExpiredContext`.
        E::Expired => "a certificate's validity ends before it begins",
        E::ExpiredContext { .. } => EXPIRED,
        E::NotValidYet | E::NotValidYetContext { .. } => NOT_YET_VALID,
        E::Revoked => "a certificate is revoked",
        E::UnhandledCriticalExtension => CRITICAL_EXTENSION,
        E::UnknownIssuer => UNKNOWN_ISSUER,
        E::UnknownRevocationStatus => "it is not known whether a certificate is revoked",
        E::ExpiredRevocationList | E::ExpiredRevocationListContext { .. } => {
            "a certificate revocation list has expired"
        }
        E::BadSignature => BAD_SIGNATURE,
        E::UnsupportedSignatureAlgorithmContext { .. } => {
            "a signature has an unsupported algorithm"
        }
        E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "a signature's algorithm does not fit the signer's kind of key"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => WRONG_NAME,
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "a certificate is not for TLS servers"
        }
        E::InvalidOcspResponse => "the stapled OCSP response is invalid",
        E::ApplicationVerificationFailure => "the client refuses the certificate",
        E::Other(OtherError(source)) => {
            let of_chain = source.downcast_ref::<webpki::Error>();
            return of_chain.map_or(Cow::Borrowed(UNNAMED), phrase_of_chain);
        }
        other => return word(other).into(),
    };
    phrase.into()
}

/// As [`phrase`], for errors of webpki that have no equivalent in rustls.
fn phrase_of_chain(error: &webpki::Error) -> Cow<'static, str> {
    use webpki::Error as E;
    let phrase = match error {
        E::CaUsedAsEndEntity => "a CA's certificate used as the server's own",
        E::EndEntityUsedAsCa => "a server's certificate used as a CA's",
        E::CertDistrusted => "a certificate's key is distrusted",
        E::EmptyEkuExtension => "a certificate's extended key usage is empty",
        E::ExtensionValueInvalid => "an extension of a certificate is invalid",
        E::InvalidNetworkMaskConstraint => "a CA's name constraint has an invalid network mask",
        E::InvalidSerialNumber => "a certificate's serial number is invalid",
        E::MalformedDnsIdentifier => "a DNS name in a certificate is malformed",
        E::MalformedExtensions => "the extensions of a certificate are malformed",
        E::MalformedNameConstraint => "a CA's name constraint is malformed",
        E::MaximumNameConstraintComparisonsExceeded => {
            "the chain has too many names and name constraints"
        }
        E::MaximumPathBuildCallsExceeded => "there are too many ways to build the chain",
        E::MaximumPathDepthExceeded => "the chain is too long",
        E::MaximumSignatureChecksExceeded => "the chain has too many signatures",
        E::NameConstraintViolation => "a CA's name constraints exclude the certificate",
        E::PathLenConstraintViolated => "the chain is longer than a CA's certificate allows",
        E::SignatureAlgorithmMismatch => "a certificate names two signature algorithms",
        E::UnsupportedCertVersion => "a certificate is not of X.509 version 3",
        E::UnsupportedCriticalExtension => CRITICAL_EXTENSION,
        E::UnsupportedNameType => "the server's name is of an unsupported kind",
        E::InvalidCrlNumber => "a certificate revocation list has an invalid number",
        E::UnsupportedCrlIssuingDistributionPoint
        | E::UnsupportedCrlVersion
        | E::UnsupportedDeltaCrl
        | E::UnsupportedIndirectCrl
        | E::UnsupportedRevocationReason
        | E::UnsupportedRevocationReasonsPartitioning => REVOCATION_LIST,
        other => return word(other).into(),
    };
    phrase.into()
}

/// Details of the rejected certificate, which the server chose; empty if there are none.
pub(super) fn details(error: &CertificateError) -> String {
    use CertificateError as E;
    match error {
        E::ExpiredContext { time, not_after } => format!("{} s ago", seconds(*not_after, *time)),
        E::ExpiredRevocationListContext { time, next_update } => {
            format!("{} s ago", seconds(*next_update, *time))
        }
        E::NotValidYetContext { time, not_before } => {
            format!("valid in {} s", seconds(*time, *not_before))
        }
        E::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("{} is not among its names: {names}", expected.to_str())
        }
        E::InvalidPurposeContext { presented, .. } if !presented.is_empty() => {
            let purposes: Vec<_> = presented.iter().map(purpose).collect();
            format!("it is for {}", purposes.join(", "))
        }
        E::UnsupportedSignatureAlgorithmContext { signature_algorithm_id, .. } => {
            format!("signature {}", dotted(signature_algorithm_id))
        }
        E::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id,
            public_key_algorithm_id,
        } => {
            let [signature, key] = [signature_algorithm_id, public_key_algorithm_id];
            format!("signature {}, key {}", dotted(signature), dotted(key))
        }
        E::InvalidOcspResponse if !staple::last_refusal().is_empty() => {
            format!("it {}", staple::last_refusal())
        }
        E::Other(OtherError(source)) if !source.is::<webpki::Error>() => source.to_string(),
        _ => String::new(),
    }
}

fn seconds(from: UnixTime, to: UnixTime) -> u64 {
    to.as_secs().saturating_sub(from.as_secs())
}

/// A name of a certificate, without webpki's wrapper as in `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.map_or(name, |inner| inner.trim_matches('"'))
}

/// A purpose in words; its object identifier if rustls has no name for it.
fn purpose(purpose: &ExtendedKeyPurpose) -> String {
    match purpose {
        ExtendedKeyPurpose::Other(parts) => {
            let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
            parts.join(".")
        }
        named => named.to_string(),
    }
}

/// The object identifier at the start of the DER content of an AlgorithmIdentifier, in dotted form:
/// `1.2.840.10045.4.3.2`.
fn dotted(content: &[u8]) -> String {
    let read = Oid::from_der(content);
    read.map_or_else(|_| "unknown".to_owned(), |(_, identifier)| identifier.to_id_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{CertificateDer, ServerName};

    use crate::TrustAnchors;
    use crate::rustls::failure::reason;
    use crate::rustls::verifier::Verifier;
    use crate::self_signed::issue;
    use tlslab_wire::names::KeyKind;
    use tlslab_wire::reason::{REASON_LIMIT, Reason};

    fn of(error: CertificateError) -> Reason {
        reason(&error.into(), None)
    }

    fn of_chain(error: webpki::Error) -> CertificateError {
        CertificateError::Other(OtherError(Arc::new(error)))
    }

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    /// The reason why a client that trusts this authority rejects this certificate for a server of
    /// this name.
    fn refusal(trusted: Vec<u8>, shown: Vec<u8>, name: &'static str) -> Reason {
        let algorithms =
            rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
        let trust = TrustAnchors::Certificates(vec![trusted]);
        let verifier = Verifier::full(&trust, algorithms, algorithms.supported_schemes()).unwrap();
        let (shown, name) = (CertificateDer::from(shown), ServerName::try_from(name).unwrap());
        let verified = verifier.verify_server_cert(&shown, &[], &name, &[], UnixTime::now());
        reason(&verified.unwrap_err(), None)
    }

    #[test]
    fn refused_certificates_have_reasons_in_plain_words() {
        let server = issue(KeyKind::EcdsaP256, ServerAuth).unwrap();
        let other = issue(KeyKind::EcdsaP384, ServerAuth).unwrap();
        let namesake = issue(KeyKind::EcdsaP256, ServerAuth).unwrap();
        let client = issue(KeyKind::EcdsaP256, ClientAuth).unwrap();
        let localhost = "localhost";
        for (trusted, shown, name, reason, words) in [
            (
                &other.authority,
                &server.authority,
                localhost,
                "certificate_unknown (a CA's certificate used as the server's own)",
                "",
            ),
            (
                &server.authority,
                &server.certificate,
                "elsewhere.test",
                "bad_certificate (the certificate is for other names)",
                "elsewhere.test is not among its names: localhost, 127.0.0.1, ",
            ),
            (
                &other.authority,
                &server.certificate,
                localhost,
                "unknown_ca (no trusted CA has issued the certificate)",
                "",
            ),
            (
                &namesake.authority,
                &server.certificate,
                localhost,
                "decrypt_error (a signature does not fit the signer's key)",
                "",
            ),
            (
                &client.authority,
                &client.certificate,
                localhost,
                "unsupported_certificate (a certificate is not for TLS servers)",
                "it is for client authentication",
            ),
        ] {
            let refused = refusal(trusted.clone(), shown.clone(), name);
            assert_eq!(refused.name, reason);
            assert!(refused.words.starts_with(words), "{refused:?}");
            assert_eq!(refused.words.is_empty(), words.is_empty(), "{refused:?}");
        }
    }

    #[test]
    fn details_of_the_certificate_are_in_words() {
        use CertificateError as E;
        let name = || ServerName::try_from("a.test").unwrap();
        let (ecdsa, rsa) = ([6, 8, 42, 134, 72, 206, 61, 4, 3, 2], [6, 3, 42, 3, 4, 5, 0]);
        for (error, words) in [
            (E::ExpiredContext { time: at(90), not_after: at(30) }, "60 s ago"),
            (E::NotValidYetContext { time: at(90), not_before: at(95) }, "valid in 5 s"),
            (E::ExpiredRevocationListContext { time: at(9), next_update: at(2) }, "7 s ago"),
            (
                E::NotValidForNameContext { expected: name(), presented: Vec::new() },
                "a.test is not among its names: none",
            ),
            (
                E::NotValidForNameContext { expected: name(), presented: vec!["odd".to_owned()] },
                "a.test is not among its names: odd",
            ),
            (
                E::InvalidPurposeContext {
                    required: ExtendedKeyPurpose::ServerAuth,
                    presented: vec![
                        ExtendedKeyPurpose::ClientAuth,
                        ExtendedKeyPurpose::Other(vec![1, 3, 6]),
                    ],
                },
                "it is for client authentication, 1.3.6",
            ),
            (
                E::UnsupportedSignatureAlgorithmContext {
                    signature_algorithm_id: vec![1, 2],
                    supported_algorithms: Vec::new(),
                },
                "signature unknown",
            ),
            (
                E::UnsupportedSignatureAlgorithmForPublicKeyContext {
                    signature_algorithm_id: ecdsa.to_vec(),
                    public_key_algorithm_id: rsa.to_vec(),
                },
                "signature 1.2.840.10045.4.3.2, key 1.2.3.4",
            ),
        ] {
            assert_eq!(of(error).words, words);
        }
    }

    #[test]
    fn no_reason_is_the_name_of_a_librarys_error() {
        use CertificateError as E;
        use webpki::Error as Chain;
        let of_rustls = [
            E::BadEncoding,
            E::Expired,
            E::NotValidYet,
            E::Revoked,
            E::UnhandledCriticalExtension,
            E::UnknownIssuer,
            E::UnknownRevocationStatus,
            E::ExpiredRevocationList,
            E::BadSignature,
            E::NotValidForName,
            E::InvalidPurpose,
            E::InvalidOcspResponse,
            E::ApplicationVerificationFailure,
        ];
        let of_webpki = [
            Chain::CaUsedAsEndEntity,
            Chain::EndEntityUsedAsCa,
            Chain::CertDistrusted,
            Chain::EmptyEkuExtension,
            Chain::ExtensionValueInvalid,
            Chain::InvalidNetworkMaskConstraint,
            Chain::InvalidSerialNumber,
            Chain::MalformedDnsIdentifier,
            Chain::MalformedExtensions,
            Chain::MalformedNameConstraint,
            Chain::MaximumNameConstraintComparisonsExceeded,
            Chain::MaximumPathBuildCallsExceeded,
            Chain::MaximumPathDepthExceeded,
            Chain::MaximumSignatureChecksExceeded,
            Chain::NameConstraintViolation,
            Chain::PathLenConstraintViolated,
            Chain::SignatureAlgorithmMismatch,
            Chain::UnsupportedCertVersion,
            Chain::UnsupportedCriticalExtension,
            Chain::UnsupportedNameType,
            Chain::InvalidCrlNumber,
            Chain::UnsupportedCrlIssuingDistributionPoint,
            Chain::UnsupportedCrlVersion,
            Chain::UnsupportedDeltaCrl,
            Chain::UnsupportedIndirectCrl,
            Chain::UnsupportedRevocationReason,
            Chain::UnsupportedRevocationReasonsPartitioning,
        ];
        let named = of_rustls.into_iter().map(|error| (word(&error), error));
        let chains = of_webpki.into_iter().map(|error| (word(&error), of_chain(error)));
        for (word, error) in named.chain(chains) {
            let phrase = phrase(&error);
            assert_ne!(phrase, word);
            assert_ne!(phrase, UNNAMED, "{word}");
            let reason = of(error);
            assert!(reason.name.ends_with(&format!(" ({phrase})")), "{reason:?}");
            assert!(reason.name.len() <= REASON_LIMIT && reason.words.is_empty(), "{reason:?}");
        }
    }

    #[test]
    fn an_error_without_a_phrase_is_readable_and_cannot_drive_the_terminal() {
        let strange = Arc::new(io::Error::other("strange \u{1b}[2J"));
        let reason = of(CertificateError::Other(OtherError(strange)));
        assert_eq!(
            reason.in_one_line(),
            "certificate_unknown (the certificate is refused for another reason): \
             strange \u{fffd}[2J"
        );
        // rustls reports this error of webpki by another one.
        let reason = of(of_chain(webpki::Error::BadDerTime));
        assert_eq!(reason.in_one_line(), "certificate_unknown (bad der time)");
    }
}

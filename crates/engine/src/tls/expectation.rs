//! Compares what was negotiated with what was asked for.

use crate::names::{CipherSuite, KeyExchange, SignatureScheme, TlsVersion};
use crate::outcome::Mismatch;
use crate::spec::{HttpVersion, TlsSpec};

use super::{Alpn, HandshakeKind, KeyExchangeGroup, Negotiated};

/// What every connection of a run must have negotiated. An empty list asks for nothing.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    versions: Vec<TlsVersion>,
    suites: Vec<CipherSuite>,
    groups: Vec<u16>,
    signature_schemes: Vec<SignatureScheme>,
    http: HttpVersion,
}

impl Expectation {
    /// The expectation that a specification states.
    pub fn new(spec: &TlsSpec, http: HttpVersion) -> Self {
        Self {
            versions: spec.versions.clone(),
            suites: spec.suites.clone(),
            groups: spec.groups.iter().map(|group| group.code_point()).collect(),
            signature_schemes: spec.signature_schemes.clone(),
            http,
        }
    }

    /// The first fact that differs from what was asked for, if any.
    pub fn mismatch(&self, negotiated: &Negotiated) -> Option<Mismatch> {
        if !self.versions.is_empty() && !self.versions.contains(&negotiated.version) {
            return Some(Mismatch::Version);
        }
        if !self.suites.is_empty() && !self.suites.contains(&negotiated.suite) {
            return Some(Mismatch::Suite);
        }
        if negotiated.kind != HandshakeKind::Full {
            return Some(Mismatch::Kind);
        }
        if negotiated.hello_retry_request {
            return Some(Mismatch::HelloRetryRequest);
        }
        let group_agrees = match negotiated.group {
            Some(KeyExchangeGroup::Named(code_point)) => {
                self.groups.is_empty() || self.groups.contains(&code_point)
            }
            Some(KeyExchangeGroup::FiniteField(_)) | None => self.groups.is_empty(),
        };
        if !group_agrees {
            return Some(Mismatch::Group);
        }
        let signed = match negotiated.signature_scheme {
            Some(scheme) => {
                self.signature_schemes.is_empty() || self.signature_schemes.contains(&scheme)
            }
            None => negotiated.suite.key_exchange() == KeyExchange::Rsa,
        };
        if !signed {
            return Some(Mismatch::SignatureScheme);
        }
        let agreed = match self.http {
            // A server may leave ALPN out (RFC 7301, section 3.2).
            HttpVersion::Http11 => matches!(negotiated.alpn, None | Some(Alpn::Http11)),
            // Not so for HTTP/2 (RFC 9113, section 3.3).
            HttpVersion::Http2 => negotiated.alpn == Some(Alpn::Http2),
        };
        (!agreed).then_some(Mismatch::Alpn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Group;

    fn asked() -> Expectation {
        let spec = TlsSpec {
            versions: vec![TlsVersion::Tls13],
            suites: vec![CipherSuite::from_code_point(0x1301)],
            groups: vec![Group::X25519],
            signature_schemes: vec!["ecdsa_secp256r1_sha256".parse().unwrap()],
            ..TlsSpec::default()
        };
        Expectation::new(&spec, HttpVersion::Http11)
    }

    fn negotiated() -> Negotiated {
        Negotiated {
            version: TlsVersion::Tls13,
            suite: CipherSuite::from_code_point(0x1301),
            group: Some(KeyExchangeGroup::Named(Group::X25519.code_point())),
            signature_scheme: Some("ecdsa_secp256r1_sha256".parse().unwrap()),
            kind: HandshakeKind::Full,
            hello_retry_request: false,
            alpn: Some(Alpn::Http11),
            authenticated: true,
        }
    }

    #[test]
    fn the_handshake_that_was_asked_for_passes() {
        assert_eq!(asked().mismatch(&negotiated()), None);
    }

    #[test]
    fn each_fact_that_differs_is_named() {
        type Change = fn(&mut Negotiated);
        let cases: [(Mismatch, Change); 7] = [
            (Mismatch::Version, |n| n.version = TlsVersion::Tls12),
            (Mismatch::Suite, |n| n.suite = CipherSuite::from_code_point(0x1302)),
            (Mismatch::Group, |n| n.group = Some(KeyExchangeGroup::Named(23))),
            (Mismatch::SignatureScheme, |n| {
                n.signature_scheme = Some(SignatureScheme::from_code_point(0x0804));
            }),
            (Mismatch::Kind, |n| n.kind = HandshakeKind::Resumed),
            (Mismatch::HelloRetryRequest, |n| n.hello_retry_request = true),
            (Mismatch::Alpn, |n| n.alpn = Some(Alpn::Other)),
        ];
        for (mismatch, change) in cases {
            let mut different = negotiated();
            change(&mut different);
            assert_eq!(asked().mismatch(&different), Some(mismatch));
        }
    }

    #[test]
    fn a_forced_group_is_not_met_by_static_rsa() {
        let fallen_back = Negotiated { group: None, ..negotiated() };
        assert_eq!(asked().mismatch(&fallen_back), Some(Mismatch::Group));
    }

    #[test]
    fn nothing_asked_accepts_any_full_handshake() {
        let anything = Expectation::new(&TlsSpec::default(), HttpVersion::Http11);
        assert_eq!(anything.mismatch(&negotiated()), None);
    }

    #[test]
    fn http2_must_be_agreed_on_and_http_1_1_need_not() {
        let judge = |http, alpn| {
            Expectation::new(&TlsSpec::default(), http)
                .mismatch(&Negotiated { alpn, ..negotiated() })
        };
        let (old, new) = (HttpVersion::Http11, HttpVersion::Http2);
        assert_eq!(judge(old, None), None);
        assert_eq!(judge(old, Some(Alpn::Http2)), Some(Mismatch::Alpn));
        assert_eq!(judge(new, Some(Alpn::Http2)), None);
        assert_eq!(judge(new, Some(Alpn::Http11)), Some(Mismatch::Alpn));
        assert_eq!(judge(new, None), Some(Mismatch::Alpn));
    }
}

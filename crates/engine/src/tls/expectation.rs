//! Compares what was negotiated with what was asked for.

use crate::names::{CipherSuite, KeyExchange, SignatureScheme, TlsVersion};
use crate::outcome::Mismatch;
use crate::spec::TlsSpec;

use super::{Alpn, HandshakeKind, KeyExchangeGroup, Negotiated};

/// What every connection of a run must have negotiated. An empty list asks for nothing.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    versions: Vec<TlsVersion>,
    suites: Vec<CipherSuite>,
    groups: Vec<u16>,
    signature_schemes: Vec<SignatureScheme>,
    /// The size of the server's own Diffie-Hellman parameters, in bits.
    dh_bits: Option<u32>,
    /// One of these; `None`: `http/1.1`, or no protocol.
    alpn: Option<Vec<Alpn>>,
    /// Whether the server must have asked for the client's certificate.
    client_certificate: bool,
}

impl Expectation {
    /// The expectation that a specification states.
    pub fn new(spec: &TlsSpec) -> Self {
        Self {
            versions: spec.versions.clone(),
            suites: spec.suites.clone(),
            groups: spec.groups.iter().map(|group| group.code_point()).collect(),
            signature_schemes: spec.signature_schemes.clone(),
            dh_bits: spec.dh_bits,
            alpn: spec
                .alpn
                .as_ref()
                .map(|names| names.iter().map(|name| Alpn::of(name.as_bytes())).collect()),
            client_certificate: spec.client_identity.is_some(),
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
                self.dh_bits.is_none()
                    && (self.groups.is_empty() || self.groups.contains(&code_point))
            }
            Some(KeyExchangeGroup::FiniteField(bits)) => {
                self.groups.is_empty() && self.dh_bits.is_none_or(|asked| asked == bits)
            }
            None => self.groups.is_empty() && self.dh_bits.is_none(),
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
        if !self.agrees_with_alpn(negotiated.alpn) {
            return Some(Mismatch::Alpn);
        }
        // A server does not ask again whom it knows from the session that is resumed.
        let must_show = self.client_certificate && negotiated.kind == HandshakeKind::Full;
        (must_show && !negotiated.client_authenticated).then_some(Mismatch::ClientCertificate)
    }

    /// A server may leave ALPN out (RFC 7301, section 3.2), unless the protocol was asked for by name.
    fn agrees_with_alpn(&self, selected: Option<Alpn>) -> bool {
        match (&self.alpn, selected) {
            (None, selected) => matches!(selected, None | Some(Alpn::Http11)),
            (Some(asked), None) => asked.is_empty(),
            (Some(asked), Some(selected)) => asked.contains(&selected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Group;

    fn asked() -> Expectation {
        Expectation::new(&TlsSpec {
            versions: vec![TlsVersion::Tls13],
            suites: vec![CipherSuite::from_code_point(0x1301)],
            groups: vec![Group::X25519],
            signature_schemes: vec!["ecdsa_secp256r1_sha256".parse().unwrap()],
            ..TlsSpec::default()
        })
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
            client_authenticated: false,
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
            (Mismatch::Alpn, |n| n.alpn = Some(Alpn::Http2)),
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
        let anything = Expectation::new(&TlsSpec::default());
        assert_eq!(anything.mismatch(&negotiated()), None);
    }

    #[test]
    fn a_protocol_asked_for_by_name_must_be_selected() {
        let mismatch = |asked: &[&str], selected: Option<Alpn>| {
            let alpn = Some(asked.iter().map(ToString::to_string).collect());
            let asked = Expectation::new(&TlsSpec { alpn, ..TlsSpec::default() });
            asked.mismatch(&Negotiated { alpn: selected, ..negotiated() })
        };
        assert_eq!(mismatch(&["h2", "http/1.1"], Some(Alpn::Http2)), None);
        assert_eq!(mismatch(&["acme-tls/1"], Some(Alpn::of(b"acme-tls/1"))), None);
        assert_eq!(mismatch(&["acme-tls/1"], Some(Alpn::Http11)), Some(Mismatch::Alpn));
        assert_eq!(mismatch(&["h2"], None), Some(Mismatch::Alpn));
        assert_eq!(mismatch(&[], None), None);
        assert_eq!(mismatch(&[], Some(Alpn::Http11)), Some(Mismatch::Alpn));
    }

    #[test]
    fn a_prime_of_another_size_is_another_group() {
        let asked = Expectation::new(&TlsSpec { dh_bits: Some(1024), ..TlsSpec::default() });
        let with = |group| asked.mismatch(&Negotiated { group, ..negotiated() });
        assert_eq!(with(Some(KeyExchangeGroup::FiniteField(1024))), None);
        for other in [
            None,
            Some(KeyExchangeGroup::FiniteField(2048)),
            Some(KeyExchangeGroup::Named(Group::X25519.code_point())),
        ] {
            assert_eq!(with(other), Some(Mismatch::Group));
        }
    }

    #[test]
    fn a_server_that_asks_for_no_certificate_is_noticed_in_full_handshakes() {
        let asked = Expectation { client_certificate: true, ..Expectation::default() };
        assert_eq!(asked.mismatch(&negotiated()), Some(Mismatch::ClientCertificate));
        let shown = Negotiated { client_authenticated: true, ..negotiated() };
        assert_eq!(asked.mismatch(&shown), None);
    }
}

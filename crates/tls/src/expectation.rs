//! Compares the negotiated facts with the specification.

use tlslab_contract::spec::{HttpVersion, Resume, TlsSpec};
use tlslab_wire::names::{CipherSuite, KeyExchange, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Mismatch;

use super::{Alpn, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated};

/// The required facts of every connection of a run. An empty list allows any value.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    versions: Vec<TlsVersion>,
    suites: Vec<CipherSuite>,
    groups: Vec<u16>,
    signature_schemes: Vec<SignatureScheme>,
    http: HttpVersion,
    /// The size of the server's Diffie-Hellman parameters, in bits.
    dh_bits: Option<u32>,
    /// The allowed application protocols; `None`: `http/1.1`, or no protocol.
    alpn: Option<Vec<Alpn>>,
    /// Whether the server must have requested the client's certificate.
    client_certificate: bool,
    resume: Resume,
    early_data: bool,
    hello_retry: bool,
    /// Whether the server must staple an OCSP response (true) or must not (false).
    ocsp_stapling: Option<bool>,
}

impl Expectation {
    /// The expectations that follow from a specification.
    pub fn new(spec: &TlsSpec, http: HttpVersion) -> Self {
        Self {
            versions: spec.offered_versions(),
            suites: spec.suites.clone(),
            groups: spec.groups.iter().map(|group| group.code_point()).collect(),
            signature_schemes: spec.signature_schemes.clone(),
            http,
            dh_bits: spec.dh_bits,
            alpn: spec
                .alpn
                .as_ref()
                .map(|names| names.iter().map(|name| Alpn::of(name.as_bytes())).collect()),
            client_certificate: spec.client_identity.is_some(),
            resume: spec.resume,
            early_data: spec.early_data,
            hello_retry: spec.hello_retry.is_some(),
            ocsp_stapling: spec.ocsp_stapling,
        }
    }

    /// The first fact that differs from the specification, for a connection of the requested kind.
    pub fn mismatch(&self, wanted: HandshakeKind, negotiated: &Negotiated) -> Option<Mismatch> {
        if !self.versions.is_empty() && !self.versions.contains(&negotiated.version) {
            return Some(Mismatch::Version);
        }
        if !self.suites.is_empty() && !self.suites.contains(&negotiated.suite) {
            return Some(Mismatch::Suite);
        }
        if !self.kind_agrees(wanted, negotiated) {
            return Some(Mismatch::Kind);
        }
        if negotiated.hello_retry_request != self.hello_retry {
            return Some(Mismatch::HelloRetryRequest);
        }
        if !self.group_agrees(negotiated) {
            return Some(Mismatch::Group);
        }
        if !self.signature_agrees(negotiated) {
            return Some(Mismatch::SignatureScheme);
        }
        // A server may reject early data: that is counted and is no mismatch. A ticket that allows
        // no early data is a mismatch.
        let early = self.early_data && wanted == HandshakeKind::Resumed;
        if early != (negotiated.early_data != EarlyData::None) {
            return Some(Mismatch::EarlyData);
        }
        if !self.alpn_agrees(negotiated.alpn) {
            return Some(Mismatch::Alpn);
        }
        // In a resumed handshake the server neither requests the client's certificate again nor
        // sends its own certificate, so it cannot staple an OCSP response.
        if negotiated.kind != HandshakeKind::Full {
            return None;
        }
        if self.client_certificate && !negotiated.client_authenticated {
            return Some(Mismatch::ClientCertificate);
        }
        let stapled = negotiated.ocsp_response_bytes > 0;
        let differs = self.ocsp_stapling.is_some_and(|asked| asked != stapled);
        differs.then_some(Mismatch::OcspStapling)
    }

    fn kind_agrees(&self, wanted: HandshakeKind, negotiated: &Negotiated) -> bool {
        let resumed_by = match wanted {
            HandshakeKind::Full => Resume::None,
            HandshakeKind::Resumed => self.resume,
        };
        negotiated.kind == wanted && negotiated.resumed_by == resumed_by
    }

    /// A resumed handshake has a key exchange only in TLS 1.3, and there only with psk_dhe_ke.
    fn group_agrees(&self, negotiated: &Negotiated) -> bool {
        match (negotiated.group, negotiated.resumed_by) {
            (group, Resume::Id | Resume::Ticket | Resume::PskOnly) => group.is_none(),
            (None, Resume::Psk) => false,
            (Some(KeyExchangeGroup::Named(code_point)), _) => {
                self.dh_bits.is_none()
                    && (self.groups.is_empty() || self.groups.contains(&code_point))
            }
            (Some(KeyExchangeGroup::FiniteField(bits)), _) => {
                self.groups.is_empty() && self.dh_bits.is_none_or(|asked| asked == bits)
            }
            (None, _) => self.groups.is_empty() && self.dh_bits.is_none(),
        }
    }

    /// A resumed handshake has no signature: the server proves knowledge of the session's secret.
    fn signature_agrees(&self, negotiated: &Negotiated) -> bool {
        match negotiated.signature_scheme {
            _ if negotiated.resumed_by != Resume::None => negotiated.signature_scheme.is_none(),
            Some(scheme) => {
                self.signature_schemes.is_empty() || self.signature_schemes.contains(&scheme)
            }
            None => negotiated.suite.key_exchange() == KeyExchange::Rsa,
        }
    }

    /// A server may omit ALPN (RFC 7301, section 3.2), unless the specification names the protocol.
    /// HTTP/2 requires a server that has selected it (RFC 9113, section 3.3).
    fn alpn_agrees(&self, selected: Option<Alpn>) -> bool {
        match (&self.alpn, selected) {
            (None, selected) => match self.http {
                HttpVersion::Http11 => matches!(selected, None | Some(Alpn::Http11)),
                HttpVersion::Http2 => selected == Some(Alpn::Http2),
            },
            (Some(asked), None) => asked.is_empty(),
            (Some(asked), Some(selected)) => asked.contains(&selected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::names::Group;

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
            client_authenticated: false,
            resumed_by: Resume::None,
            early_data: EarlyData::None,
            ocsp_response_bytes: 0,
            authenticated: true,
            minimal_client: false,
        }
    }

    #[test]
    fn the_handshake_that_was_asked_for_passes() {
        assert_eq!(asked().mismatch(HandshakeKind::Full, &negotiated()), None);
    }

    #[test]
    fn each_fact_that_differs_is_named() {
        type Change = fn(&mut Negotiated);
        let cases: [(Mismatch, Change); 9] = [
            (Mismatch::Version, |n| n.version = TlsVersion::Tls12),
            (Mismatch::Suite, |n| n.suite = CipherSuite::from_code_point(0x1302)),
            (Mismatch::Group, |n| n.group = Some(KeyExchangeGroup::Named(23))),
            (Mismatch::SignatureScheme, |n| {
                n.signature_scheme = Some(SignatureScheme::from_code_point(0x0804));
            }),
            (Mismatch::Kind, |n| n.kind = HandshakeKind::Resumed),
            (Mismatch::Kind, |n| n.resumed_by = Resume::Psk),
            (Mismatch::EarlyData, |n| n.early_data = EarlyData::Accepted),
            (Mismatch::HelloRetryRequest, |n| n.hello_retry_request = true),
            (Mismatch::Alpn, |n| n.alpn = Some(Alpn::Http2)),
        ];
        for (mismatch, change) in cases {
            let mut different = negotiated();
            change(&mut different);
            assert_eq!(asked().mismatch(HandshakeKind::Full, &different), Some(mismatch));
        }
    }

    #[test]
    fn a_forced_group_is_not_met_by_static_rsa() {
        let fallen_back = Negotiated { group: None, ..negotiated() };
        assert_eq!(asked().mismatch(HandshakeKind::Full, &fallen_back), Some(Mismatch::Group));
    }

    #[test]
    fn nothing_asked_accepts_any_full_handshake() {
        let anything = Expectation::new(&TlsSpec::default(), HttpVersion::Http11);
        assert_eq!(anything.mismatch(HandshakeKind::Full, &negotiated()), None);
    }

    /// A run that resumes by pre-shared key, and a handshake that did so.
    fn resuming(early_data: bool) -> (Expectation, Negotiated) {
        let spec = TlsSpec { resume: Resume::Psk, early_data, ..TlsSpec::default() };
        let resumed = Negotiated {
            kind: HandshakeKind::Resumed,
            resumed_by: Resume::Psk,
            signature_scheme: None,
            ..negotiated()
        };
        (Expectation::new(&spec, HttpVersion::Http11), resumed)
    }

    #[test]
    fn each_connection_must_be_of_the_kind_that_it_was_to_be() {
        let (asked, resumed) = resuming(false);
        let (full, again) = (HandshakeKind::Full, HandshakeKind::Resumed);
        assert_eq!(asked.mismatch(again, &resumed), None);
        assert_eq!(asked.mismatch(full, &negotiated()), None);
        assert_eq!(asked.mismatch(full, &resumed), Some(Mismatch::Kind));
        assert_eq!(asked.mismatch(again, &negotiated()), Some(Mismatch::Kind));
        let by_ticket = Negotiated { resumed_by: Resume::Ticket, ..resumed };
        assert_eq!(asked.mismatch(again, &by_ticket), Some(Mismatch::Kind));
        let without_exchange = Negotiated { group: None, ..resumed };
        assert_eq!(asked.mismatch(again, &without_exchange), Some(Mismatch::Group));
    }

    #[test]
    fn early_data_may_be_rejected_but_must_have_been_sent() {
        let (asked, resumed) = resuming(true);
        let with = |early_data| Negotiated { early_data, ..resumed };
        let again = HandshakeKind::Resumed;
        assert_eq!(asked.mismatch(again, &with(EarlyData::Accepted)), None);
        assert_eq!(asked.mismatch(again, &with(EarlyData::Rejected)), None);
        assert_eq!(asked.mismatch(again, &resumed), Some(Mismatch::EarlyData));
        assert_eq!(asked.mismatch(HandshakeKind::Full, &negotiated()), None);
    }

    #[test]
    fn a_hello_retry_request_that_was_asked_for_must_have_come() {
        let hello_retry = Some(tlslab_contract::spec::HelloRetry::Decoy);
        let asked =
            Expectation::new(&TlsSpec { hello_retry, ..TlsSpec::default() }, HttpVersion::Http11);
        let full = HandshakeKind::Full;
        assert_eq!(asked.mismatch(full, &negotiated()), Some(Mismatch::HelloRetryRequest));
        let retried = Negotiated { hello_retry_request: true, ..negotiated() };
        assert_eq!(asked.mismatch(full, &retried), None);
    }

    #[test]
    fn http2_must_be_agreed_on_and_http_1_1_need_not() {
        let mismatch_of = |http, alpn| {
            Expectation::new(&TlsSpec::default(), http)
                .mismatch(HandshakeKind::Full, &Negotiated { alpn, ..negotiated() })
        };
        let (old, new) = (HttpVersion::Http11, HttpVersion::Http2);
        assert_eq!(mismatch_of(old, None), None);
        assert_eq!(mismatch_of(old, Some(Alpn::Http2)), Some(Mismatch::Alpn));
        assert_eq!(mismatch_of(new, Some(Alpn::Http2)), None);
        assert_eq!(mismatch_of(new, Some(Alpn::Http11)), Some(Mismatch::Alpn));
        assert_eq!(mismatch_of(new, None), Some(Mismatch::Alpn));
    }

    #[test]
    fn a_protocol_asked_for_by_name_must_be_selected() {
        let mismatch = |asked: &[&str], selected: Option<Alpn>| {
            let alpn = Some(asked.iter().map(ToString::to_string).collect());
            let asked =
                Expectation::new(&TlsSpec { alpn, ..TlsSpec::default() }, HttpVersion::Http11);
            asked.mismatch(HandshakeKind::Full, &Negotiated { alpn: selected, ..negotiated() })
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
        let asked = Expectation::new(
            &TlsSpec { dh_bits: Some(1024), ..TlsSpec::default() },
            HttpVersion::Http11,
        );
        let with =
            |group| asked.mismatch(HandshakeKind::Full, &Negotiated { group, ..negotiated() });
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
        assert_eq!(
            asked.mismatch(HandshakeKind::Full, &negotiated()),
            Some(Mismatch::ClientCertificate)
        );
        let shown = Negotiated { client_authenticated: true, ..negotiated() };
        assert_eq!(asked.mismatch(HandshakeKind::Full, &shown), None);
    }

    #[test]
    fn a_full_handshake_is_stapled_as_asked_for_and_a_resumed_one_cannot_be() {
        let mismatch = |asked, ocsp_response_bytes, kind| {
            let asked = Expectation { ocsp_stapling: asked, ..Expectation::default() };
            let resumed_by = if kind == HandshakeKind::Full { Resume::None } else { Resume::Psk };
            let asked = Expectation { resume: resumed_by, ..asked };
            let signature_scheme = negotiated().signature_scheme;
            let signature_scheme = signature_scheme.filter(|_| kind == HandshakeKind::Full);
            let found = Negotiated { ocsp_response_bytes, kind, resumed_by, ..negotiated() };
            asked.mismatch(kind, &Negotiated { signature_scheme, ..found })
        };
        let (full, resumed) = (HandshakeKind::Full, HandshakeKind::Resumed);
        let other = Some(Mismatch::OcspStapling);
        for (asked, bytes, kind, expected) in [
            (None, 0, full, None),
            (None, 300, full, None),
            (Some(true), 300, full, None),
            (Some(true), 0, full, other),
            (Some(false), 0, full, None),
            (Some(false), 300, full, other),
            (Some(true), 0, resumed, None),
        ] {
            assert_eq!(mismatch(asked, bytes, kind), expected, "{asked:?}, {bytes} bytes");
        }
    }
}

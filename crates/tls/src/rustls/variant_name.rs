//! The names of a library's errors in words, for reasons that the server cannot influence.

/// Names of rustls as RFC 8446, RFC 5246 and the extensions' RFCs spell them. A phrase stands in
/// front of its own words.
const TERMS: [(&str, &str); 35] = [
    ("key epoch with pending fragment", "change of keys within a fragmented message"),
    (
        "server tls version is disabled by our config",
        "server selected a TLS version that was not offered",
    ),
    ("tls 12 or 13", "TLS 1.2 or 1.3"),
    ("tls 12", "TLS 1.2"),
    ("tls 13", "TLS 1.3"),
    ("tls inner plaintext", "TLSInnerPlaintext"),
    ("tls", "TLS"),
    ("encrypted client hello", "ECH"),
    ("hello retry request", "HelloRetryRequest"),
    ("client hello", "ClientHello"),
    ("server hello", "ServerHello"),
    ("new session ticket", "NewSessionTicket"),
    ("encrypted extensions", "EncryptedExtensions"),
    ("encrypted extension", "extension in EncryptedExtensions"),
    ("cleartext extension", "extension in the ServerHello"),
    ("change cipher spec", "change_cipher_spec"),
    ("ccs", "change_cipher_spec"),
    ("key update", "KeyUpdate"),
    ("cert request", "CertificateRequest"),
    ("certificate request", "CertificateRequest"),
    ("cert", "certificate"),
    ("session id", "session ID"),
    ("sig scheme", "signature scheme"),
    ("named group", "key-exchange group"),
    ("named groups", "key-exchange groups"),
    ("kx group", "key-exchange group"),
    ("kx groups", "key-exchange groups"),
    ("kx", "key exchange"),
    ("ems", "extended_master_secret"),
    ("dh params", "Diffie-Hellman parameters"),
    ("ec", "EC"),
    ("psk", "PSK"),
    ("sct", "SCT"),
    ("ech", "ECH"),
    ("quic", "QUIC"),
];

/// The name of a variant without its fields, in words and in the RFCs' terms: `message too short`,
/// `missing PSK modes extension`.
pub fn word(variant: &impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let name = text.split([' ', '(', '{']).next().unwrap_or_default();
    // Each word stands between two spaces.
    let mut words = String::with_capacity(2 * name.len());
    let mut was_digit = false;
    for letter in name.chars() {
        let starts_number = letter.is_ascii_digit() && !was_digit;
        if letter.is_ascii_uppercase() || starts_number {
            words.push(' ');
        }
        was_digit = letter.is_ascii_digit();
        words.push(letter.to_ascii_lowercase());
    }
    words.push(' ');
    for (theirs, term) in TERMS {
        words = words.replace(&format!(" {theirs} "), &format!(" {term} "));
    }
    words.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use rustls::InvalidMessage::{DuplicateExtension, IllegalEmptyList, MissingData, TrailingData};
    use rustls::{Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};
    use tlslab_wire::reason::REASON_LIMIT;

    use crate::rustls::failure::reason;

    /// Errors of one kind by their names.
    macro_rules! errors {
        ($kind:ident: $($name:ident)*) => {
            vec![$((stringify!($name), Error::from($kind::$name))),*]
        };
    }

    fn invalid_messages() -> Vec<(&'static str, Error)> {
        let mut all = errors!(InvalidMessage: CertificatePayloadTooLarge HandshakePayloadTooLarge
            InvalidCcs InvalidContentType InvalidCertificateStatusType InvalidCertRequest
            InvalidDhParams InvalidEmptyPayload InvalidKeyUpdate InvalidServerName MessageTooLarge
            MessageTooShort MissingKeyExchange NoSignatureSchemes UnknownProtocolVersion
            UnsupportedCompression UnsupportedCurveType EmptyTicketValue IllegalEmptyValue
            PreSharedKeyIsNotFinalExtension UnknownHelloRetryRequestExtension
            UnknownCertificateExtension);
        all.extend([
            ("MissingData", MissingData("Random").into()),
            ("TrailingData", TrailingData("Random").into()),
            ("UnexpectedMessage", InvalidMessage::UnexpectedMessage("Random").into()),
            ("IllegalEmptyList", IllegalEmptyList("Random").into()),
            ("DuplicateExtension", DuplicateExtension(51).into()),
        ]);
        all
    }

    fn misbehaviour() -> Vec<(&'static str, Error)> {
        errors!(PeerMisbehaved: AttemptedDowngradeToTls12WhenTls13IsSupported
            BadCertChainExtensions CipherSuiteDifferedOnRetry DisallowedEncryptedExtension
            DuplicateClientHelloExtensions DuplicateEncryptedExtensions
            DuplicateHelloRetryRequestExtensions DuplicateNewSessionTicketExtensions
            DuplicateServerHelloExtensions DuplicateServerNameTypes
            EarlyDataAttemptedInSecondClientHello EarlyDataExtensionWithoutResumption
            EarlyDataOfferedWithVariedCipherSuite EchAcceptanceVariedAfterRetry
            HandshakeHashVariedAfterRetry IllegalHelloRetryRequestWithEmptyCookie
            IllegalHelloRetryRequestWithNoChanges IllegalHelloRetryRequestWithOfferedGroup
            IllegalHelloRetryRequestWithUnofferedCipherSuite
            IllegalHelloRetryRequestWithUnofferedNamedGroup
            IllegalHelloRetryRequestWithUnsupportedVersion
            IllegalHelloRetryRequestWithWrongSessionId IllegalHelloRetryRequestWithInvalidEch
            IllegalMiddleboxChangeCipherSpec IllegalTlsInnerPlaintext IncorrectBinder
            InvalidCertCompression InvalidMaxEarlyDataSize InvalidKeyShare
            KeyEpochWithPendingFragment KeyUpdateReceivedInQuicConnection
            MessageInterleavedWithHandshakeMessage MissingBinderInPskExtension MissingKeyShare
            MissingPskExtensionInSecondClientHello MissingPskModesExtension
            MissingQuicTransportParameters OfferedDuplicateCertificateCompressions
            OfferedDuplicateKeyShares OfferedEarlyDataWithOldProtocolVersion
            OfferedEmptyApplicationProtocol OfferedIncorrectCompressions PskExtensionMustBeLast
            PskExtensionWithMismatchedIdsAndBinders RefusedToFollowHelloRetryRequest
            RejectedEarlyDataInterleavedWithHandshakeMessage ResumptionAttemptedWithVariedEms
            ResumptionOfferedWithVariedCipherSuite ResumptionOfferedWithVariedEms
            ResumptionOfferedWithIncompatibleCipherSuite SelectedDifferentCipherSuiteAfterRetry
            SelectedInvalidPsk SelectedTls12UsingTls13VersionExtension
            SelectedUnofferedApplicationProtocol SelectedUnofferedCertCompression
            SelectedUnofferedCipherSuite SelectedUnofferedCompression SelectedUnofferedKxGroup
            SelectedUnofferedPsk SelectedUnusableCipherSuiteForVersion
            ServerEchoedCompatibilitySessionId ServerHelloMustOfferUncompressedEcPoints
            ServerNameDifferedOnRetry ServerNameMustContainOneHostName SignedKxWithWrongAlgorithm
            SignedHandshakeWithUnadvertisedSigScheme TooManyEmptyFragments TooManyKeyUpdateRequests
            TooManyRenegotiationRequests TooManyWarningAlertsReceived TooMuchEarlyDataReceived
            UnexpectedCleartextExtension UnsolicitedCertExtension UnsolicitedEncryptedExtension
            UnsolicitedSctList UnsolicitedServerHelloExtension WrongGroupForKeyShare
            UnsolicitedEchExtension)
    }

    fn incompatibility() -> Vec<(&'static str, Error)> {
        errors!(PeerIncompatible: EcPointsExtensionRequired ExtendedMasterSecretExtensionRequired
            IncorrectCertificateTypeExtension KeyShareExtensionRequired
            NamedGroupsExtensionRequired NoCertificateRequestSignatureSchemesInCommon
            NoCipherSuitesInCommon NoEcPointFormatsInCommon NoKxGroupsInCommon
            NoSignatureSchemesInCommon NullCompressionRequired ServerDoesNotSupportTls12Or13
            ServerSentHelloRetryRequestWithUnknownExtension ServerTlsVersionIsDisabledByOurConfig
            SignatureAlgorithmsExtensionRequired SupportedVersionsExtensionRequired
            Tls12NotOffered Tls12NotOfferedOrEnabled Tls13RequiredForQuic
            UncompressedEcPointsRequired UnsolicitedCertificateTypeExtension)
    }

    /// Words that only the library's authors use.
    const ABBREVIATIONS: [&str; 16] = [
        "tls", "tls12", "tls13", "12", "13", "ccs", "cert", "dh", "ec", "ech", "ems", "kx", "psk",
        "quic", "sct", "sig",
    ];

    #[test]
    fn every_fault_has_words_of_its_own_and_no_debug_name() {
        let all = [invalid_messages(), misbehaviour(), incompatibility()].concat();
        let reasons: BTreeSet<String> =
            all.iter().map(|(_, error)| reason(error, None).name.into_owned()).collect();
        assert_eq!(reasons.len(), all.len(), "two faults share a reason");
        for (name, error) in &all {
            let reason = reason(error, None);
            assert!(reason.name.len() <= REASON_LIMIT, "{reason:?}");
            let said = reason.in_one_line();
            assert!(!said.contains(*name), "{said}");
            let words = said.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            let abbreviated: Vec<_> = words.filter(|word| ABBREVIATIONS.contains(word)).collect();
            assert!(abbreviated.is_empty(), "{said}: {abbreviated:?}");
        }
    }

    #[test]
    fn names_are_in_the_terms_of_the_rfcs() {
        use PeerMisbehaved as P;
        for (error, words) in [
            (
                P::AttemptedDowngradeToTls12WhenTls13IsSupported,
                "attempted downgrade to TLS 1.2 when TLS 1.3 is supported",
            ),
            (
                P::IllegalHelloRetryRequestWithUnofferedNamedGroup,
                "illegal HelloRetryRequest with unoffered key-exchange group",
            ),
            (P::IllegalMiddleboxChangeCipherSpec, "illegal middlebox change_cipher_spec"),
            (P::KeyEpochWithPendingFragment, "change of keys within a fragmented message"),
            (
                P::ResumptionOfferedWithVariedEms,
                "resumption offered with varied extended_master_secret",
            ),
            (P::SelectedUnofferedPsk, "selected unoffered PSK"),
            (P::SignedKxWithWrongAlgorithm, "signed key exchange with wrong algorithm"),
            (P::UnsolicitedEncryptedExtension, "unsolicited extension in EncryptedExtensions"),
            (P::UnsolicitedEchExtension, "unsolicited ECH extension"),
        ] {
            assert_eq!(word(&error), words);
        }
        let old = PeerIncompatible::ServerDoesNotSupportTls12Or13;
        assert_eq!(word(&old), "server does not support TLS 1.2 or 1.3");
        let other = PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig;
        assert_eq!(word(&other), "server selected a TLS version that was not offered");
        assert_eq!(word(&InvalidMessage::InvalidCcs), "invalid change_cipher_spec");
        assert_eq!(word(&MissingData("Random")), "missing data");
    }
}

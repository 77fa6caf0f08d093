//! Rules of TLS that libraries do not check, and tlslab does.
//!
//! A server that breaks one of them is not the server whose handshake was to be measured.

use std::fmt;

/// Alerts (RFC 8446, section 6).
const UNEXPECTED_MESSAGE: u8 = 10;
const RECORD_OVERFLOW: u8 = 22;
const HANDSHAKE_FAILURE: u8 = 40;
const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;
const UNSUPPORTED_EXTENSION: u8 = 110;

/// A rule that a server has broken. The display form is part of the class under which records count
/// the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A TLS 1.3 server repeats the client's session ID (RFC 8446, section 4.1.3).
    SessionId,
    /// `legacy_version` is 0x0303 in TLS 1.3 and never 0x0304 (RFC 8446, section 4.1.3).
    LegacyVersion,
    /// A server that supports TLS 1.3 marks its random if it negotiates an older version, so that a
    /// client that offered TLS 1.3 detects a removed offer (RFC 8446, section 4.1.3).
    Downgrade,
    /// `renegotiation_info` is empty in a first handshake (RFC 5746, section 3.4).
    RenegotiationInfo,
    /// `extended_master_secret` has no content (RFC 7627, section 5.1).
    ExtendedMasterSecret,
    /// Extensions answer extensions of the client, in messages that may contain them (RFC 8446,
    /// section 4.2; RFC 5246, section 7.4.1.4).
    Extension,
    /// Handshake records are not empty (RFC 8446, sections 5.1 and 5.4).
    EmptyRecord,
    /// No other record interrupts the parts of a message (RFC 8446, section 5.1).
    InterleavedRecord,
    /// A change_cipher_spec is the byte 1, and none follows the server's Finished. A server of TLS
    /// 1.2 sends it once, after its last message in the clear (RFC 8446, section 5; RFC 5246,
    /// section 7.1).
    ChangeCipherSpec,
    /// TLS 1.3 has no HelloRequest (RFC 8446, section 4). In TLS 1.2 their number is limited.
    HelloRequest,
    /// The cookie of a HelloRetryRequest is not empty (RFC 8446, section 4.2.2).
    Cookie,
    /// No certificate of a chain is empty (RFC 8446, section 4.4.2; RFC 5246, section 7.4.2).
    Certificate,
    /// A CertificateRequest has no context in a TLS 1.3 handshake, and names types of certificates
    /// in TLS 1.2 (RFC 8446, section 4.3.2; RFC 5246, section 7.4.4).
    CertificateRequest,
    /// The content of a record with its type and padding has at most 2^14 + 1 bytes (RFC 8446,
    /// section 5.4).
    RecordOverflow,
    /// The points of NIST curves are uncompressed (RFC 8422, section 5.4.1).
    PointFormat,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 15] = [
        Self::SessionId,
        Self::LegacyVersion,
        Self::Downgrade,
        Self::RenegotiationInfo,
        Self::ExtendedMasterSecret,
        Self::Extension,
        Self::EmptyRecord,
        Self::InterleavedRecord,
        Self::ChangeCipherSpec,
        Self::HelloRequest,
        Self::Cookie,
        Self::Certificate,
        Self::CertificateRequest,
        Self::RecordOverflow,
        Self::PointFormat,
    ];

    /// The alert for a server that breaks the rule (RFC 8446, sections 4.1.3, 4.2, 5 and 6.2; RFC
    /// 5746, section 3.4).
    pub fn alert(self) -> u8 {
        match self {
            Self::SessionId
            | Self::LegacyVersion
            | Self::Downgrade
            | Self::ExtendedMasterSecret
            | Self::PointFormat => ILLEGAL_PARAMETER,
            Self::Cookie | Self::Certificate | Self::CertificateRequest => DECODE_ERROR,
            Self::RecordOverflow => RECORD_OVERFLOW,
            Self::RenegotiationInfo => HANDSHAKE_FAILURE,
            Self::Extension => UNSUPPORTED_EXTENSION,
            Self::EmptyRecord
            | Self::InterleavedRecord
            | Self::ChangeCipherSpec
            | Self::HelloRequest => UNEXPECTED_MESSAGE,
        }
    }

    /// The server's action, as a sentence.
    pub fn explain(self) -> &'static str {
        match self {
            Self::SessionId => "the server does not repeat the session ID (RFC 8446, 4.1.3)",
            Self::LegacyVersion => "the server's legacy_version is not 0x0303 (RFC 8446, 4.1.3)",
            Self::Downgrade => {
                "the ServerHello carries the sentinel of a downgrade, though TLS 1.3 was offered \
                 (RFC 8446, 4.1.3)"
            }
            Self::RenegotiationInfo => {
                "renegotiation_info is not empty in a first handshake (RFC 5746, 3.4)"
            }
            Self::ExtendedMasterSecret => "extended_master_secret is not empty (RFC 7627, 5.1)",
            Self::Extension => "the server sends an extension that has no place (RFC 8446, 4.2)",
            Self::EmptyRecord => "the server sends an empty handshake record (RFC 8446, 5.1, 5.4)",
            Self::InterleavedRecord => {
                "the server sends a record between the parts of a message (RFC 8446, 5.1)"
            }
            Self::ChangeCipherSpec => {
                "the server sends a change_cipher_spec that has no place or no content \
                 (RFC 8446, 5)"
            }
            Self::HelloRequest => {
                "the server sends HelloRequests, in TLS 1.3 or without end (RFC 8446, 4)"
            }
            Self::Cookie => "the server's HelloRetryRequest has an empty cookie (RFC 8446, 4.2.2)",
            Self::Certificate => "a certificate of the server's chain is empty (RFC 8446, 4.4.2)",
            Self::CertificateRequest => {
                "the server's CertificateRequest has a context, or no types (RFC 8446, 4.3.2; \
                 RFC 5246, 7.4.4)"
            }
            Self::RecordOverflow => "the server sends a record that is too long (RFC 8446, 5.4)",
            Self::PointFormat => "the server's point is not uncompressed (RFC 8422, 5.4.1)",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SessionId => "session_id",
            Self::LegacyVersion => "legacy_version",
            Self::Downgrade => "downgrade",
            Self::RenegotiationInfo => "renegotiation_info",
            Self::ExtendedMasterSecret => "extended_master_secret",
            Self::Extension => "extension",
            Self::EmptyRecord => "empty_record",
            Self::InterleavedRecord => "interleaved_record",
            Self::ChangeCipherSpec => "change_cipher_spec",
            Self::HelloRequest => "hello_request",
            Self::Cookie => "cookie",
            Self::Certificate => "certificate",
            Self::CertificateRequest => "certificate_request",
            Self::RecordOverflow => "record_overflow",
            Self::PointFormat => "point_format",
        })
    }
}

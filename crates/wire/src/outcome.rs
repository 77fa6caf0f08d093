//! The outcome of a connection.

use std::fmt;

use crate::rule::Rule;

/// A step of a connection, for time-outs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the steps of a connection, in order")]
pub enum Step {
    Connect,
    Handshake,
    FirstByte,
    Body,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Handshake => "handshake",
            Self::FirstByte => "first_byte",
            Self::Body => "body",
        })
    }
}

/// A fact of a handshake that differs from the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each variant is the name of the fact")]
pub enum Mismatch {
    Version,
    Suite,
    Group,
    SignatureScheme,
    Kind,
    HelloRetryRequest,
    Alpn,
    EarlyData,
    ClientCertificate,
    OcspStapling,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "version",
            Self::Suite => "suite",
            Self::Group => "group",
            Self::SignatureScheme => "signature_scheme",
            Self::Kind => "kind",
            Self::HelloRetryRequest => "hello_retry_request",
            Self::Alpn => "alpn",
            Self::EarlyData => "early_data",
            Self::ClientCertificate => "client_certificate",
            Self::OcspStapling => "ocsp_stapling",
        })
    }
}

/// The failure of a connection. The display form is the class under which records count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The target refused the TCP connection: nothing listens on the port.
    Refused,
    /// No route to the host or network.
    Unreachable,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the step was done.
    Closed(Step),
    /// The peer ended the TCP stream without a close_notify, and only the end of the stream
    /// delimits the body.
    Truncated,
    /// The step took longer than its deadline.
    TimedOut(Step),
    /// The peer ended the handshake or the session with this alert (RFC 8446, section 6).
    Alert(u8),
    /// The peer's certificate is not valid: chain, name or validity.
    Certificate,
    /// The peer's handshake signature did not verify.
    Signature,
    /// The peer violated the TLS protocol.
    TlsProtocol,
    /// The peer broke this rule of TLS, which libraries do not check.
    Rule(Rule),
    /// The peer violated HTTP.
    HttpProtocol,
    /// The status of the response was not an expected one.
    HttpStatus,
    /// The body of the response was not the expected one; only if bodies are checked.
    Body,
    /// The peer reset an HTTP/2 stream.
    StreamReset,
    /// The peer ended the HTTP/2 connection with this error code (RFC 9113, section 7).
    GoAway(u32),
    /// The limit of open files is reached.
    FilesExhausted,
    /// This machine has no free local port to the target.
    PortsExhausted,
    /// Another error of the operating system, by its number.
    System(i32),
}

impl Failure {
    /// True if the HTTP layer rather than TLS knows the reason of this failure.
    pub fn is_of_http(self) -> bool {
        match self {
            Self::HttpProtocol
            | Self::HttpStatus
            | Self::Body
            | Self::StreamReset
            | Self::GoAway(_) => true,
            Self::Refused
            | Self::Unreachable
            | Self::Reset
            | Self::Closed(_)
            | Self::Truncated
            | Self::TimedOut(_)
            | Self::Alert(_)
            | Self::Certificate
            | Self::Signature
            | Self::TlsProtocol
            | Self::Rule(_)
            | Self::FilesExhausted
            | Self::PortsExhausted
            | Self::System(_) => false,
        }
    }
}

impl From<Rule> for Failure {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refused"),
            Self::Unreachable => f.write_str("unreachable"),
            Self::Reset => f.write_str("reset"),
            Self::Closed(step) => write!(f, "closed_{step}"),
            Self::Truncated => f.write_str("truncated"),
            Self::TimedOut(step) => write!(f, "timeout_{step}"),
            Self::Alert(number) => match alert_name(*number) {
                Some(name) => write!(f, "alert_{name}"),
                None => write!(f, "alert_{number}"),
            },
            Self::Certificate => f.write_str("certificate"),
            Self::Signature => f.write_str("signature"),
            Self::TlsProtocol => f.write_str("tls_protocol"),
            Self::Rule(rule) => write!(f, "rule_{rule}"),
            Self::HttpProtocol => f.write_str("http_protocol"),
            Self::HttpStatus => f.write_str("http_status"),
            Self::Body => f.write_str("body"),
            Self::StreamReset => f.write_str("stream_reset"),
            Self::GoAway(code) => match http2_error_name(*code) {
                Some(name) => write!(f, "goaway_{name}"),
                None => write!(f, "goaway_{code}"),
            },
            Self::FilesExhausted => f.write_str("files_exhausted"),
            Self::PortsExhausted => f.write_str("ports_exhausted"),
            Self::System(errno) => write!(f, "system_{errno}"),
        }
    }
}

/// The name of a TLS alert (IANA "TLS Alerts").
pub fn alert_name(number: u8) -> Option<&'static str> {
    Some(match number {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => return None,
    })
}

/// The name of an HTTP/2 error code (IANA "HTTP/2 Error Code").
pub fn http2_error_name(code: u32) -> Option<&'static str> {
    Some(match code {
        0 => "no_error",
        1 => "protocol_error",
        2 => "internal_error",
        3 => "flow_control_error",
        4 => "settings_timeout",
        5 => "stream_closed",
        6 => "frame_size_error",
        7 => "refused_stream",
        8 => "cancel",
        9 => "compression_error",
        10 => "connect_error",
        11 => "enhance_your_calm",
        12 => "inadequate_security",
        13 => "http_1_1_required",
        _ => return None,
    })
}

/// The name of [`Outcome::Abandoned`] in records.
pub const ABANDONED: &str = "abandoned";

/// The outcome of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The handshake and every response were as specified.
    Completed,
    /// The connection failed.
    Failed(Failure),
    /// The handshake was completed, but differs from the specification.
    Unexpected(Mismatch),
    /// The user's patience ended before the answer was complete.
    Abandoned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_stable_names() {
        let named = [
            (Failure::TimedOut(Step::Handshake), "timeout_handshake"),
            (Failure::Closed(Step::FirstByte), "closed_first_byte"),
            (Failure::Alert(40), "alert_handshake_failure"),
            (Failure::Alert(200), "alert_200"),
            (Failure::FilesExhausted, "files_exhausted"),
            (Failure::GoAway(12), "goaway_inadequate_security"),
            (Failure::GoAway(99), "goaway_99"),
        ];
        for (failure, name) in named {
            assert_eq!(failure.to_string(), name);
        }
    }

    #[test]
    fn alerts_have_the_names_that_rustls_knows_them_by() {
        let mut known = 0;
        for number in 0..=u8::MAX {
            let Some(name) = alert_name(number) else { continue };
            known += 1;
            let theirs = format!("{:?}", rustls::AlertDescription::from(number)).to_lowercase();
            assert_eq!(
                theirs.replace("recognised", "recognized"),
                name.replace('_', ""),
                "{number}"
            );
        }
        assert_eq!(known, 27);
    }
}

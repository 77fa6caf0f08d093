//! A server's fault: its alert (RFC 8446, section 6.2), and its description.

use crate::outcome::{Failure, alert_name};
use crate::reason::Reason;

/// The alerts that the minimal client sends.
pub const UNEXPECTED_MESSAGE: u8 = 10;
/// The alert `bad_record_mac`.
pub const BAD_RECORD_MAC: u8 = 20;
/// The alert `record_overflow`.
pub const RECORD_OVERFLOW: u8 = 22;
/// The alert `illegal_parameter`.
pub const ILLEGAL_PARAMETER: u8 = 47;
/// The alert `decode_error`.
pub const DECODE_ERROR: u8 = 50;
/// The alert `decrypt_error`.
pub const DECRYPT_ERROR: u8 = 51;
/// The alert `protocol_version`.
pub const PROTOCOL_VERSION: u8 = 70;
/// The alert `internal_error`.
pub const INTERNAL_ERROR: u8 = 80;
/// The alert `missing_extension`.
pub const MISSING_EXTENSION: u8 = 109;
/// The alert `unsupported_extension`.
pub const UNSUPPORTED_EXTENSION: u8 = 110;

/// A violation by a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The alert to send.
    pub alert: u8,
    /// The description of the fault.
    pub words: &'static str,
}

impl Fault {
    /// A fault with this alert.
    pub const fn new(alert: u8, words: &'static str) -> Self {
        Self { alert, words }
    }
}

/// A message that cannot be decoded, the most frequent fault.
impl From<&'static str> for Fault {
    fn from(words: &'static str) -> Self {
        Self::new(DECODE_ERROR, words)
    }
}

impl From<Fault> for Failure {
    fn from(_: Fault) -> Self {
        Self::TlsProtocol
    }
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        Self::alerted(alert_name(fault.alert).unwrap_or_default(), fault.words)
    }
}

/// A well-formed message with a forbidden value.
pub const fn illegal(words: &'static str) -> Fault {
    Fault::new(ILLEGAL_PARAMETER, words)
}

/// A record or message in the wrong place.
pub const fn unexpected(words: &'static str) -> Fault {
    Fault::new(UNEXPECTED_MESSAGE, words)
}

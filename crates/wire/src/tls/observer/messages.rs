//! Rules for a server's whole messages, which hold for every library.

use super::{
    CERTIFICATE, CERTIFICATE_REQUEST, COOKIE, ENCRYPTED_EXTENSIONS, EXTENDED_MASTER_SECRET,
    KEY_SHARE, PRE_SHARED_KEY, RENEGOTIATION_INFO, SERVER_KEY_EXCHANGE, SUPPORTED_VERSIONS, TLS13,
};
use crate::names::{CipherSuite, KeyExchange};
use crate::rule::Rule;

/// The extensions that EncryptedExtensions may have (RFC 8446, section 4.2; RFC 8449): server_name,
/// max_fragment_length, supported_groups, use_srtp, heartbeat, ALPN, both certificate types,
/// record_size_limit and early_data.
pub const OF_ENCRYPTED_EXTENSIONS: [u16; 10] = [0, 1, 10, 14, 15, 16, 19, 20, 28, 42];

/// The extensions that an entry of a TLS 1.3 Certificate may have (RFC 8446, section 4.2):
/// status_request and signed_certificate_timestamp.
const OF_CERTIFICATE: [u16; 2] = [5, 18];

/// Extensions that a server of TLS 1.2 never sends in its ServerHello: signature_algorithms (RFC
/// 5246, section 7.4.1.4.1), padding (RFC 7685, section 3), and those of TLS 1.3.
/// supported_groups, which has no place there either, is tolerated, as by all libraries.
const OF_CLIENTS: [u16; 9] = [13, 21, 27, 42, 44, 45, 47, 49, 50];

/// The curves of NIST: P-256, P-384 and P-521; and the first byte of an uncompressed point.
const NIST_CURVES: [u16; 3] = [23, 24, 25];
const UNCOMPRESSED: u8 = 4;

/// The type of curve parameters by name (RFC 8422, section 5.4).
const NAMED_CURVE: u8 = 3;

/// A set of extension numbers. Except for renegotiation_info, the clients here offer only numbers
/// up to 62; larger ones were never offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extensions(pub u64);

/// What a ClientHello offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer<'m> {
    /// The extensions.
    pub extensions: Extensions,
    /// The session ID.
    pub session_id: &'m [u8],
    /// Whether TLS 1.3 is among the versions: a client of TLS 1.2 alone may also list its version.
    pub has_tls13: bool,
    /// Whether an older version is.
    pub has_older: bool,
}

impl<'m> Offer<'m> {
    /// Reads a ClientHello message, with its header.
    pub fn of_client_hello(message: &'m [u8]) -> Option<Self> {
        let (session_id, rest) = field(message.get(4 + 2 + 32..)?, 1)?;
        let (_suites, rest) = field(rest, 2)?;
        let (_compression, rest) = field(rest, 1)?;
        let mut extensions = Extensions::default();
        let (mut has_tls13, mut has_older, mut lists) = (false, false, false);
        each(rest, |number, content| {
            extensions.0 |= Extensions::bit(number).unwrap_or(0);
            if number == SUPPORTED_VERSIONS {
                let versions = content.get(1..).unwrap_or_default().chunks_exact(2);
                has_tls13 = versions.clone().any(|version| version == TLS13);
                has_older = versions.clone().any(|version| version < &TLS13[..]);
                lists = true;
            }
            true
        })?;
        Some(Self { extensions, session_id, has_tls13, has_older: has_older || !lists })
    }
}

impl Extensions {
    /// The bit of renegotiation_info, whose number is too large for a bit.
    const LAST: u32 = 63;

    fn bit(number: u16) -> Option<u64> {
        match number {
            RENEGOTIATION_INFO => Some(1 << Self::LAST),
            number if u32::from(number) < Self::LAST => Some(1 << number),
            _ => None,
        }
    }

    /// The set of all extensions, for a library that itself refuses those that were not offered.
    pub const ALL: Self = Self(u64::MAX);

    /// True if the set contains the extension with this number.
    pub fn contains(self, number: u16) -> bool {
        Self::bit(number).is_some_and(|bit| self.0 & bit != 0)
    }

    /// True if the extensions of this list (after its length) were offered and are among those of
    /// its message; `None` if the list is malformed, which the library reports.
    fn allow(self, list: &[u8], of_message: &[u16]) -> Option<bool> {
        let mut all = true;
        each(list, |number, _| {
            all &= self.contains(number) && of_message.contains(&number);
            true
        })?;
        Some(all)
    }
}

/// Splits off a field after its length of N bytes.
pub fn field(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}

/// Reads a list of extensions after its length; `None` if the list is malformed, or `take` rejects
/// an extension.
pub(super) fn each(list: &[u8], mut take: impl FnMut(u16, &[u8]) -> bool) -> Option<()> {
    let (mut list, _) = field(list, 2)?;
    while let Some((number, rest)) = list.split_first_chunk() {
        let (content, rest) = field(rest, 2)?;
        if !take(u16::from_be_bytes(*number), content) {
            return None;
        }
        list = rest;
    }
    Some(())
}

/// The rule that an encrypted TLS 1.3 message breaks, if any, after a ClientHello with these
/// extensions. The message has its header. Malformed messages are the library's to refuse.
pub fn broken_by_encrypted(message: &[u8], offered: Extensions) -> Option<Rule> {
    let (kind, body) = (*message.first()?, message.get(4..)?);
    let broken = match kind {
        ENCRYPTED_EXTENSIONS => offered.allow(body, &OF_ENCRYPTED_EXTENSIONS) == Some(false),
        CERTIFICATE => return broken_by_certificate(body, offered),
        CERTIFICATE_REQUEST if body.first().is_some_and(|context| *context > 0) => {
            return Some(Rule::CertificateRequest);
        }
        _ => false,
    };
    broken.then_some(Rule::Extension)
}

/// The rule that a TLS 1.3 Certificate breaks (RFC 8446, section 4.4.2).
fn broken_by_certificate(body: &[u8], offered: Extensions) -> Option<Rule> {
    let list = field(body, 1).and_then(|(_context, rest)| field(rest, 3));
    let mut list = list.map_or(&[][..], |(list, _)| list);
    while let Some((certificate, rest)) = field(list, 3) {
        let (extensions, behind) = field(rest, 2)?;
        if certificate.is_empty() {
            return Some(Rule::Certificate);
        }
        if offered.allow(&rest[..2 + extensions.len()], &OF_CERTIFICATE) == Some(false) {
            return Some(Rule::Extension);
        }
        list = behind;
    }
    None
}

/// The rule that a message of TLS 1.2 breaks, if any, after a ServerHello with this suite. The
/// message has its header, and may be cut short behind [`kept_of`] bytes.
pub(super) fn broken_by_old(message: &[u8], suite: u16) -> Option<Rule> {
    let body = message.get(4..)?;
    match message[0] {
        CERTIFICATE => {
            let mut list = body.get(3..)?;
            while let Some((certificate, rest)) = field(list, 3) {
                if certificate.is_empty() {
                    return Some(Rule::Certificate);
                }
                list = rest;
            }
            None
        }
        CERTIFICATE_REQUEST if body.first() == Some(&0) => Some(Rule::CertificateRequest),
        SERVER_KEY_EXCHANGE => {
            let is_curve = CipherSuite::from_code_point(suite).key_exchange() == KeyExchange::Ecdhe;
            let &[NAMED_CURVE, high, low, _length, form, ..] = body else { return None };
            let is_point = is_curve && NIST_CURVES.contains(&u16::from_be_bytes([high, low]));
            (is_point && form != UNCOMPRESSED).then_some(Rule::PointFormat)
        }
        _ => None,
    }
}

/// The rule that an extension of a ServerHello breaks, if any. `tls13` and `retry`: the ServerHello
/// is of TLS 1.3, or a HelloRetryRequest.
pub(super) fn broken_by_extension(
    (number, content): (u16, &[u8]),
    offered: Extensions,
    tls13: bool,
    retry: bool,
) -> Option<Rule> {
    let has_place = match number {
        SUPPORTED_VERSIONS | KEY_SHARE => offered.contains(number),
        PRE_SHARED_KEY => tls13 && !retry && offered.contains(number),
        // A server may send a cookie unasked (RFC 8446, section 4.2.2).
        COOKIE => retry,
        // A signalling suite can also offer it (RFC 5746, section 3.3).
        RENEGOTIATION_INFO => !tls13,
        _ => !tls13 && offered.contains(number) && !OF_CLIENTS.contains(&number),
    };
    match number {
        _ if !has_place => Some(Rule::Extension),
        COOKIE if field(content, 2).is_none_or(|(cookie, _)| cookie.is_empty()) => {
            Some(Rule::Cookie)
        }
        RENEGOTIATION_INFO if content != [0] => Some(Rule::RenegotiationInfo),
        EXTENDED_MASTER_SECRET if !content.is_empty() => Some(Rule::ExtendedMasterSecret),
        _ => None,
    }
}

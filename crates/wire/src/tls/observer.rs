//! Checks a server's unencrypted messages against rules that libraries do not check.
//!
//! The [`Observer`] sees each byte between the socket and the library. Encrypted content is checked
//! by the back end, as far as its library shows it.

use super::HELLO_RETRY_REQUEST;
use crate::rule::Rule;

/// The level of an alert that ends a connection (RFC 8446, section 6).
const FATAL: u8 = 2;

/// Content types (RFC 8446, section 5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Message types (RFC 8446, section 4).
const HELLO_REQUEST: u8 = 0;
const SERVER_HELLO: u8 = 2;

/// Extensions (IANA, "TLS ExtensionType Values").
const EXTENDED_MASTER_SECRET: u16 = 23;
const PRE_SHARED_KEY: u16 = 41;
const COOKIE: u16 = 44;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const RENEGOTIATION_INFO: u16 = 0xff01;

/// The version of TLS 1.3 in `supported_versions`.
const TLS13: [u8; 2] = [3, 4];

/// The last bytes of a random that signals a downgrade to TLS 1.2, and to an older version.
const SENTINELS: [&[u8]; 2] = [b"DOWNGRD\x01", b"DOWNGRD\x00"];

/// The highest number of HelloRequests during a TLS 1.2 handshake.
const HELLO_REQUESTS: u8 = 32;

/// The length of a protected TLS 1.3 record with empty content: content type and tag (RFC 8446,
/// section 5.2; all suites offered here have tags of 16 bytes).
pub const EMPTY_PROTECTED: usize = 1 + 16;

/// The longest ServerHello that is read, in bytes; libraries reject much longer ones.
const LONGEST_HELLO: usize = 16 * 1024;

/// A set of extension numbers. Except for renegotiation_info, the clients here offer only numbers
/// up to 62; larger ones were never offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extensions(pub u64);

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

    /// True if the set contains the extension with this number.
    pub fn contains(self, number: u16) -> bool {
        Self::bit(number).is_some_and(|bit| self.0 & bit != 0)
    }

    /// The extensions of a ClientHello message, its session ID, and whether it offers TLS 1.3: a
    /// client of TLS 1.2 alone may also list its version.
    pub fn of_client_hello(message: &[u8]) -> Option<(Self, &[u8], bool)> {
        let (session_id, rest) = field(message.get(4 + 2 + 32..)?, 1)?;
        let (_suites, rest) = field(rest, 2)?;
        let (_compression, rest) = field(rest, 1)?;
        let mut offered = Self::default();
        let mut offers_tls13 = false;
        each(rest, |number, content| {
            offered.0 |= Self::bit(number).unwrap_or(0);
            if number == SUPPORTED_VERSIONS {
                let versions = content.get(1..).unwrap_or_default();
                offers_tls13 = versions.chunks_exact(2).any(|version| version == TLS13);
            }
            true
        })?;
        Some((offered, session_id, offers_tls13))
    }

    /// True if all extensions of this list (after its length) were offered; `None` if the list is
    /// malformed, which the library reports.
    pub fn allow(self, list: &[u8]) -> Option<bool> {
        let mut all = true;
        each(list, |number, _| {
            all &= self.contains(number);
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
fn each(list: &[u8], mut take: impl FnMut(u16, &[u8]) -> bool) -> Option<()> {
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

/// How the server's records are read at this point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is checked: the ClientHello is unknown.
    Idle,
    /// All records are read.
    Clear,
    /// The rest of a TLS 1.3 handshake is encrypted: only record headers are read.
    Sealed,
    /// Nothing is read.
    Over,
}

/// Checks a server's unencrypted bytes.
#[derive(Debug)]
pub struct Observer {
    phase: Phase,
    /// Whether the headers of encrypted records are read as well.
    reads_sealed: bool,
    offered: Extensions,
    offers_tls13: bool,
    session_id: [u8; 32],
    id_length: usize,
    /// The received bytes of a record header, and the number of missing bytes of the content.
    header: [u8; 5],
    header_length: usize,
    content: usize,
    /// The received bytes of a message: all of a ServerHello, otherwise the header.
    message: Vec<u8>,
    /// The number of missing bytes of a message whose header has arrived.
    to_come: usize,
    hello_requests: u8,
    /// Whether the ServerHello chose TLS 1.3; `None` before it.
    is_tls13: Option<bool>,
}

impl Observer {
    /// The state before the ClientHello. `reads_sealed` is needed only for a library that does not
    /// show the content of encrypted records.
    pub fn new(reads_sealed: bool) -> Self {
        Self {
            phase: Phase::Idle,
            reads_sealed,
            offered: Extensions::default(),
            offers_tls13: false,
            session_id: [0; 32],
            id_length: 0,
            header: [0; 5],
            header_length: 0,
            content: 0,
            message: Vec::new(),
            to_come: 0,
            hello_requests: 0,
            is_tls13: None,
        }
    }

    /// Processes the record of the client's first ClientHello, once it is complete.
    pub fn sent(&mut self, records: &[u8]) {
        if self.phase != Phase::Idle {
            return;
        }
        let Some((offered, id, offers_tls13)) =
            records.get(5..).and_then(Extensions::of_client_hello)
        else {
            return;
        };
        let Some(place) = self.session_id.get_mut(..id.len()) else { return };
        place.copy_from_slice(id);
        (self.offered, self.offers_tls13) = (offered, offers_tls13);
        (self.id_length, self.phase) = (id.len(), Phase::Clear);
    }

    /// Processes received bytes. Stops at an empty encrypted record, and returns its position: the
    /// record breaks [`Rule::EmptyRecord`], unless the bytes before it complete the handshake,
    /// after which it is application data (RFC 8446, section 5.1). The position of a record whose
    /// header began in earlier bytes is 0.
    pub fn received(&mut self, received: &[u8]) -> Result<Option<usize>, Rule> {
        let mut bytes = received;
        while matches!(self.phase, Phase::Clear | Phase::Sealed) && !bytes.is_empty() {
            if self.content == 0 {
                let used = bytes.len().min(self.header.len() - self.header_length);
                let (now, rest) = bytes.split_at(used);
                self.header[self.header_length..][..used].copy_from_slice(now);
                self.header_length += used;
                bytes = rest;
                if self.header_length == self.header.len() {
                    self.header_length = 0;
                    self.record()?;
                    if self.begins_empty() {
                        let end = received.len() - bytes.len();
                        return Ok(Some(end.saturating_sub(self.header.len())));
                    }
                }
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(self.content));
            self.content -= now.len();
            bytes = rest;
            if self.phase == Phase::Clear && self.header[0] == HANDSHAKE {
                self.handshake(now)?;
            }
        }
        Ok(None)
    }

    /// The alert record for the broken rule, as long as alerts are unencrypted.
    pub fn alert(&self, rule: Rule) -> Option<[u8; 7]> {
        (self.phase == Phase::Clear).then(|| [ALERT, 3, 3, 0, 2, FATAL, rule.alert()])
    }

    /// Notes the end of the handshake: from now on only the library checks.
    pub fn finished(&mut self) {
        self.phase = Phase::Over;
    }

    /// True if the current record is encrypted and empty.
    fn begins_empty(&self) -> bool {
        let is_encrypted = self.phase == Phase::Sealed && self.header[0] == APPLICATION_DATA;
        is_encrypted && self.content == EMPTY_PROTECTED
    }

    /// Processes a record header.
    fn record(&mut self) -> Result<(), Rule> {
        let [kind, _, _, high, low] = self.header;
        self.content = usize::from(u16::from_be_bytes([high, low]));
        if self.phase == Phase::Sealed {
            return Ok(());
        }
        match kind {
            HANDSHAKE if self.content == 0 => Err(Rule::EmptyRecord),
            HANDSHAKE => Ok(()),
            _ if !self.message.is_empty() => Err(Rule::InterleavedRecord),
            // Before a ServerHello, the library rejects the record, and also a record too short to
            // be encrypted.
            APPLICATION_DATA => {
                let goes_on = self.reads_sealed && self.is_tls13 == Some(true);
                let phase = if goes_on { Phase::Sealed } else { Phase::Over };
                (self.phase, self.message) = (phase, Vec::new());
                Ok(())
            }
            // After this record TLS 1.2 encrypts. In TLS 1.3 it is for middleboxes, and may also
            // follow a HelloRetryRequest.
            CHANGE_CIPHER_SPEC if self.is_tls13 == Some(false) => {
                (self.phase, self.message) = (Phase::Over, Vec::new());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn handshake(&mut self, mut bytes: &[u8]) -> Result<(), Rule> {
        while !bytes.is_empty() {
            if self.to_come == 0 {
                let used = bytes.len().min(4 - self.message.len());
                self.message.extend_from_slice(&bytes[..used]);
                bytes = &bytes[used..];
                let &[_, high, middle, low] = &self.message[..] else { continue };
                self.to_come = u32::from_be_bytes([0, high, middle, low]) as usize;
                if self.to_come == 0 {
                    self.whole()?;
                }
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(self.to_come));
            if self.message[0] == SERVER_HELLO && self.message.len() + now.len() <= LONGEST_HELLO {
                self.message.extend_from_slice(now);
            }
            self.to_come -= now.len();
            bytes = rest;
            if self.to_come == 0 {
                self.whole()?;
            }
        }
        Ok(())
    }

    /// Checks a complete message.
    fn whole(&mut self) -> Result<(), Rule> {
        let message = std::mem::take(&mut self.message);
        match message[0] {
            HELLO_REQUEST => {
                self.hello_requests += 1;
                if self.hello_requests > HELLO_REQUESTS {
                    return Err(Rule::HelloRequest);
                }
            }
            SERVER_HELLO => self.server_hello(&message)?,
            _ => {}
        }
        // The next message reuses the memory.
        self.message = message;
        self.message.clear();
        Ok(())
    }

    /// Checks a ServerHello. The library rejects one that cannot be decoded.
    fn server_hello(&mut self, message: &[u8]) -> Result<(), Rule> {
        let (Some(version), Some(random)) = (message.get(4..6), message.get(6..38)) else {
            return Ok(());
        };
        let Some((echo, rest)) = field(&message[38..], 1) else { return Ok(()) };
        // Suite and compression method precede the extensions, which TLS 1.2 may omit.
        let list = rest.get(3..).filter(|list| !list.is_empty()).unwrap_or(&[0, 0]);
        let mut broken = None;
        let mut is_tls13 = false;
        let _ = each(list, |number, _| {
            is_tls13 |= number == SUPPORTED_VERSIONS;
            true
        });
        self.is_tls13 = Some(is_tls13);
        let is_retry = random == HELLO_RETRY_REQUEST;
        let _ = each(list, |number, content| {
            let rule = self.extension(number, content, is_tls13, is_retry);
            broken = broken.or(rule);
            true
        });
        if version == TLS13 || (is_tls13 && version != [3, 3]) {
            return Err(Rule::LegacyVersion);
        }
        if is_tls13 && echo != &self.session_id[..self.id_length] {
            return Err(Rule::SessionId);
        }
        if !is_tls13 && self.offers_tls13 && SENTINELS.contains(&&random[24..]) {
            return Err(Rule::Downgrade);
        }
        broken.map_or(Ok(()), Err)
    }

    /// The rule that an extension of a ServerHello breaks, if any.
    fn extension(&self, number: u16, content: &[u8], tls13: bool, retry: bool) -> Option<Rule> {
        let has_place = match number {
            SUPPORTED_VERSIONS | KEY_SHARE => self.offered.contains(number),
            PRE_SHARED_KEY => tls13 && !retry && self.offered.contains(number),
            // A server may send a cookie unasked (RFC 8446, section 4.2.2).
            COOKIE => retry,
            // A signalling suite can also offer it (RFC 5746, section 3.3).
            RENEGOTIATION_INFO => !tls13,
            _ => !tls13 && self.offered.contains(number),
        };
        match number {
            _ if !has_place => Some(Rule::Extension),
            RENEGOTIATION_INFO if content != [0] => Some(Rule::RenegotiationInfo),
            EXTENDED_MASTER_SECRET if !content.is_empty() => Some(Rule::ExtendedMasterSecret),
            _ => None,
        }
    }
}

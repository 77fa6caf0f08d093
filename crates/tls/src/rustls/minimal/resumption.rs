//! Resumption by PSK (RFC 8446, sections 2.2, 4.2.11 and 4.6.1): the sessions that servers issue,
//! and the extension that offers one of them.

use std::time::{Duration, Instant};

use rustls::crypto::tls13::OkmBlock;

use super::secrets::{Binding, Suite};
use tlslab_wire::tls::messages::{HEADER, NewSessionTicket, PRE_SHARED_KEY, RECORD};

/// No ticket is used for longer than a week, whatever its lifetime (section 4.6.1).
const LONGEST_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The bytes of the extension beside identity and binder: its number and length, the lengths of both
/// lists and of their only elements, and the age of the ticket (section 4.2.11).
const OVERHEAD: usize = 4 + 2 + 2 + 4 + 2 + 1;

/// A session that one later connection can resume.
pub struct MinimalTicket {
    /// The suite of the session, of which a resumption needs the hash.
    suite: &'static Suite,
    psk: OkmBlock,
    identity: Vec<u8>,
    age_add: u32,
    received: Instant,
    expires: Instant,
    authenticated: bool,
}

impl std::fmt::Debug for MinimalTicket {
    /// Omits the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MinimalTicket").field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl MinimalTicket {
    /// The session of a ticket that arrived now on a connection with this suite and resumption
    /// master secret. `None` if its lifetime is 0 (section 4.6.1).
    pub fn new(
        suite: &'static Suite,
        resumption: &OkmBlock,
        ticket: &NewSessionTicket<'_>,
        authenticated: bool,
    ) -> Option<Self> {
        let lifetime = Duration::from_secs(ticket.lifetime.into()).min(LONGEST_LIFETIME);
        let received = Instant::now();
        (!lifetime.is_zero()).then(|| Self {
            suite,
            psk: suite.psk(resumption, ticket.nonce),
            identity: ticket.ticket.to_vec(),
            age_add: ticket.age_add,
            received,
            expires: received + lifetime,
            authenticated,
        })
    }

    /// The end of the ticket's lifetime.
    pub fn expires(&self) -> Instant {
        self.expires
    }

    /// The length of the extension that offers this session.
    fn extension_length(&self) -> usize {
        OVERHEAD + self.identity.len() + self.suite.hash_length()
    }

    /// True if a ClientHello with this record can offer the session and still be one record.
    pub fn fits(&self, record: &[u8]) -> bool {
        record.len() - HEADER + self.extension_length() <= RECORD
    }

    /// Offers the session in the record of a ClientHello, as its last extension: appends the
    /// extension, corrects the lengths before it, and binds the PSK. `extensions` is the position of
    /// the extensions' length in the record, which is the end of these bytes and begins at `start`.
    pub fn offer(self, bytes: &mut Vec<u8>, start: usize, extensions: usize) -> Offer {
        let (length, binder) = (self.extension_length(), self.suite.hash_length());
        let age = self.received.elapsed().as_millis() as u32;
        let identity = self.identity.len();
        let u16 = |number: usize| (number as u16).to_be_bytes();
        bytes.extend(PRE_SHARED_KEY.to_be_bytes());
        bytes.extend(u16(length - 4));
        bytes.extend(u16(2 + identity + 4));
        bytes.extend(u16(identity));
        bytes.extend(&self.identity);
        bytes.extend(age.wrapping_add(self.age_add).to_be_bytes());
        let end = bytes.len();
        // The record's length, the last two bytes of the message's length, and the extensions'.
        for place in [3, HEADER + 2, extensions] {
            let place = &mut bytes[start + place..][..2];
            let before = usize::from(u16::from_be_bytes([place[0], place[1]]));
            place.copy_from_slice(&u16(before + length));
        }
        let Binding { binder: bound, salt } =
            self.suite.bind(&self.psk, &bytes[start + HEADER..end]);
        bytes.extend(u16(1 + binder));
        bytes.push(binder as u8);
        bytes.extend(bound.as_ref());
        Offer { suite: self.suite, salt, authenticated: self.authenticated }
    }
}

/// An offered session, until the server has answered.
pub struct Offer {
    /// The suite of the session, of whose hash the suite of the resumption must be.
    pub suite: &'static Suite,
    /// The salt of the handshake secret.
    pub salt: OkmBlock,
    /// Whether the server was authenticated in the session's full handshake.
    pub authenticated: bool,
}

//! The interface of a TLS library that is measured in memory.

use super::InMemoryError;
use super::buffer::Buffer;
use super::role::Role;
use super::settings::Settings;
use super::spec::has_group;
use tlslab_remote_keys::SignatureAccounting;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Mismatch;

/// A handshake that cannot go on, in the library's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeError {
    /// The side that failed.
    pub side: Role,
    /// Why.
    pub message: String,
}

/// Makes both sides of handshakes for one thread.
pub trait Library: Sized {
    /// The name in records.
    const NAME: &'static str;
    /// A client's session.
    type Client: Side;
    /// A server's session.
    type Server: Side;

    /// Configures both sides.
    fn new(settings: &Settings) -> Result<Self, InMemoryError>;

    /// Opens a client's session; one that resumes takes a ticket out of the store for good.
    fn client(&mut self) -> Result<Self::Client, HandshakeError>;

    /// Opens a server's session.
    fn server(&mut self) -> Result<Self::Server, HandshakeError>;

    /// Tickets that wait to be used.
    fn tickets(&self) -> usize;

    /// The accounting of a key away from the process since the last call; `None` without one.
    fn signatures(&mut self) -> Option<SignatureAccounting>;
}

/// One side's session.
pub trait Side {
    /// Carries the handshake on: takes all that has come, and appends what is to be sent.
    fn advance(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
    ) -> Result<(), HandshakeError>;

    /// Whether this side considers the handshake complete.
    fn is_done(&self) -> bool;

    /// The facts of the handshake, once it is complete.
    fn seen(&self) -> Seen;

    /// Appends a record with this plaintext, 16 KiB of it at most.
    fn seal(&mut self, plaintext: &[u8], outgoing: &mut Buffer) -> Result<(), HandshakeError>;

    /// Opens all records that have come and shows their plaintext.
    fn open(
        &mut self,
        incoming: &mut Buffer,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError>;
}

/// What one side knows of a complete handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The protocol version.
    pub version: TlsVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
    /// The group's IANA code point; `None` where the handshake has none that has a name.
    pub group: Option<u16>,
    /// The scheme of the other side's signature.
    pub peer_scheme: Option<SignatureScheme>,
    /// Whether the handshake was a resumption.
    pub resumed: bool,
}

impl Seen {
    /// What a side must see. A TLS 1.2 resumption exchanges no keys, and no side signs in any.
    pub fn expected(settings: &Settings, role: Role, resumed: bool) -> Self {
        let is_13 = settings.tls == TlsVersion::Tls13;
        let exchanges = has_group(settings.suite) && (is_13 || !resumed);
        let signs = match role {
            Role::Client => settings.suite_signs().then_some(settings.scheme),
            Role::Server => settings.client_identity.as_ref().map(|(_, scheme)| *scheme),
        };
        Self {
            version: settings.tls,
            suite: settings.suite,
            group: exchanges.then(|| settings.group.code_point()),
            peer_scheme: signs.filter(|_| !resumed),
            resumed,
        }
    }

    /// The first fact that differs, if any.
    pub fn mismatch(&self, expected: &Self) -> Option<Mismatch> {
        if self == expected {
            return None;
        }
        Some(if self.version != expected.version {
            Mismatch::Version
        } else if self.suite != expected.suite {
            Mismatch::Suite
        } else if self.resumed != expected.resumed {
            Mismatch::Kind
        } else if self.group != expected.group {
            Mismatch::Group
        } else {
            Mismatch::SignatureScheme
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_memory::spec::{HandshakeForm, InMemorySpec};
    use tlslab_wire::names::KeyKind;

    fn expected(form: HandshakeForm, tls: TlsVersion, role: Role, resumed: bool) -> Seen {
        let mut spec = InMemorySpec::new(tls, KeyKind::EcdsaP256);
        spec.handshake = form;
        Seen::expected(&Settings::new(&spec, spec.suite()).unwrap(), role, resumed)
    }

    #[test]
    fn each_fact_that_differs_is_named() {
        let asked = expected(HandshakeForm::Full, TlsVersion::Tls13, Role::Client, false);
        assert_eq!(asked.mismatch(&asked), None);
        type Change = fn(&mut Seen);
        let cases: [(Mismatch, Change); 5] = [
            (Mismatch::Version, |s| s.version = TlsVersion::Tls12),
            (Mismatch::Suite, |s| s.suite = CipherSuite::from_code_point(0x1302)),
            (Mismatch::Kind, |s| s.resumed = true),
            (Mismatch::Group, |s| s.group = None),
            (Mismatch::SignatureScheme, |s| s.peer_scheme = None),
        ];
        for (mismatch, change) in cases {
            let mut seen = asked;
            change(&mut seen);
            assert_eq!(seen.mismatch(&asked), Some(mismatch));
        }
    }

    #[test]
    fn a_server_sees_a_signature_in_mutual_authentication_only() {
        let server = |form| expected(form, TlsVersion::Tls13, Role::Server, false).peer_scheme;
        assert_eq!(server(HandshakeForm::Full), None);
        assert!(server(HandshakeForm::Mutual).is_some());
    }

    #[test]
    fn a_resumption_signs_nothing_and_exchanges_keys_in_tls_1_3_only() {
        let of = |tls| expected(HandshakeForm::Resumed, tls, Role::Client, true);
        assert_eq!(
            (of(TlsVersion::Tls13).peer_scheme, of(TlsVersion::Tls13).group),
            (None, Some(29))
        );
        assert_eq!((of(TlsVersion::Tls12).peer_scheme, of(TlsVersion::Tls12).group), (None, None));
    }
}

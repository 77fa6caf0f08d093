//! The interface of a TLS library for measurements in memory.

use super::InMemoryError;
use super::buffer::Buffer;
use super::role::Role;
use super::settings::Settings;
use super::spec::has_group;
use tlslab_remote_keys::SignatureAccounting;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};
use tlslab_wire::outcome::Mismatch;

/// A handshake that cannot continue, with the library's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeError {
    /// The side that failed.
    pub side: Role,
    /// The library's message.
    pub message: String,
}

/// Creates both sides of handshakes for one thread.
pub trait Library: Sized {
    /// The name in records.
    const NAME: &'static str;
    /// A client session.
    type Client: Side;
    /// A server session.
    type Server: Side;

    /// Configures both sides.
    fn new(settings: &Settings) -> Result<Self, InMemoryError>;

    /// Opens a client session. A session that resumes removes its ticket from the store.
    fn client(&mut self) -> Result<Self::Client, HandshakeError>;

    /// Opens a server session.
    fn server(&mut self) -> Result<Self::Server, HandshakeError>;

    /// The number of unused tickets.
    fn tickets(&self) -> usize;

    /// The accounting of a key outside the process since the last call; `None` without such a key.
    fn signatures(&mut self) -> Option<SignatureAccounting>;
}

/// The session of one side.
pub trait Side {
    /// Continues the handshake: processes all received bytes, and appends the bytes to send.
    fn advance(
        &mut self,
        incoming: &mut Buffer,
        outgoing: &mut Buffer,
    ) -> Result<(), HandshakeError>;

    /// True if this side considers the handshake complete.
    fn is_done(&self) -> bool;

    /// The facts of the handshake, after its completion.
    fn seen(&self) -> Seen;

    /// Appends a record with this plaintext of at most 16 KiB.
    fn seal(&mut self, plaintext: &[u8], outgoing: &mut Buffer) -> Result<(), HandshakeError>;

    /// Decrypts all received records and passes on their plaintext.
    fn open(
        &mut self,
        incoming: &mut Buffer,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<(), HandshakeError>;
}

/// The facts of a completed handshake as one side sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The protocol version.
    pub version: TlsVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
    /// The group's IANA code point; `None` if the handshake uses no named group.
    pub group: Option<u16>,
    /// The scheme of the peer's signature.
    pub peer_scheme: Option<SignatureScheme>,
    /// Whether the handshake resumed a session.
    pub resumed: bool,
}

impl Seen {
    /// The facts that a side must see. A TLS 1.2 resumption has no key exchange, and no resumption
    /// has signatures.
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

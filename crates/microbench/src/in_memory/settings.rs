//! What both libraries are configured from: the specification, with keys and certificates made.

use std::sync::Arc;

use rcgen::ExtendedKeyUsagePurpose;

use super::InMemoryError;
use super::role::Role;
use super::spec::{HandshakeForm, InMemorySpec};
use tlslab_remote_keys::{self as keys, KeySide, KeySource};
use tlslab_tls::self_signed::{Issued, issue, issue_for};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, KeyExchange, SignatureScheme, TlsVersion};

/// The server's name, which its certificate carries.
pub const SERVER_NAME: &str = "localhost";

/// One setting of both sides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The protocol version.
    pub tls: TlsVersion,
    /// The cipher suite.
    pub suite: CipherSuite,
    /// The key-exchange group.
    pub group: Group,
    /// The scheme of the server's signature.
    pub scheme: SignatureScheme,
    /// The kind of the server's key.
    pub key: KeyKind,
    /// The server's certificate, and whom the client trusts.
    pub identity: Issued,
    /// The client's, with the scheme of its signature; for mutual authentication.
    pub client_identity: Option<(Issued, SignatureScheme)>,
    /// The kind of the client's key, for the same.
    pub client_key: Option<KeyKind>,
    /// Where the key of a side is, if it is not in that side's identity.
    pub away: Option<(Role, Arc<dyn KeySource>)>,
    /// Whether the server issues a ticket and the client resumes by it.
    pub resumes: bool,
}

impl Settings {
    /// Makes the certificates for one suite of a specification.
    pub fn new(spec: &InMemorySpec, suite: CipherSuite) -> Result<Self, InMemoryError> {
        let away = match &spec.key_away {
            None => None,
            Some(away) => {
                let (role, kind) = match away.side {
                    KeySide::Client => (Role::Client, spec.client_certificate),
                    KeySide::Server => (Role::Server, spec.certificate),
                };
                Some((role, keys::key_source(&away.place, kind)?))
            }
        };
        let made = |role, kind, purpose| {
            let issued = match &away {
                Some((of, source)) if *of == role => issue_for(source.public_key(), kind, purpose),
                _ => issue(kind, purpose),
            };
            issued.map_err(|e| InMemoryError::Certificate(e.to_string()))
        };
        let client_identity = match spec.handshake {
            HandshakeForm::Mutual => {
                let purpose = ExtendedKeyUsagePurpose::ClientAuth;
                let issued = made(Role::Client, spec.client_certificate, purpose)?;
                Some((issued, spec.client_scheme()))
            }
            HandshakeForm::Full | HandshakeForm::Resumed => None,
        };
        let purpose = ExtendedKeyUsagePurpose::ServerAuth;
        Ok(Self {
            tls: spec.tls,
            suite,
            group: spec.group,
            scheme: spec.signature_scheme,
            key: spec.certificate,
            identity: made(Role::Server, spec.certificate, purpose)?,
            client_key: client_identity.as_ref().map(|_| spec.client_certificate),
            client_identity,
            away,
            resumes: spec.handshake == HandshakeForm::Resumed,
        })
    }

    /// Whether the version is TLS 1.3.
    pub fn is_tls13(&self) -> bool {
        self.tls == TlsVersion::Tls13
    }

    /// Whether the server signs in a full handshake: in static RSA it decrypts instead.
    pub fn suite_signs(&self) -> bool {
        self.suite.key_exchange() != KeyExchange::Rsa
    }

    /// The group that a side has to list in TLS 1.2 beside the one that is used: that of its peer's
    /// certificate, without which it does not take it (RFC 8422, section 5.1).
    pub fn group_of_peer(&self, role: Role) -> Option<Group> {
        let certificate = match role {
            Role::Client => Some(self.key),
            Role::Server => self.client_key,
        };
        let group = match certificate? {
            KeyKind::EcdsaP256 => Group::P256,
            KeyKind::EcdsaP384 => Group::P384,
            KeyKind::EcdsaP521 => Group::P521,
            _ => return None,
        };
        (!self.is_tls13() && group != self.group).then_some(group)
    }
}

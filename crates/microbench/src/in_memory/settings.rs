//! The configuration of both libraries: the specification, with generated keys and certificates.

use std::sync::Arc;

use rcgen::ExtendedKeyUsagePurpose;

use super::InMemoryError;
use super::role::Role;
use super::spec::{HandshakeForm, InMemorySpec};
use tlslab_remote_keys::{self as keys, KeySide, KeySource};
use tlslab_tls::self_signed::{Issued, issue, issue_for};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, KeyExchange, SignatureScheme, TlsVersion};

/// The server's name in its certificate.
pub const SERVER_NAME: &str = "localhost";

/// The configuration of both sides.
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
    /// The server's certificate with its key, and the client's trust anchor.
    pub identity: Issued,
    /// For mutual authentication: the client's certificate with its key, and its signature scheme.
    pub client_identity: Option<(Issued, SignatureScheme)>,
    /// For mutual authentication: the kind of the client's key.
    pub client_key: Option<KeyKind>,
    /// A key outside the process: its side and its source.
    pub away: Option<(Role, Arc<dyn KeySource>)>,
    /// Whether the server issues a ticket and the client resumes it.
    pub resumes: bool,
}

impl Settings {
    /// Generates the certificates for one suite of a specification.
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

    /// True if the version is TLS 1.3.
    pub fn is_tls13(&self) -> bool {
        self.tls == TlsVersion::Tls13
    }

    /// True if the server signs in a full handshake. With static RSA it decrypts instead.
    pub fn suite_signs(&self) -> bool {
        self.suite.key_exchange() != KeyExchange::Rsa
    }

    /// The group that a side must list in TLS 1.2 in addition to the used one: that of its peer's
    /// certificate, without which the side rejects the certificate (RFC 8422, section 5.1).
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

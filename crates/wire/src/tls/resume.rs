//! The kinds of resumption.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::TlsVersion;

/// How connections resume an earlier session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// No resumption: every handshake is full.
    #[default]
    None,
    /// By session ID (TLS 1.2; RFC 5246, section 7.3): the server stores the session.
    Id,
    /// By session ticket (TLS 1.2; RFC 5077): the client stores the session, encrypted by the
    /// server.
    Ticket,
    /// By pre-shared key with key exchange (TLS 1.3; psk_dhe_ke of RFC 8446, section 4.2.9).
    Psk,
    /// By pre-shared key alone (TLS 1.3; psk_ke of RFC 8446, section 4.2.9).
    PskOnly,
}

impl Resume {
    /// The only version with this kind of resumption; `None` for [`Resume::None`].
    pub fn version(self) -> Option<TlsVersion> {
        match self {
            Self::None => None,
            Self::Id | Self::Ticket => Some(TlsVersion::Tls12),
            Self::Psk | Self::PskOnly => Some(TlsVersion::Tls13),
        }
    }

    /// The name in records, messages and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Id => "id",
            Self::Ticket => "ticket",
            Self::Psk => "psk",
            Self::PskOnly => "psk-only",
        }
    }
}

impl std::fmt::Display for Resume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

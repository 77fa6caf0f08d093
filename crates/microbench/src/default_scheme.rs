//! The signature scheme that goes with each kind of key.

use tlslab_wire::names::{KeyKind, SignatureScheme};

/// The default scheme of a kind of key: the hash of the curve, or PSS with SHA-256 for RSA.
pub(crate) fn default_scheme(key: KeyKind) -> SignatureScheme {
    SignatureScheme::from_code_point(match key {
        KeyKind::EcdsaP256 => 0x0403,
        KeyKind::EcdsaP384 => 0x0503,
        KeyKind::EcdsaP521 => 0x0603,
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => 0x0804,
        KeyKind::Ed25519 => 0x0807,
    })
}

//! X448 (RFC 7748) from OpenSSL; aws-lc has no X448.

use openssl::derive::Deriver;
use openssl::pkey::{Id, PKey, Private};

use super::Key;

/// An X448 key.
pub struct X448Key {
    key: PKey<Private>,
    share: Vec<u8>,
}

impl X448Key {
    /// Generates a key.
    pub fn generate() -> Option<Self> {
        let key = PKey::generate_x448().ok()?;
        let share = key.raw_public_key().ok()?;
        Some(Self { key, share })
    }
}

impl Key for X448Key {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>> {
        let peer = PKey::public_key_from_raw_bytes(peer, Id::X448).ok()?;
        let mut deriver = Deriver::new(&self.key).ok()?;
        deriver.set_peer(&peer).ok()?;
        deriver.derive_to_vec().ok()
    }
}

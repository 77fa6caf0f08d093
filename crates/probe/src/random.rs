//! The random bytes of a probe's hellos.

use openssl::rand::rand_bytes;

/// As many as a ClientHello's random or session ID has, or a challenge of SSL 2.0.
pub fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // A probe works without randomness as well: its hellos protect nothing.
    let _ = rand_bytes(&mut bytes);
    bytes
}

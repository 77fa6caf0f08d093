//! The random bytes of a probe's hellos.

use openssl::rand::rand_bytes;

/// As many as a ClientHello's random and its session ID have.
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    // Where there is no randomness a probe still works: its hellos protect nothing.
    let _ = rand_bytes(&mut bytes);
    bytes
}

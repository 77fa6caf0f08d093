//! The random bytes in a probe's ClientHellos.

use openssl::rand::rand_bytes;

/// Random bytes of the length of a ClientHello's random or session ID, or of an SSL 2.0 challenge.
pub fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // A failure is acceptable: the hellos of a probe protect nothing.
    let _ = rand_bytes(&mut bytes);
    bytes
}

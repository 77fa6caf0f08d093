//! The shortest keys and primes that do not require `--allow-obsolete`.

/// The shortest RSA modulus and Diffie-Hellman prime, in bits, that are not obsolete (NIST SP
/// 800-131A, revision 2: 112 bits of security).
pub const SHORTEST_PRIME: u32 = 2048;

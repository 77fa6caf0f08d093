//! Calls into aws-lc that the crate `aws-lc-rs` does not wrap. This crate has no others.

/// Length of an X25519 key, public, private or shared, in bytes (RFC 7748, section 5).
pub const X25519_LENGTH: usize = 32;

/// Generates an X25519 key pair: the private key, and the public key.
pub fn x25519_keypair() -> ([u8; X25519_LENGTH], [u8; X25519_LENGTH]) {
    let (mut private, mut public) = ([0; X25519_LENGTH], [0; X25519_LENGTH]);
    // SAFETY: both pointers are valid for writes of 32 bytes.
    unsafe { aws_lc_sys::X25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) };
    (private, public)
}

/// The X25519 shared secret; `None` if it is all zero (RFC 8446, section 7.4.2).
pub fn x25519(private: &[u8; X25519_LENGTH], peer: &[u8; X25519_LENGTH]) -> Option<Vec<u8>> {
    let mut secret = vec![0; X25519_LENGTH];
    // SAFETY: all three pointers are valid for 32 bytes, the first for writes.
    let done = unsafe { aws_lc_sys::X25519(secret.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    (done == 1).then_some(secret)
}

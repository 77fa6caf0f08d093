//! The key schedules as sequences of HMAC calls.

use std::hint::black_box;

use aws_lc_rs::hmac;

/// HKDF of TLS 1.3 from the shared secret to the application's keys (RFC 8446, section 7.1).
///
/// An Extract, and an Expand of up to a hash's length, are one HMAC each. Values that are equal in
/// every connection without a PSK (the early secret), the exporter secret and the resumption secret
/// are left out.
pub fn tls13(algorithm: hmac::Algorithm) -> impl FnMut() {
    let secret = move |key: &hmac::Key, length: usize| {
        let tag = hmac::sign(key, &[7; 128][..length]);
        hmac::Key::new(algorithm, tag.as_ref())
    };
    let hash = algorithm.digest_algorithm().output_len();
    let constant = hmac::Key::new(algorithm, &[1; 48][..hash]);
    // The length of an HkdfLabel: two bytes, "tls13 " and label after their length, the context.
    let with_context = 22 + hash;
    move || {
        let handshake = secret(&constant, 32);
        // The traffic secrets of client and server. Each yields a key, an IV and the key of its
        // Finished.
        for _ in 0..2 {
            let traffic = secret(&handshake, with_context);
            black_box((hmac::sign(&traffic, &[7; 19]), hmac::sign(&traffic, &[7; 18])));
            let finished = secret(&traffic, 24);
            black_box(hmac::sign(&finished, &[7; 48][..hash]));
        }
        let derived = secret(&handshake, with_context);
        let master = secret(&derived, hash);
        for _ in 0..2 {
            let traffic = secret(&master, with_context);
            black_box((hmac::sign(&traffic, &[7; 19]), hmac::sign(&traffic, &[7; 18])));
        }
    }
}

/// The TLS 1.2 PRF (RFC 5246, section 5) from the shared secret to both Finished: the extended
/// master secret of 48 bytes, a key block of two keys and IVs, two times 12 bytes. Each block of
/// output takes two HMACs, and each call one more for its first seed.
pub fn tls12(algorithm: hmac::Algorithm) -> impl FnMut() {
    let hash = algorithm.digest_algorithm().output_len();
    move || {
        let pre_master = hmac::Key::new(algorithm, &[1; 32]);
        expand(&pre_master, 15 + hash, 48usize.div_ceil(hash));
        let master = hmac::Key::new(algorithm, &[2; 48]);
        expand(&master, 13 + 64, 40usize.div_ceil(hash));
        expand(&master, 15 + hash, 1);
        expand(&master, 15 + hash, 1);
    }
}

/// P_hash: N blocks of output from a label and seed of `length` bytes.
fn expand(key: &hmac::Key, length: usize, blocks: usize) {
    let seed = [7; 128];
    let mut a = hmac::sign(key, &seed[..length]);
    for block in 0..blocks {
        let mut context = hmac::Context::with_key(key);
        context.update(a.as_ref());
        context.update(&seed[..length]);
        black_box(context.sign());
        if block + 1 < blocks {
            a = hmac::sign(key, a.as_ref());
        }
    }
}

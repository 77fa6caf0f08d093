//! The key schedule of TLS 1.3 (RFC 8446, section 7.1) over HMACs that keep their state.
//!
//! A handshake derives some fifteen secrets, each with an HMAC. rustls' provider sets each of these
//! up anew through aws-lc's general interface; here the two hash blocks that depend on the key alone
//! are computed once per key, and nothing is allocated for a tag. The suites are otherwise the
//! provider's own (`docs/adr/0011`).

use std::sync::LazyLock;

use hmac::{Hmac, Mac};
use rustls::crypto::hmac::{Hmac as HmacAlgorithm, Key, Tag};
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, aws_lc_rs};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};
use sha2::{Sha256, Sha384};

/// All suites of the provider; those of TLS 1.3 with the key schedule of this module.
pub static CIPHER_SUITES: LazyLock<Vec<SupportedCipherSuite>> = LazyLock::new(|| {
    aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| with_own_key_schedule(*suite)).collect()
});

fn with_own_key_schedule(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let SupportedCipherSuite::Tls13(stock) = suite else { return suite };
    let own = Tls13CipherSuite {
        common: CipherSuiteCommon { ..stock.common },
        hkdf_provider: match stock.common.hash_provider.output_len() {
            48 => &HkdfUsingHmac(&HmacSha384),
            _ => &HkdfUsingHmac(&HmacSha256),
        },
        aead_alg: stock.aead_alg,
        quic: stock.quic,
    };
    SupportedCipherSuite::Tls13(Box::leak(Box::new(own)))
}

/// Makes an HMAC of a RustCrypto hash usable to rustls.
macro_rules! hmac_of {
    ($algorithm:ident, $key:ident, $hash:ty, $length:literal) => {
        #[derive(Debug)]
        struct $algorithm;

        struct $key(Hmac<$hash>);

        impl HmacAlgorithm for $algorithm {
            fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
                Box::new($key(Hmac::new_from_slice(key).expect("HMAC takes keys of any length")))
            }

            fn hash_output_len(&self) -> usize {
                $length
            }
        }

        impl Key for $key {
            fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
                let mut mac = self.0.clone();
                mac.update(first);
                middle.iter().for_each(|part| mac.update(part));
                mac.update(last);
                Tag::new(&mac.finalize().into_bytes())
            }

            fn tag_len(&self) -> usize {
                $length
            }
        }
    };
}

hmac_of!(HmacSha256, HmacSha256Key, Sha256, 32);
hmac_of!(HmacSha384, HmacSha384Key, Sha384, 48);

#[cfg(test)]
mod tests {
    use ::aws_lc_rs::hmac as reference;

    use super::*;

    #[test]
    fn tags_are_those_of_aws_lc() {
        let algorithms: [(&dyn HmacAlgorithm, reference::Algorithm); 2] =
            [(&HmacSha256, reference::HMAC_SHA256), (&HmacSha384, reference::HMAC_SHA384)];
        for (ours, theirs) in algorithms {
            for length in [0, 1, 32, 48, 64, 65, 127, 128, 129, 300] {
                let key = vec![7; length];
                let tag = ours.with_key(&key).sign_concat(b"ab", &[b"", b"cd"], b"e");
                let expected = reference::sign(&reference::Key::new(theirs, &key), b"abcde");
                assert_eq!(tag.as_ref(), expected.as_ref(), "key of {length} bytes");
            }
            assert_eq!(ours.with_key(b"").tag_len(), ours.hash_output_len());
        }
    }

    #[test]
    fn every_suite_of_the_provider_is_there() {
        let names: Vec<_> = CIPHER_SUITES.iter().map(SupportedCipherSuite::suite).collect();
        let stock: Vec<_> = aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|s| s.suite()).collect();
        assert_eq!(names, stock);
    }
}

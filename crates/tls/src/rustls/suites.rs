//! The provider's cipher suites. TLS 1.3 suites use this crate's key schedule and transcript.

use std::sync::LazyLock;

use rustls::crypto::{CipherSuiteCommon, aws_lc_rs};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};

use super::{inspection, key_schedule, transcript};

/// All suites of the provider.
pub static CIPHER_SUITES: LazyLock<Vec<SupportedCipherSuite>> = LazyLock::new(|| {
    aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| with_own_hashing(*suite)).collect()
});

/// The same suite. A TLS 1.3 suite hashes by RustCrypto (`docs/adr/0011`), and its handshake
/// messages are inspected (`docs/adr/0047`).
fn with_own_hashing(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let SupportedCipherSuite::Tls13(stock) = suite else { return suite };
    let hash = stock.common.hash_provider.algorithm();
    let (Some(hash_provider), Some(hkdf_provider)) =
        (transcript::implementation(hash), key_schedule::implementation(hash))
    else {
        return suite;
    };
    let own = Tls13CipherSuite {
        common: CipherSuiteCommon { hash_provider, ..stock.common },
        hkdf_provider,
        aead_alg: inspection::inspecting(stock.aead_alg),
        quic: stock.quic,
    };
    SupportedCipherSuite::Tls13(Box::leak(Box::new(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_the_provider_is_there() {
        let names: Vec<_> = CIPHER_SUITES.iter().map(SupportedCipherSuite::suite).collect();
        let stock: Vec<_> = aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|s| s.suite()).collect();
        assert_eq!(names, stock);
    }
}

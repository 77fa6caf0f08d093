//! Remembers for a moment that a chain has passed.
//!
//! All connections of a run meet the same server, which sends the same certificates again and again.
//! Whether they form a chain to a trust anchor, for this name, at this time, is the same question each
//! time; so its answer is kept for [`LIFETIME`], for exactly these bytes. Browsers do likewise. What is
//! new in each connection, the handshake signature, is verified on each (`docs/adr/0006`).

use std::cell::RefCell;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};

/// How long an answer is kept; a certificate that expires during a run is noticed this much later.
const LIFETIME: Duration = Duration::from_secs(1);

thread_local! {
    static PASSED: RefCell<Option<Passed>> = const { RefCell::new(None) };
}

/// A chain that has passed.
struct Passed {
    /// The verifier that let it pass: its name and trust anchors are part of the question.
    verifier: usize,
    at: UnixTime,
    /// The certificates, the server's own first.
    chain: Vec<Vec<u8>>,
}

/// Whether this verifier has let exactly this chain pass a moment ago, on this thread.
pub fn has_passed(
    verifier: usize,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) -> bool {
    PASSED.with_borrow(|passed| {
        passed.as_ref().is_some_and(|passed| {
            let age = now.as_secs().checked_sub(passed.at.as_secs());
            passed.verifier == verifier
                && age.is_some_and(|age| age < LIFETIME.as_secs())
                && passed.chain.len() == intermediates.len() + 1
                && passed.chain[0] == end_entity.as_ref()
                && passed.chain[1..].iter().zip(intermediates).all(|(a, b)| a == b.as_ref())
        })
    })
}

/// Keeps in mind that this verifier has let this chain pass.
pub fn remember(
    verifier: usize,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) {
    let chain = std::iter::once(end_entity).chain(intermediates).map(|c| c.to_vec()).collect();
    PASSED.set(Some(Passed { verifier, at: now, chain }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    #[test]
    fn only_the_same_chain_by_the_same_verifier_at_nearly_the_same_time_has_passed() {
        let [leaf, issuer, other] =
            [[1u8; 4], [2; 4], [3; 4]].map(|b| CertificateDer::from(b.to_vec()));
        let (leaf, issuer) = (leaf, [issuer]);
        assert!(!has_passed(7, &leaf, &issuer, at(10)));
        remember(7, &leaf, &issuer, at(10));
        assert!(has_passed(7, &leaf, &issuer, at(10)));
        assert!(!has_passed(8, &leaf, &issuer, at(10)));
        assert!(!has_passed(7, &other, &issuer, at(10)));
        assert!(!has_passed(7, &leaf, &[other], at(10)));
        assert!(!has_passed(7, &leaf, &[], at(10)));
        assert!(!has_passed(7, &leaf, &issuer, at(11)));
        assert!(!has_passed(7, &leaf, &issuer, at(9)));
    }
}

//! Remembers for a short time that a certificate chain was verified.
//!
//! All connections of a run go to one server, which sends the same certificates for the same name.
//! Whether they form a chain to a trust anchor, for this name and at this time, is verified once;
//! the result is valid for [`LIFETIME`], for exactly these bytes. Browsers do the same. The
//! handshake signature differs in each connection and is verified on each (`docs/adr/0006`).

use std::cell::RefCell;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

/// How long a result is valid. A certificate that expires during a run is noticed that much later.
const LIFETIME: Duration = Duration::from_secs(1);

/// The highest number of remembered chains. At least the number of server names that a run may
/// have: names used in turn would otherwise evict each other's chains before their next use.
const CHAINS: usize = 1024;

thread_local! {
    /// Verified chains. rustls calls its verifier by `&self` from any thread: with a thread-local a
    /// worker needs no lock.
    static PASSED: RefCell<Vec<Passed>> = const { RefCell::new(Vec::new()) };
}

/// A verified chain.
struct Passed {
    /// The number of the verifier. Another verifier may have other trust anchors.
    verifier: u64,
    /// The server name that the chain was verified for.
    name: ServerName<'static>,
    at: UnixTime,
    /// The certificates, the server's own first.
    chain: Vec<Vec<u8>>,
}

/// True if this verifier has verified exactly this chain within [`LIFETIME`] on this thread.
pub fn has_passed(
    verifier: u64,
    name: &ServerName<'_>,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) -> bool {
    PASSED.with_borrow(|passed| {
        passed.iter().any(|passed| {
            let age = now.as_secs().checked_sub(passed.at.as_secs());
            passed.verifier == verifier
                && passed.name == *name
                && age.is_some_and(|age| age < LIFETIME.as_secs())
                && passed.chain.len() == intermediates.len() + 1
                && passed.chain[0] == end_entity.as_ref()
                && passed.chain[1..].iter().zip(intermediates).all(|(a, b)| a == b.as_ref())
        })
    })
}

/// Remembers that this verifier has verified this chain.
pub fn remember(
    verifier: u64,
    name: &ServerName<'_>,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) {
    let chain = std::iter::once(end_entity).chain(intermediates).map(|c| c.to_vec()).collect();
    let new = Passed { verifier, name: name.to_owned(), at: now, chain };
    PASSED.with_borrow_mut(|passed| {
        let is_same = |old: &Passed| old.verifier == verifier && old.name == *name;
        let known = passed.iter().position(is_same);
        if known.is_none() && passed.len() < CHAINS {
            return passed.push(new);
        }
        let oldest = || (0..passed.len()).min_by_key(|&place| passed[place].at.as_secs());
        if let Some(place) = known.or_else(oldest) {
            passed[place] = new;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn name(name: &str) -> ServerName<'_> {
        ServerName::try_from(name).unwrap()
    }

    #[test]
    fn only_the_same_chain_for_the_same_name_at_nearly_the_same_time_has_passed() {
        let [leaf, issuer, other] =
            [[1u8; 4], [2; 4], [3; 4]].map(|b| CertificateDer::from(b.to_vec()));
        let (leaf, issuer, a) = (leaf, [issuer], name("a"));
        assert!(!has_passed(7, &a, &leaf, &issuer, at(10)));
        remember(7, &a, &leaf, &issuer, at(10));
        assert!(has_passed(7, &a, &leaf, &issuer, at(10)));
        assert!(!has_passed(8, &a, &leaf, &issuer, at(10)));
        assert!(!has_passed(7, &name("b"), &leaf, &issuer, at(10)));
        assert!(!has_passed(7, &a, &other, &issuer, at(10)));
        assert!(!has_passed(7, &a, &leaf, &[other], at(10)));
        assert!(!has_passed(7, &a, &leaf, &[], at(10)));
        assert!(!has_passed(7, &a, &leaf, &issuer, at(11)));
        assert!(!has_passed(7, &a, &leaf, &issuer, at(9)));
    }

    #[test]
    fn names_that_take_turns_are_remembered_together_up_to_a_limit() {
        let leaf = CertificateDer::from(vec![1]);
        let names: Vec<String> = (0..=CHAINS).map(|number| format!("n{number}")).collect();
        for name in &names {
            remember(9, &self::name(name), &leaf, &[], at(10));
        }
        let passed = |name: &String| has_passed(9, &self::name(name), &leaf, &[], at(10));
        assert!(!passed(&names[0]) && names[1..].iter().all(passed));
    }
}

//! Weak primes of Diffie-Hellman parameters that a server has made itself.

use ::openssl::bn::{BigNum, BigNumContext, BigNumRef};
use ::openssl::pkey::Id;
use ::openssl::ssl::SslRef;

use super::ffi;

/// The longest prime that is examined, in bits: a longer one would take seconds.
const LONGEST_EXAMINED: i32 = 4096;

const COMPOSITE: &str = "is composite: whoever knows its factors can break the key exchange";

/// RFC 2785 and RFC 7919, section 5. The order of a generator is not sent in TLS.
const NOT_SAFE: &str = "is not a safe prime: unless the generator has a large prime order, as in the \
                        groups of RFC 5114, small subgroups give away parts of a key that is used again";

/// The weakness of the server's own Diffie-Hellman prime, in words that complete "the prime". `None`
/// for named groups, which have safe primes (RFC 7919), and if there is no weakness.
pub(super) fn weakness_of_peer(ssl: &SslRef) -> Option<&'static str> {
    if ffi::group_name(ssl).is_some() {
        return None;
    }
    let key = ssl.peer_tmp_key().ok().filter(|key| key.id() == Id::DH)?;
    of_number(key.dh().ok()?.prime_p())
}

/// The same for a prime, its most significant byte first.
pub fn weakness(prime: &[u8]) -> Option<&'static str> {
    of_number(&*BigNum::from_slice(prime).ok()?)
}

fn of_number(prime: &BigNumRef) -> Option<&'static str> {
    // The usual ones are safe; to examine them anew would take most of the time.
    let usual = match prime.num_bits() {
        1024 => BigNum::get_rfc2409_prime_1024(),
        1536 => BigNum::get_rfc3526_prime_1536(),
        2048 => BigNum::get_rfc3526_prime_2048(),
        3072 => BigNum::get_rfc3526_prime_3072(),
        _ => BigNum::get_rfc3526_prime_4096(),
    };
    if prime.num_bits() > LONGEST_EXAMINED || usual.is_ok_and(|usual| *prime == usual) {
        return None;
    }
    let mut context = BigNumContext::new().ok()?;
    let mut half = BigNum::new().ok()?;
    half.rshift1(prime).ok()?;
    // The library chooses the number of rounds.
    let mut is_prime = |number: &BigNumRef| number.is_prime(0, &mut context).ok();
    match (is_prime(prime)?, is_prime(&half)?) {
        (true, true) => None,
        (true, false) => Some(NOT_SAFE),
        (false, _) => Some(COMPOSITE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_that_are_composite_or_not_safe_are_noticed_and_those_of_rfc_3526_are_not() {
        let safe = BigNum::get_rfc3526_prime_2048().unwrap();
        assert_eq!(weakness(&safe.to_vec()), None);
        let mut other = safe.to_vec();
        other[100] ^= 2;
        assert_eq!(weakness(&other), Some(COMPOSITE));
        // The prime of the curve P-256.
        let prime = BigNum::from_hex_str(
            "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF",
        );
        assert_eq!(weakness(&prime.unwrap().to_vec()), Some(NOT_SAFE));
    }
}

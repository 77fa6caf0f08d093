//! Reads the negotiated facts of a session.

use ::openssl::bn::{BigNum, BigNumContext, BigNumRef};
use ::openssl::pkey::Id;
use ::openssl::ssl::{SslRef, SslVersion};

use crate::{Alpn, HandshakeKind, KeyExchangeGroup, Negotiated};
use tlslab_contract::spec::Resume;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use super::ffi::{self, messages};

/// The code point for an unknown scheme name of the library. IANA reserves the number 0.
const WITHOUT_NUMBER: u16 = 0;

/// The negotiated facts of a session after its handshake.
pub fn negotiated(ssl: &SslRef, authenticated: bool) -> Negotiated {
    let resumed_by = resumed_by(ssl);
    Negotiated {
        version: version(ssl),
        suite: CipherSuite::from_code_point(
            ssl.current_cipher().map_or(WITHOUT_NUMBER, |c| u16::from_be_bytes(c.protocol_id())),
        ),
        // On a resumed connection OpenSSL still reports the group of the session's full handshake.
        group: match resumed_by {
            Resume::None | Resume::Psk => group(ssl),
            Resume::Id | Resume::Ticket | Resume::PskOnly => None,
        },
        signature_scheme: ffi::peer_signature_name(ssl).map(scheme),
        kind: if ssl.session_reused() { HandshakeKind::Resumed } else { HandshakeKind::Full },
        hello_retry_request: messages::saw_hello_retry_request(ssl),
        alpn: ssl.selected_alpn_protocol().map(Alpn::of),
        client_authenticated: messages::client_signed(ssl),
        resumed_by,
        early_data: ffi::early_data(ssl),
        // A handshake message is shorter than 4 GiB.
        ocsp_response_bytes: ssl.ocsp_status().map_or(0, |response| response.len() as u32),
        authenticated,
        minimal_client: false,
    }
}

/// How the session was resumed, if it was.
fn resumed_by(ssl: &SslRef) -> Resume {
    let by_ticket = || ssl.session().is_some_and(ffi::has_ticket);
    match version(ssl) {
        _ if !ssl.session_reused() => Resume::None,
        TlsVersion::Tls13 if messages::is_without_exchange(ssl) => Resume::PskOnly,
        TlsVersion::Tls13 => Resume::Psk,
        _ if by_ticket() => Resume::Ticket,
        _ => Resume::Id,
    }
}

/// The version of a session. Contexts enable only the versions that are known here.
fn version(ssl: &SslRef) -> TlsVersion {
    match ssl.version2() {
        Some(SslVersion::TLS1_3) => TlsVersion::Tls13,
        Some(SslVersion::TLS1_1) => TlsVersion::Tls11,
        Some(SslVersion::TLS1) => TlsVersion::Tls10,
        Some(SslVersion::SSL3) => TlsVersion::Ssl3,
        _ => TlsVersion::Tls12,
    }
}

/// The group by name, if it has one; otherwise the size of the server's own Diffie-Hellman
/// parameters in TLS 1.2; otherwise `None`, which means static RSA.
fn group(ssl: &SslRef) -> Option<KeyExchangeGroup> {
    if let Some(name) = ffi::group_name(ssl) {
        let code_point = name.parse().map_or(WITHOUT_NUMBER, Group::code_point);
        return Some(KeyExchangeGroup::Named(code_point));
    }
    let key = ssl.peer_tmp_key().ok()?;
    (key.id() == Id::DH).then(|| KeyExchangeGroup::FiniteField(key.bits()))
}

/// The longest prime that is examined, in bits: a longer one would take seconds.
const LONGEST_EXAMINED: i32 = 4096;

/// The weakness of the server's own Diffie-Hellman prime: it is composite, or half of it is. In the
/// second case its group may have small subgroups, and nobody but the server knows. `None` for
/// named groups, which are safe primes (RFC 7919), and if there is no weakness.
pub fn weak_prime(ssl: &SslRef) -> Option<&'static str> {
    if ffi::group_name(ssl).is_some() {
        return None;
    }
    let key = ssl.peer_tmp_key().ok().filter(|key| key.id() == Id::DH)?;
    weakness(key.dh().ok()?.prime_p())
}

fn weakness(prime: &BigNumRef) -> Option<&'static str> {
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
        (true, false) => Some("is not a safe prime"),
        (false, _) => Some("is composite"),
    }
}

fn scheme(name: &str) -> SignatureScheme {
    name.parse().unwrap_or_else(|_| {
        let unlisted = UNLISTED_SCHEMES.iter().find(|(known, _)| *known == name);
        SignatureScheme::from_code_point(unlisted.map_or(WITHOUT_NUMBER, |(_, number)| *number))
    })
}

/// Schemes of OpenSSL's default offer that have no option here.
const UNLISTED_SCHEMES: [(&str, u16); 6] = [
    ("rsa_pkcs1_md5_sha1", SignatureScheme::RSA_MD5_SHA1.code_point()),
    ("ecdsa_brainpoolP256r1tls13_sha256", 0x081a),
    ("ecdsa_brainpoolP384r1tls13_sha384", 0x081b),
    ("ecdsa_brainpoolP512r1tls13_sha512", 0x081c),
    ("ecdsa_sha224", 0x0303),
    ("rsa_pkcs1_sha224", 0x0301),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_that_are_composite_or_not_safe_are_noticed_and_those_of_rfc_3526_are_not() {
        let safe = BigNum::get_rfc3526_prime_2048().unwrap();
        assert_eq!(weakness(&safe), None);
        let mut other = safe.to_owned().unwrap();
        other.add_word(2).unwrap();
        assert_eq!(weakness(&other), Some("is composite"));
        // The prime of the curve P-256.
        let prime = BigNum::from_hex_str(
            "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF",
        );
        assert_eq!(weakness(&prime.unwrap()), Some("is not a safe prime"));
    }
}

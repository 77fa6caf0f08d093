//! Reads from a session what was negotiated.

use ::openssl::pkey::Id;
use ::openssl::ssl::{SslRef, SslVersion};

use crate::{Alpn, HandshakeKind, KeyExchangeGroup, Negotiated};
use tlslab_contract::spec::Resume;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use super::ffi::{self, messages};

/// The code point for a name of the library's that is unknown here; IANA reserves the number 0.
const WITHOUT_NUMBER: u16 = 0;

/// The facts of a session whose handshake is done.
pub fn negotiated(ssl: &SslRef, authenticated: bool) -> Negotiated {
    let resumed_by = resumed_by(ssl);
    Negotiated {
        version: version(ssl),
        suite: CipherSuite::from_code_point(
            ssl.current_cipher().map_or(WITHOUT_NUMBER, |c| u16::from_be_bytes(c.protocol_id())),
        ),
        // OpenSSL still names the group of the full handshake that began the session.
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
        // A message of a handshake is shorter than that.
        ocsp_response_bytes: ssl.ocsp_status().map_or(0, |response| response.len() as u32),
        authenticated,
        minimal_client: false,
    }
}

/// How an earlier session was resumed.
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

/// The version of a session: contexts allow only the versions that are known here.
fn version(ssl: &SslRef) -> TlsVersion {
    match ssl.version2() {
        Some(SslVersion::TLS1_3) => TlsVersion::Tls13,
        Some(SslVersion::TLS1_1) => TlsVersion::Tls11,
        Some(SslVersion::TLS1) => TlsVersion::Tls10,
        Some(SslVersion::SSL3) => TlsVersion::Ssl3,
        _ => TlsVersion::Tls12,
    }
}

/// The group by name where there is one; else the size of the Diffie-Hellman parameters that a TLS
/// 1.2 server made up; else none, which is static RSA.
fn group(ssl: &SslRef) -> Option<KeyExchangeGroup> {
    if let Some(name) = ffi::group_name(ssl) {
        let code_point = name.parse().map_or(WITHOUT_NUMBER, Group::code_point);
        return Some(KeyExchangeGroup::Named(code_point));
    }
    let key = ssl.peer_tmp_key().ok()?;
    (key.id() == Id::DH).then(|| KeyExchangeGroup::FiniteField(key.bits()))
}

fn scheme(name: &str) -> SignatureScheme {
    name.parse().unwrap_or_else(|_| {
        let unlisted = UNLISTED_SCHEMES.iter().find(|(known, _)| *known == name);
        SignatureScheme::from_code_point(unlisted.map_or(WITHOUT_NUMBER, |(_, number)| *number))
    })
}

/// Schemes that a server can choose by OpenSSL's default, and that no option here asks for.
const UNLISTED_SCHEMES: [(&str, u16); 9] = [
    ("rsa_pkcs1_md5_sha1", SignatureScheme::RSA_MD5_SHA1.code_point()),
    ("rsa_pss_pss_sha256", 0x0809),
    ("rsa_pss_pss_sha384", 0x080a),
    ("rsa_pss_pss_sha512", 0x080b),
    ("ecdsa_brainpoolP256r1tls13_sha256", 0x081a),
    ("ecdsa_brainpoolP384r1tls13_sha384", 0x081b),
    ("ecdsa_brainpoolP512r1tls13_sha512", 0x081c),
    ("ecdsa_sha224", 0x0303),
    ("rsa_pkcs1_sha224", 0x0301),
];

//! Reads the negotiated facts of a session.

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

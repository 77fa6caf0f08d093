//! The negotiated facts of a rustls connection.

use rustls::client::UnbufferedClientConnection;
use rustls::{HandshakeKind as RustlsKind, ProtocolVersion};

use super::flight::Early;
use crate::{Alpn, EarlyData, HandshakeKind, KeyExchangeGroup, Negotiated};
use tlslab_contract::spec::Resume;
use tlslab_wire::names::{CipherSuite, SignatureScheme, TlsVersion};

/// Facts that the session collects itself because rustls does not report them.
pub struct Seen {
    /// The scheme of the server's signature.
    pub signature_scheme: Option<SignatureScheme>,
    /// The length of the OCSP response with the server's certificate.
    pub ocsp_response_bytes: u32,
    /// Whether the client has sent a certificate.
    pub client_authenticated: bool,
    /// Whether the ClientHello offered a TLS 1.2 ticket.
    pub ticket_offered: bool,
    /// Early data.
    pub early: Early,
    /// Whether the server was authenticated in full.
    pub authenticated: bool,
}

/// The negotiated facts of a connection after its handshake.
pub fn negotiated(connection: &UnbufferedClientConnection, seen: &Seen) -> Negotiated {
    let kind = connection.handshake_kind();
    Negotiated {
        version: match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => TlsVersion::Tls13,
            _ => TlsVersion::Tls12,
        },
        suite: CipherSuite::from_code_point(
            connection.negotiated_cipher_suite().map_or(0, |suite| suite.suite().into()),
        ),
        group: connection
            .negotiated_key_exchange_group()
            .map(|group| KeyExchangeGroup::Named(group.name().into())),
        signature_scheme: seen.signature_scheme,
        kind: match kind {
            Some(RustlsKind::Resumed) => HandshakeKind::Resumed,
            _ => HandshakeKind::Full,
        },
        hello_retry_request: kind == Some(RustlsKind::FullWithHelloRetryRequest),
        alpn: connection.alpn_protocol().map(Alpn::of),
        client_authenticated: seen.client_authenticated,
        resumed_by: match (kind, connection.protocol_version()) {
            (Some(RustlsKind::Resumed), Some(ProtocolVersion::TLSv1_3)) => Resume::Psk,
            (Some(RustlsKind::Resumed), _) if seen.ticket_offered => Resume::Ticket,
            (Some(RustlsKind::Resumed), _) => Resume::Id,
            _ => Resume::None,
        },
        early_data: match (seen.early.sent, seen.early.accepted) {
            (false, _) => EarlyData::None,
            (true, true) => EarlyData::Accepted,
            (true, false) => EarlyData::Rejected,
        },
        ocsp_response_bytes: seen.ocsp_response_bytes,
        authenticated: seen.authenticated,
        minimal_client: false,
    }
}

//! Facts that only complete handshakes show.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use openssl::ssl::{AlpnError, SslOptions, SslSessionCacheMode, SslVersion, select_next_proto};
use rustls::compress::{CertCompressor, CompressionFailed, CompressionLevel};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{CertificateCompressionAlgorithm, ServerConfig, ServerConnection};
use tlslab_probe::{Resumption, Topic, Tries};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Fault, Peer, in_turn, refusing};
use tlslab_testkit::tls_server::Settings;

use super::{probed, serve};

fn identity() -> tlslab_testkit::certificates::Identity {
    Authority::new("tlslab test").issue(Key::P256)
}

#[test]
fn protocols_are_found_in_the_servers_order() {
    let server = serve(
        &identity(),
        |context| {
            context.set_alpn_select_callback(|_, offered| {
                select_next_proto(b"\x08http/1.1\x02h2", offered).ok_or(AlpnError::ALERT_FATAL)
            });
        },
        drop,
    );
    let alpn = probed(server.address(), &[Topic::Alpn]).alpn.unwrap();
    assert_eq!(alpn.accepted, ["http/1.1", "h2"]);
    assert_eq!(alpn.refusal.unwrap().class, "alert_no_application_protocol");
    let server = serve(&identity(), |_| {}, drop);
    let alpn = probed(server.address(), &[Topic::Alpn]).alpn.unwrap();
    assert_eq!((alpn.accepted.len(), alpn.refusal), (0, None));
}

/// Like Caddy with `acme-tls/1`, whatever else is offered.
#[test]
fn a_protocol_that_ends_the_handshake_hides_no_other() {
    let settings =
        Settings { identities: vec![identity()], alpn: "h2".to_owned(), ..Settings::default() };
    let of = |mark: &[u8], alert| {
        let fault = refusing(&settings, mark.to_vec(), alert);
        let peer = Peer::start(&settings, 0, fault);
        probed(peer.address(), &[Topic::Alpn]).alpn.unwrap()
    };
    for (alert, class) in [(Some(80), "alert_internal_error"), (None, "closed_handshake")] {
        let alpn = of(b"\x0aacme-tls/1", alert);
        assert_eq!((alpn.accepted, alpn.refusal), (vec!["h2".to_owned()], None));
        let failed: Vec<_> =
            alpn.failed.iter().map(|f| (f.name.as_str(), f.refusal.class.as_str())).collect();
        assert_eq!(failed, [("acme-tls/1", class)]);
    }
    // Each protocol of a joint offer is then offered alone.
    let alpn = of(b"\x06spdy/3", Some(80));
    assert_eq!((alpn.accepted, alpn.failed.len()), (vec!["h2".to_owned()], 1));
    // The alert of ALPN means that the server has none of them.
    let alpn = of(b"\x0aacme-tls/1", Some(120));
    assert_eq!((alpn.accepted.len(), alpn.failed.len()), (1, 0));
    assert_eq!(alpn.refusal.unwrap().class, "alert_no_application_protocol");
}

const EVERY: Option<Tries> = Some(Tries { resumed: 8, all: 8 });
const NONE: Option<Tries> = Some(Tries { resumed: 0, all: 8 });

/// Like two processes on one port, or two hosts behind a balancer, without common ticket keys.
#[test]
fn a_server_that_knows_only_every_second_session_is_no_yes_and_no_no() {
    let settings = Settings { identities: vec![identity()], ..Settings::default() };
    let peer = Peer::start(&settings, 0, in_turn(&settings));
    for _ in 0..3 {
        let found = probed(peer.address(), &[Topic::Resumption]).resumption.unwrap();
        // A try in three has one connection between the session and its offer.
        let some = Some(Tries { resumed: 3, all: 8 });
        assert_eq!((found.psk_tries, found.ticket_tries), (some, some));
        assert_eq!((found.psk, found.ticket), (Some(true), Some(true)));
    }
}

#[test]
fn every_way_of_resumption_is_reported_apart() {
    let answer = |mut stream: openssl::ssl::SslStream<TcpStream>| {
        let _ = stream.ssl_read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        // OpenSSL forgets a session that was not closed by close_notify.
        let _ = stream.shutdown();
    };
    let server = serve(
        &identity(),
        |context| {
            context.set_session_id_context(b"test").unwrap();
            context.set_num_tickets(3).unwrap();
            context.set_max_early_data(4096).unwrap();
            context.set_options(SslOptions::from_bits_retain(NO_ANTI_REPLAY));
        },
        answer,
    );
    let found = probed(server.address(), &[Topic::Resumption]).resumption.unwrap();
    let wanted = Resumption {
        session_id: Some(true),
        ticket: Some(true),
        psk: Some(true),
        session_id_tries: EVERY,
        ticket_tries: EVERY,
        psk_tries: EVERY,
        psk_ke: Some(false),
        tickets: Some(3),
        // OpenSSL sends one ticket if a session was resumed.
        tickets_resumed: Some(1),
        ticket_lifetime_s: Some(7200),
        max_early_data_bytes: Some(4096),
        // This server promises to accept early data, and does not read any.
        early_data_accepted: Some(false),
    };
    assert_eq!(found, wanted);
    let server = serve(
        &identity(),
        |context| {
            context.set_options(SslOptions::NO_TICKET);
            context.set_session_cache_mode(SslSessionCacheMode::OFF);
            context.set_num_tickets(0).unwrap();
        },
        answer,
    );
    let found = probed(server.address(), &[Topic::Resumption]).resumption.unwrap();
    let none = Resumption {
        session_id: Some(false),
        ticket: Some(false),
        psk: Some(false),
        session_id_tries: NONE,
        ticket_tries: NONE,
        psk_tries: NONE,
        psk_ke: None,
        tickets: Some(0),
        tickets_resumed: None,
        ticket_lifetime_s: None,
        max_early_data_bytes: Some(0),
        early_data_accepted: None,
    };
    assert_eq!(found, none);
}

/// Probes the reference server, and compares with its own count: OpenSSL resumes by the key alone
/// if a client requests it, rustls never does, and both accept early data if they are set to.
#[test]
fn a_key_alone_and_early_data_are_found_by_a_try() {
    use tlslab_serve::{ServeSpec, Server, ServerBackend};
    use tlslab_tls::self_signed::self_signed;
    use tlslab_wire::names::KeyKind;

    for (backend, alone) in [(ServerBackend::Openssl, true), (ServerBackend::Rustls, false)] {
        for early_data in [0, 4096] {
            let made = self_signed(KeyKind::EcdsaP256).unwrap();
            let resumption = tlslab_serve::Resumption {
                psk: true,
                tickets: 2,
                early_data,
                ..tlslab_serve::Resumption::default()
            };
            let spec =
                ServeSpec { resumption, ..ServeSpec::loopback(backend, vec![made.identity]) };
            let server = Server::start(&spec).unwrap();
            let found = probed(server.address(), &[Topic::Resumption]).resumption.unwrap();
            assert_eq!((found.psk, found.psk_ke), (Some(true), Some(alone)), "{backend:?}");
            assert_eq!(found.max_early_data_bytes, Some(early_data), "{backend:?}");
            let accepted = (early_data > 0).then_some(true);
            assert_eq!(found.early_data_accepted, accepted, "{backend:?}");
            let counted = server.stop().unwrap().handshakes;
            let kinds = [found.session_id_tries, found.ticket_tries, found.psk_tries];
            let tries = kinds.map(|tries| u64::from(tries.unwrap().resumed));
            assert_eq!(found.psk_tries, EVERY);
            let others = u64::from(alone) + u64::from(early_data > 0);
            assert_eq!(counted.resumed, others + tries.iter().sum::<u64>(), "{backend:?}");
        }
    }
}

/// `SSL_OP_NO_ANTI_REPLAY` and `SSL_OP_ALLOW_CLIENT_RENEGOTIATION` of openssl/ssl.h.
const NO_ANTI_REPLAY: u64 = 1 << 24;
const ALLOW_CLIENT_RENEGOTIATION: u64 = 1 << 8;

#[test]
fn a_server_that_lets_clients_renegotiate_is_found_out() {
    for (option, allowed) in [(ALLOW_CLIENT_RENEGOTIATION, true), (0, false)] {
        let server = serve(
            &identity(),
            |context| {
                context.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
                context.set_options(SslOptions::from_bits_retain(option));
            },
            |mut stream| while stream.ssl_read(&mut [0; 64]).is_ok() {},
        );
        let found = probed(server.address(), &[Topic::Renegotiation]).renegotiation.unwrap();
        assert_eq!((found.secure, found.client_initiated), (Some(true), Some(allowed)));
    }
}

#[test]
fn a_stapled_response_comes_with_its_chain() {
    /// An OCSPResponse with the status tryLater (RFC 6960, section 4.2.1).
    const TRY_LATER: [u8; 5] = [0x30, 3, 0x0a, 1, 3];
    for version in [SslVersion::TLS1_3, SslVersion::TLS1_2] {
        let server = serve(
            &identity(),
            |context| {
                context.set_max_proto_version(Some(version)).unwrap();
                let staple = |ssl: &mut openssl::ssl::SslRef| {
                    ssl.set_ocsp_status(&TRY_LATER)?;
                    Ok(true)
                };
                context.set_status_callback(staple).unwrap();
            },
            drop,
        );
        let record = probed(server.address(), &[Topic::Certificates]);
        let staple = record.certificates[0].staple.as_ref().unwrap();
        assert_eq!((staple.bytes, staple.status.as_str()), (5, "try_later"));
    }
}

/// A compressed certificate that cannot be decompressed: the probe does not try.
#[derive(Debug)]
struct Nonsense;

impl CertCompressor for Nonsense {
    fn compress(&self, _: Vec<u8>, _: CompressionLevel) -> Result<Vec<u8>, CompressionFailed> {
        Ok(vec![0xff; 10])
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Brotli
    }
}

#[test]
fn compressed_certificates_are_seen_and_never_decompressed() {
    let identity = identity();
    let key = PrivatePkcs8KeyDer::from(identity.key.private_key_to_pkcs8().unwrap());
    let chain = vec![CertificateDer::from(identity.certificate.to_der().unwrap())];
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .unwrap();
    config.cert_compressors = vec![&Nonsense];
    let config = Arc::new(config);
    let handshake: Fault = Arc::new(move |mut socket: TcpStream| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        while connection.is_handshaking() && connection.complete_io(&mut socket).is_ok() {}
    });
    let server = Peer::start(&Settings::default(), 0, handshake);
    let found = probed(server.address(), &[Topic::Compression]).compression.unwrap();
    assert_eq!(found.certificates, Some(vec!["brotli".to_owned()]));
    assert_eq!(found.records, Some(vec![]));
}

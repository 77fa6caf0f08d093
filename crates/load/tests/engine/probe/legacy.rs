//! Obsolete versions, and the settings that belong to them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use openssl::ssl::{SslContextBuilder, SslVersion};
use tlslab_probe::{ProbeRecord, Protocol, Topic};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act;
use tlslab_testkit::peers::{Fault, Peer, except};
use tlslab_testkit::tls_server::{Settings, Version};

use super::{names, of_version, probed, serve, suites, versions};

const HANDSHAKE_FAILURE: &str = "answered handshake_failure (40)";

#[test]
fn all_versions_of_an_old_server_are_reported() {
    let identity = Authority::new("tlslab test").issue(Key::Rsa(2048));
    let server = serve(
        &identity,
        |context| {
            context.set_min_proto_version(Some(SslVersion::SSL3)).unwrap();
            context.set_max_proto_version(Some(SslVersion::TLS1_1)).unwrap();
            context.set_cipher_list("AES128-SHA:ECDHE-RSA-AES256-SHA:DES-CBC3-SHA").unwrap();
        },
        drop,
    );
    let topics = [Topic::Suites, Topic::Protections, Topic::Certificates, Topic::Resumption];
    let record = probed(server.address(), &topics);
    assert_eq!(versions(&record), [Protocol::Tls11, Protocol::Tls10, Protocol::Ssl3]);
    let mut found = suites(of_version(&record.suites, Protocol::Ssl3));
    found.sort_unstable();
    assert!(found.contains(&"TLS_RSA_WITH_AES_128_CBC_SHA"), "{found:?}");
    assert!(found.contains(&"TLS_RSA_WITH_3DES_EDE_CBC_SHA"), "{found:?}");
    assert_eq!(suites(of_version(&record.suites, Protocol::Tls10)).len(), 3);
    let protections = record.protections.unwrap();
    assert_eq!(protections.fallback_scsv, Some(true));
    assert_eq!(protections.hello_retry_request, None);
    assert_eq!(protections.encrypt_then_mac, Some(true));
    assert_eq!(record.certificates[0].versions, [Protocol::Tls11]);
    assert_eq!(record.resumption.unwrap().psk, None);
}

/// A peer that answers the first bytes that it receives, and closes if it has no answer.
fn answering(answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Peer {
    let fault: Fault = Arc::new(move |mut socket: TcpStream| {
        let mut received = vec![0; 16 * 1024];
        let Ok(length) = socket.read(&mut received) else { return };
        let answer = answer(&received[..length]);
        if !answer.is_empty() && socket.write_all(&answer).is_ok() {
            let _ = socket.read(&mut received);
        }
    });
    Peer::start(&Settings::default(), 0, fault)
}

#[test]
fn a_server_of_ssl2_is_found() {
    let server = answering(|hello| match hello {
        // SERVER-HELLO: no session, an X.509 certificate, version 2, nothing else.
        [0x80, ..] => vec![0x80, 11, 4, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0],
        _ => vec![21, 3, 0, 0, 2, 2, 40],
    });
    let record = probed(server.address(), &[Topic::Versions]);
    assert_eq!(versions(&record), [Protocol::Ssl2]);
}

/// A ServerHello of TLS 1.2 with static RSA that takes the first compression method offered.
fn server_hello(hello: &[u8]) -> Vec<u8> {
    if hello[0] == 0x80 {
        return Vec::new();
    }
    let id = usize::from(hello[43]);
    let suites = usize::from(u16::from_be_bytes([hello[44 + id], hello[45 + id]]));
    let compression = hello[46 + id + suites + 1];
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 0x2f, compression, 0, 0]);
    let message = [&[2, 0, 0, body.len() as u8][..], &body, &[14, 0, 0, 0]].concat();
    [&[22, 3, 3, 0, message.len() as u8][..], &message].concat()
}

#[test]
fn a_server_that_compresses_records_is_found() {
    let server = answering(server_hello);
    let record = probed(server.address(), &[Topic::Compression]);
    let compression = record.compression.unwrap();
    let both = vec!["DEFLATE".to_owned(), "LZS".to_owned()];
    assert_eq!((compression.records, compression.certificates), (Some(both), None));
}

#[test]
fn a_server_that_chooses_another_version_does_not_have_the_one_offered() {
    let record = probed(answering(server_hello).address(), &[Topic::Versions]);
    assert_eq!(versions(&record), [Protocol::Tls12]);
    let refusal = record.versions[0].refusal.as_ref().unwrap();
    assert_eq!(
        (refusal.class.as_str(), refusal.words.as_str()),
        ("unexpected_version", "chose TLS 1.2")
    );
}

/// The ClientHello in a record, by an independent reader: suites, and the first key share.
fn read(record: &[u8]) -> Option<(Vec<u16>, Option<u16>)> {
    use tls_parser::{TlsExtension, TlsMessage, TlsMessageHandshake};
    let (_, plaintext) = tls_parser::parse_tls_plaintext(record).ok()?;
    let [TlsMessage::Handshake(TlsMessageHandshake::ClientHello(hello))] = &plaintext.msg[..]
    else {
        return None;
    };
    let (_, extensions) = tls_parser::parse_tls_client_hello_extensions(hello.ext?).ok()?;
    let share = extensions.iter().find_map(|extension| match extension {
        TlsExtension::KeyShare([_, _, a, b, ..]) => Some(u16::from_be_bytes([*a, *b])),
        _ => None,
    });
    Some((hello.ciphers.iter().map(|suite| suite.0).collect(), share))
}

#[test]
fn a_server_that_takes_no_long_list_of_suites_is_offered_short_ones() {
    let server = answering(|hello| match read(hello) {
        Some((suites, _)) if suites.len() <= 64 => server_hello(hello),
        _ => Vec::new(),
    });
    let record = probed(server.address(), &[Topic::Suites]);
    assert_eq!(versions(&record), [Protocol::Tls12]);
    let found = of_version(&record.suites, Protocol::Tls12);
    assert_eq!(suites(found), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
}

#[test]
fn a_server_that_never_asks_again_has_its_groups_found_one_by_one() {
    let groups = [29, 24];
    let server = answering(move |hello| {
        let Some((suites, Some(group))) = read(hello) else {
            return vec![21, 3, 3, 0, 2, 2, 40];
        };
        if !suites.contains(&0x1301) || !groups.contains(&group) {
            return vec![21, 3, 3, 0, 2, 2, 40];
        }
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0x13, 0x01, 0, 0, 15, 0, 43, 0, 2, 3, 4, 0, 51, 0, 5]);
        body.extend(group.to_be_bytes());
        body.extend([0, 1, 9]);
        let message = [&[2, 0, 0, body.len() as u8][..], &body].concat();
        [&[22, 3, 3, 0, message.len() as u8][..], &message].concat()
    });
    let record = probed(server.address(), &[Topic::Groups, Topic::Protections]);
    assert_eq!(versions(&record), [Protocol::Tls13]);
    assert_eq!(super::names(of_version(&record.groups, Protocol::Tls13)), ["X25519", "P-384"]);
    assert_eq!(record.protections.unwrap().hello_retry_request, Some(false));
}

#[test]
fn a_server_of_one_old_version_has_that_version_and_no_fallback() {
    let identity = Authority::new("tlslab test").issue(Key::Rsa(2048));
    for (number, version) in
        [(SslVersion::SSL3, Protocol::Ssl3), (SslVersion::TLS1, Protocol::Tls10)]
    {
        let only = |context: &mut SslContextBuilder| {
            context.set_min_proto_version(Some(number)).unwrap();
            context.set_max_proto_version(Some(number)).unwrap();
            context.set_cipher_list("AES128-SHA").unwrap();
        };
        let server = serve(&identity, only, drop);
        let record = probed(server.address(), &[Topic::Suites, Topic::Protections]);
        assert_eq!(versions(&record), [version]);
        assert_eq!(suites(of_version(&record.suites, version)), ["TLS_RSA_WITH_AES_128_CBC_SHA"]);
        assert_eq!(record.protections.unwrap().fallback_scsv, None, "{version}");
    }
}

#[test]
fn a_server_without_a_suite_for_its_key_accepts_nothing_and_refuses_in_tls() {
    let identity = Authority::new("tlslab test").issue(Key::P256);
    let only = |context: &mut SslContextBuilder| {
        context.set_max_proto_version(Some(SslVersion::TLS1_1)).unwrap();
        context.set_cipher_list("AES256-SHA").unwrap();
    };
    let record = probed(serve(&identity, only, drop).address(), &[]);
    assert_eq!((versions(&record), record.unanswered), (vec![], vec![]));
    let refusal = record.versions[2].refusal.as_ref().unwrap();
    assert_eq!((record.versions[2].version, &*refusal.words), (Protocol::Tls11, HANDSHAKE_FAILURE));
}

#[test]
fn a_warning_in_front_of_a_fatal_alert_is_no_flight() {
    // unrecognized_name as a warning, then handshake_failure.
    let server = answering(|_| vec![21, 3, 3, 0, 2, 1, 112, 21, 3, 3, 0, 2, 2, 40]);
    let record = probed(server.address(), &[]);
    assert_eq!((versions(&record), record.unanswered), (vec![], vec![]));
    let [tls13, tls12, ..] = &record.versions[..] else { panic!("{:?}", record.versions) };
    assert_eq!(tls12.refusal.as_ref().unwrap().words, HANDSHAKE_FAILURE);
    assert_eq!(tls13.refusal.as_ref().unwrap().words, HANDSHAKE_FAILURE);
}

#[test]
fn a_server_that_insists_on_a_sign_of_secure_renegotiation_has_it_in_every_offer() {
    // RFC 5746: the suite value, or the empty extension.
    let lacks_sign = |hello: &[u8]| {
        let has = |sign: &[u8]| hello.windows(sign.len()).any(|window| window == sign);
        !has(&[0x00, 0xff]) && !has(&[0xff, 0x01, 0x00, 0x01, 0x00])
    };
    let settings = Settings {
        identities: vec![Authority::new("tlslab test").issue(Key::P256)],
        version: Some(Version::Tls12),
        ..Settings::default()
    };
    let whole = probed(Peer::honest(&settings).address(), &[]);
    let alert = vec![Act::Send(vec![21, 3, 3, 0, 2, 2, 40])];
    let insists = except(&settings, lacks_sign, u64::MAX, alert);
    let record = probed(Peer::start(&settings, 0, insists).address(), &[]);
    assert_eq!(versions(&record), [Protocol::Tls12]);
    let all = |record: &ProbeRecord| {
        (
            suites(of_version(&record.suites, Protocol::Tls12)).len(),
            names(of_version(&record.groups, Protocol::Tls12)).len(),
            names(of_version(&record.signature_schemes, Protocol::Tls12)).len(),
            (record.certificates.len(), record.resumption.clone(), record.renegotiation.clone()),
        )
    };
    assert_eq!(all(&record), all(&whole));
    assert_eq!(record.unanswered, []);
}

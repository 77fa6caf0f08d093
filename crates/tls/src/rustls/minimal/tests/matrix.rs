//! Servers that break rules which libraries may not check, against all three clients. The table of
//! results is in `docs/reference/protocol-checks.md`.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::authentication::Owner;
use super::*;
use crate::openssl::OpensslBackend;
use crate::rustls::RustlsBackend;
use crate::rustls::minimal::invariants::script::{message, plain};
use crate::rustls::minimal::secrets::Side;
use crate::{Backend, ClientSettings, Progress, Session, TrustAnchors};
use tlslab_contract::spec::{Authenticate, ClientChoice};
use tlslab_system::socket::Socket;
use tlslab_wire::names::TlsVersion;
use tlslab_wire::rule::Rule;
use tlslab_wire::tls::client_hello_reader::extension;
use tlslab_wire::tls::messages::{
    CERTIFICATE, CERTIFICATE_REQUEST, CERTIFICATE_VERIFY, ENCRYPTED_EXTENSIONS, FINISHED,
    KEY_SHARE, SERVER_HELLO,
};

/// The file with the table. An environment variable makes the test write it.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/protocol-checks.md");
const REWRITE: &str = "TLSLAB_REWRITE_TABLES";

const PATIENCE: Duration = Duration::from_secs(30);

/// The fault of a server. The first variant is no fault, and `EmptyPlaintext` and
/// `EarlyChangeCipherSpec` are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breach {
    Nothing,
    OtherSessionId,
    NoSessionId,
    LegacyVersion,
    UnknownInServerHello,
    ProtocolInServerHello,
    UnknownInEncryptedExtensions,
    UnofferedInEncryptedExtensions,
    UnknownInCertificate,
    UnofferedInCertificate,
    EmptyRecord,
    EmptyEncryptedRecord,
    AlertInMessage,
    EmptyPlaintext,
    EarlyChangeCipherSpec,
    ChangeCipherSpec,
    HelloRequest,
    WarningHandshakeFailure,
    WarningUnrecognizedName,
    EarlyCloseNotify,
    StatusInEncryptedExtensions,
    SchemesInEncryptedExtensions,
    ModesInEncryptedExtensions,
    EmptyCertificate,
    EmptyCookie,
    ContextInCertificateRequest,
    EmptyChangeCipherSpec,
    PaddedEmptyRecord,
    OverlongRecord,
    Downgrade12,
    Downgrade11,
    RenegotiationInfo,
    ExtendedMasterSecret,
    UnknownInOldHello,
    UnofferedInOldHello,
    HelloRequests,
    SchemesInOldHello,
    EmptyOldCertificate,
    RequestWithoutTypes,
    CompressedPoint,
    HybridPoint,
}

/// Each fault with the rule that it breaks, and its description.
const BREACHES: [(Breach, Rule, &str); 35] = [
    (Breach::OtherSessionId, Rule::SessionId, "1.3: another session ID in the ServerHello"),
    (Breach::NoSessionId, Rule::SessionId, "1.3: no session ID in the ServerHello"),
    (Breach::LegacyVersion, Rule::LegacyVersion, "1.3: legacy_version 0x0304"),
    (Breach::UnknownInServerHello, Rule::Extension, "1.3: unknown extension in the ServerHello"),
    (Breach::ProtocolInServerHello, Rule::Extension, "1.3: ALPN in the ServerHello"),
    (
        Breach::UnknownInEncryptedExtensions,
        Rule::Extension,
        "1.3: unknown extension in EncryptedExtensions",
    ),
    (
        Breach::UnofferedInEncryptedExtensions,
        Rule::Extension,
        "1.3: extension that was not offered in EncryptedExtensions",
    ),
    (
        Breach::StatusInEncryptedExtensions,
        Rule::Extension,
        "1.3: status_request in EncryptedExtensions",
    ),
    (
        Breach::SchemesInEncryptedExtensions,
        Rule::Extension,
        "1.3: signature_algorithms in EncryptedExtensions",
    ),
    (
        Breach::ModesInEncryptedExtensions,
        Rule::Extension,
        "1.3: psk_key_exchange_modes in EncryptedExtensions",
    ),
    (Breach::EmptyCookie, Rule::Cookie, "1.3: empty cookie in a HelloRetryRequest"),
    (
        Breach::ContextInCertificateRequest,
        Rule::CertificateRequest,
        "1.3: CertificateRequest with a context",
    ),
    (Breach::EmptyCertificate, Rule::Certificate, "1.3: chain with a certificate of no bytes"),
    (Breach::UnknownInCertificate, Rule::Extension, "1.3: unknown extension in Certificate"),
    (
        Breach::UnofferedInCertificate,
        Rule::Extension,
        "1.3: extension that was not offered in Certificate",
    ),
    (Breach::EmptyRecord, Rule::EmptyRecord, "1.3: empty plaintext handshake record"),
    (Breach::EmptyEncryptedRecord, Rule::EmptyRecord, "1.3: empty encrypted handshake record"),
    (
        Breach::PaddedEmptyRecord,
        Rule::EmptyRecord,
        "1.3: encrypted handshake record of padding alone",
    ),
    (Breach::OverlongRecord, Rule::RecordOverflow, "1.3: record with 2^14 + 2 bytes in it"),
    (Breach::EmptyChangeCipherSpec, Rule::ChangeCipherSpec, "1.3: empty change_cipher_spec"),
    (Breach::AlertInMessage, Rule::InterleavedRecord, "1.3: alert within a message in fragments"),
    (
        Breach::ChangeCipherSpec,
        Rule::ChangeCipherSpec,
        "1.3: change_cipher_spec after the server's Finished",
    ),
    (Breach::HelloRequest, Rule::HelloRequest, "1.3: HelloRequest"),
    (Breach::Downgrade12, Rule::Downgrade, "1.2: sentinel ...01, though 1.3 was offered"),
    (Breach::Downgrade11, Rule::Downgrade, "1.2: sentinel ...00, though 1.3 was offered"),
    (Breach::RenegotiationInfo, Rule::RenegotiationInfo, "1.2: renegotiation_info with content"),
    (
        Breach::ExtendedMasterSecret,
        Rule::ExtendedMasterSecret,
        "1.2: extended_master_secret with content",
    ),
    (Breach::UnknownInOldHello, Rule::Extension, "1.2: unknown extension in the ServerHello"),
    (
        Breach::UnofferedInOldHello,
        Rule::Extension,
        "1.2: extension that was not offered in the ServerHello",
    ),
    (Breach::HelloRequests, Rule::HelloRequest, "1.2: a thousand HelloRequests"),
    (Breach::SchemesInOldHello, Rule::Extension, "1.2: signature_algorithms in the ServerHello"),
    (Breach::EmptyOldCertificate, Rule::Certificate, "1.2: chain with a certificate of no bytes"),
    (
        Breach::RequestWithoutTypes,
        Rule::CertificateRequest,
        "1.2: CertificateRequest without types",
    ),
    (Breach::CompressedPoint, Rule::PointFormat, "1.2: compressed point of P-256"),
    (Breach::HybridPoint, Rule::PointFormat, "1.2: hybrid point of P-256"),
];

/// Alerts by which a server ends the session before its ServerHello, and the failure that each of
/// them is for every client.
const ENDINGS: [(Breach, Failure, &str); 3] = [
    (
        Breach::WarningHandshakeFailure,
        Failure::Alert(40),
        "1.3: handshake_failure as a warning before the ServerHello",
    ),
    (
        Breach::WarningUnrecognizedName,
        Failure::Alert(112),
        "1.3: unrecognized_name as a warning before the ServerHello",
    ),
    (
        Breach::EarlyCloseNotify,
        Failure::Closed(Step::Handshake),
        "1.3: close_notify before the ServerHello",
    ),
];

/// An unregistered extension, and max_fragment_length, which no client here offers.
const UNKNOWN: &[u8] = &[0x12, 0x34, 0, 0];
const UNOFFERED: &[u8] = &[0, 1, 0, 1, 1];

/// The extension signature_algorithms.
const SCHEMES: &[u8] = &[0, 13, 0, 4, 0, 2, 4, 3];

/// The message type server_key_exchange of TLS 1.2.
const SERVER_KEY_EXCHANGE: u8 = 12;

impl Breach {
    fn is_old(self) -> bool {
        use Breach::*;
        matches!(
            self,
            Downgrade12
                | Downgrade11
                | RenegotiationInfo
                | ExtendedMasterSecret
                | UnknownInOldHello
                | UnofferedInOldHello
                | HelloRequests
                | SchemesInOldHello
                | EmptyOldCertificate
                | RequestWithoutTypes
                | CompressedPoint
                | HybridPoint
        )
    }

    /// True if the flight ends before the handshake.
    fn stops(self) -> bool {
        self.is_old() || self == Self::EmptyCookie
    }

    /// The records before the ServerHello.
    fn before_hello(self) -> Vec<u8> {
        match self {
            Self::EmptyRecord => plain(HANDSHAKE, &[]),
            Self::HelloRequests => plain(HANDSHAKE, &[0, 0, 0, 0]).repeat(1000),
            Self::EarlyChangeCipherSpec => plain(CHANGE_CIPHER_SPEC, &[1]),
            Self::WarningHandshakeFailure => plain(ALERT, &[1, 40]),
            Self::WarningUnrecognizedName => plain(ALERT, &[1, 112]),
            Self::EarlyCloseNotify => plain(ALERT, &[1, CLOSE_NOTIFY]),
            _ => Vec::new(),
        }
    }

    /// The message of TLS 1.2 after the ServerHello, if it is the fault.
    fn old_message(self, owner: &Owner) -> Option<Vec<u8>> {
        let point = |form: u8| [&[3, 0, 23, 65, form], &[7; 64][..], &[4, 3, 0, 1, 9]].concat();
        Some(match self {
            Self::EmptyOldCertificate => {
                // The chain of TLS 1.3 without its context and its extensions.
                let chain = owner.chain_with(&[]);
                let [_, list @ ..] = (chain.len() as u32 - 4 + 3).to_be_bytes();
                message(CERTIFICATE, &[&list[..], &chain[4..], &[0, 0, 0]].concat())
            }
            Self::RequestWithoutTypes => message(CERTIFICATE_REQUEST, &[0, 0, 2, 4, 3, 0, 0]),
            Self::CompressedPoint => message(SERVER_KEY_EXCHANGE, &point(2)),
            Self::HybridPoint => message(SERVER_KEY_EXCHANGE, &point(6)),
            _ => return None,
        })
    }

    /// The ServerHello for this ClientHello, with this share.
    fn server_hello(self, hello: &[u8], share: &[u8]) -> Vec<u8> {
        let id = match self {
            Self::OtherSessionId => &[9; 32][..],
            Self::NoSessionId => &[],
            _ => &hello[44..44 + usize::from(hello[43])],
        };
        let mut random = [7; 32];
        match self {
            Self::Downgrade12 => random[24..].copy_from_slice(b"DOWNGRD\x01"),
            Self::Downgrade11 => random[24..].copy_from_slice(b"DOWNGRD\x00"),
            Self::EmptyCookie => random = crate::HELLO_RETRY_REQUEST,
            _ => {}
        }
        let version = if self == Self::LegacyVersion { [3, 4] } else { [3, 3] };
        let suite = if self.is_old() { [0xc0, 0x2b] } else { [0x13, 0x01] };
        let key_share = [&[0, 51, 0, 36, 0, 29, 0, 32], share].concat();
        let mut extensions: Vec<u8> =
            if self.is_old() { vec![] } else { [&[0, 43, 0, 2, 3, 4][..], &key_share].concat() };
        if self == Self::EmptyCookie {
            extensions.truncate(6);
        }
        let more: &[u8] = match self {
            Self::UnknownInServerHello | Self::UnknownInOldHello => UNKNOWN,
            Self::UnofferedInOldHello => UNOFFERED,
            Self::ProtocolInServerHello => b"\x00\x10\x00\x0b\x00\x09\x08http/1.1",
            Self::RenegotiationInfo => &[0xff, 0x01, 0, 3, 2, 9, 9],
            Self::ExtendedMasterSecret => &[0, 23, 0, 1, 9],
            Self::SchemesInOldHello => SCHEMES,
            Self::EmptyCookie => &[0, 44, 0, 2, 0, 0],
            _ => &[],
        };
        extensions.extend(more);
        let length = (extensions.len() as u16).to_be_bytes();
        let body =
            [&version[..], &random, &[id.len() as u8], id, &suite, &[0], &length, &extensions];
        message(SERVER_HELLO, &body.concat())
    }

    /// The server's complete answer to the record of a ClientHello, up to one byte of plaintext.
    fn flight(self, hello: &[u8], owner: &Owner) -> Vec<u8> {
        let own = implementation(Group::X25519, KeyShare::Reused).unwrap().start().unwrap();
        let answer = self.server_hello(hello, own.pub_key());
        // A list of one share: its length, the group, the share's length.
        let shared = own.complete(&extension(hello, KEY_SHARE).unwrap()[6..38]).unwrap();
        let mut out = self.before_hello();
        if self == Self::AlertInMessage {
            out.extend(plain(HANDSHAKE, &answer[..10]));
            out.extend(plain(ALERT, &[1, USER_CANCELED]));
            out.extend(plain(HANDSHAKE, &answer[10..]));
        } else {
            out.extend(plain(HANDSHAKE, &answer));
        }
        out.extend(self.old_message(owner).iter().flat_map(|old| plain(HANDSHAKE, old)));
        if !self.stops() {
            let change: &[u8] = if self == Self::EmptyChangeCipherSpec { &[] } else { &[1] };
            out.extend(plain(CHANGE_CIPHER_SPEC, change));
            let secrets = SUITES[0].begin(shared.secret_bytes(), [&hello[HEADER..], &answer]);
            self.encrypted(secrets, owner, &mut out);
        }
        out
    }

    fn encrypted(self, mut secrets: Box<dyn Secrets>, owner: &Owner, out: &mut Vec<u8>) {
        let mut keys = SUITES[0].protect(secrets.traffic(Side::Server)).unwrap();
        let list =
            |extensions: &[u8]| [&(extensions.len() as u16).to_be_bytes()[..], extensions].concat();
        let extensions = list(match self {
            Self::UnknownInEncryptedExtensions => UNKNOWN,
            Self::UnofferedInEncryptedExtensions => UNOFFERED,
            Self::StatusInEncryptedExtensions => &[0, 5, 0, 0],
            Self::SchemesInEncryptedExtensions => SCHEMES,
            Self::ModesInEncryptedExtensions => &[0, 45, 0, 2, 1, 1],
            _ => &[],
        });
        let mut chain = owner.chain_with(&list(match self {
            Self::UnknownInCertificate => UNKNOWN,
            Self::UnofferedInCertificate => &[0, 18, 0, 0],
            _ => &[],
        }));
        if self == Self::EmptyCertificate {
            chain.extend([0; 5]);
            let [_, list @ ..] = (chain.len() as u32 - 4).to_be_bytes();
            chain[1..4].copy_from_slice(&list);
        }
        let first = message(ENCRYPTED_EXTENSIONS, &extensions);
        secrets.add(&first);
        match self {
            // The last byte of the padding stands where a content type would.
            Self::OverlongRecord => {
                let mut padded = [&first[..], &[HANDSHAKE]].concat();
                padded.resize(RECORD + 1, 0);
                keys.seal(0, &padded, out).unwrap();
            }
            _ => keys.seal(HANDSHAKE, &first, out).unwrap(),
        }
        match self {
            Self::EmptyEncryptedRecord => keys.seal(HANDSHAKE, &[], out).unwrap(),
            Self::PaddedEmptyRecord => keys.seal(0, &[HANDSHAKE, 0, 0], out).unwrap(),
            Self::HelloRequest => keys.seal(HANDSHAKE, &[0, 0, 0, 0], out).unwrap(),
            _ => {}
        }
        let mut say = |secrets: &mut Box<dyn Secrets>, kind, body: &[u8]| {
            let message = message(kind, body);
            secrets.add(&message);
            keys.seal(HANDSHAKE, &message, out).unwrap();
        };
        if self == Self::ContextInCertificateRequest {
            say(&mut secrets, CERTIFICATE_REQUEST, &[&[1, 9, 0, 8][..], SCHEMES].concat());
        }
        say(&mut secrets, CERTIFICATE, &chain);
        let proof = owner.proof(secrets.so_far().as_ref());
        say(&mut secrets, CERTIFICATE_VERIFY, &proof);
        let content = secrets.finished(Side::Server);
        say(&mut secrets, FINISHED, content.as_ref());
        if self == Self::ChangeCipherSpec {
            out.extend(plain(CHANGE_CIPHER_SPEC, &[1]));
        }
        let mut keys = SUITES[0].protect(&secrets.application()[1]).unwrap();
        if self == Self::EmptyPlaintext {
            keys.seal(APPLICATION_DATA, &[], out).unwrap();
        }
        keys.seal(APPLICATION_DATA, b"x", out).unwrap();
    }
}

fn settings(breach: Breach, client: ClientChoice) -> ClientSettings {
    ClientSettings {
        versions: if breach.is_old() && client == ClientChoice::Library {
            vec![]
        } else {
            vec![TlsVersion::Tls13]
        },
        suites: vec![],
        groups: vec![Group::X25519],
        signature_schemes: vec![],
        server_names: vec!["localhost".to_owned()],
        alpn: vec!["http/1.1".to_owned()],
        client_identity: None,
        trust: TrustAnchors::Anyone,
        authenticate: Authenticate::Every,
        key_share: KeyShare::Fresh,
        client,
        key_log: None,
        allow_obsolete: false,
        resume: Resume::None,
        early_data: false,
        hello_retry: None,
    }
}

/// The failure of a session that receives this flight; `None` if it reads the plaintext at the end
/// or waits for more.
fn refusal<S: Session>(session: S, breach: Breach, owner: &Owner) -> Option<Failure> {
    refusal_in_parts(session, breach, owner, 0)
}

/// The same. The last N bytes of the flight are withheld until all earlier bytes were read.
fn refusal_in_parts<S: Session>(
    mut session: S,
    breach: Breach,
    owner: &Owner,
    held_back: usize,
) -> Option<Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    assert_eq!(session.handshake(&mut socket, None), Ok(Progress::WantRead));
    let flight = breach.flight(&client_hello(&mut peer), owner);
    let (first, last) = flight.split_at(flight.len().saturating_sub(held_back));
    peer.write_all(first).unwrap();
    let mut sent = first.len();
    let deadline = Instant::now() + PATIENCE;
    let mut is_done = false;
    while Instant::now() < deadline {
        socket.became_readable(false);
        let progress = if is_done {
            session.read(&mut socket, &mut [0; 16])
        } else {
            session.handshake(&mut socket, None)
        };
        match progress {
            Err(failure) => return Some(failure),
            Ok(Progress::Done(_)) if is_done => return None,
            Ok(Progress::Done(_)) => is_done = true,
            Ok(Progress::WantRead) if socket.received < sent as u64 => {}
            Ok(Progress::WantRead) if sent < flight.len() => {
                peer.write_all(last).unwrap();
                sent = flight.len();
            }
            Ok(Progress::WantRead) if breach.stops() => return None,
            Ok(other) => panic!("{breach:?}: {other:?}"),
        }
    }
    panic!("{breach:?}: nothing happened for {PATIENCE:?}");
}

fn client_hello(peer: &mut TcpStream) -> Vec<u8> {
    let mut record = vec![0; HEADER];
    peer.read_exact(&mut record).unwrap();
    let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
    record.resize(HEADER + length, 0);
    peer.read_exact(&mut record[HEADER..]).unwrap();
    record
}

/// The results of the minimal client, rustls and OpenSSL.
fn refusals(breach: Breach, owner: &Owner) -> [Option<Failure>; 3] {
    let library = settings(breach, ClientChoice::Library);
    let mut minimal = RustlsBackend::new(&settings(breach, ClientChoice::Auto)).unwrap();
    // The library makes the first connection.
    minimal.open().unwrap();
    let minimal = minimal.open().unwrap();
    assert!(minimal.is_minimal());
    [
        refusal(minimal, breach, owner),
        refusal(RustlsBackend::new(&library).unwrap().open().unwrap(), breach, owner),
        refusal(OpensslBackend::new(&library).unwrap().open().unwrap(), breach, owner),
    ]
}

#[test]
fn no_client_lets_a_server_break_a_rule_and_the_docs_say_who_checks_it() {
    let owner = Owner::new();
    for allowed in [Breach::Nothing, Breach::EmptyPlaintext, Breach::EarlyChangeCipherSpec] {
        assert_eq!(refusals(allowed, &owner), [None; 3], "{allowed:?}");
    }
    let mut table = String::from(HEAD);
    let mut lenient = Vec::new();
    for (breach, rule, words) in BREACHES {
        let said = refusals(breach, &owner);
        write!(table, "| {words} | `{rule}` |").unwrap();
        for failure in said {
            match failure {
                Some(failure) => write!(table, " `{failure}` |").unwrap(),
                None => table.push_str(" - |"),
            }
            // The failure may have another name, but not that of another rule.
            let is_named = failure == Some(Failure::Rule(rule));
            if !is_named && failure != Some(Failure::TlsProtocol) {
                lenient.push((breach, said));
            }
        }
        table.push('\n');
    }
    for (breach, failure, words) in ENDINGS {
        assert_eq!(refusals(breach, &owner), [Some(failure); 3], "{breach:?}");
        writeln!(table, "| {words} | - | `{failure}` | `{failure}` | `{failure}` |").unwrap();
    }
    table.push_str(TAIL);
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(TABLE, &table).unwrap();
    }
    assert_eq!(lenient, [], "{table}");
    let committed = std::fs::read_to_string(TABLE).unwrap_or_default();
    assert_eq!(committed, table, "set {REWRITE}=1 to write the table again");
}

#[test]
fn an_empty_record_is_judged_by_the_finished_in_front_of_it_wherever_the_flight_is_cut() {
    let owner = Owner::new();
    let library = |breach| RustlsBackend::new(&settings(breach, ClientChoice::Library)).unwrap();
    for (breach, expected) in [
        (Breach::EmptyPlaintext, None),
        (Breach::EmptyEncryptedRecord, Some(Failure::Rule(Rule::EmptyRecord))),
    ] {
        let mut backend = library(breach);
        // Enough to reach back past the record in question, from the end of each flight.
        for held_back in 0..800 {
            let session = backend.open().unwrap();
            let ended = refusal_in_parts(session, breach, &owner, held_back);
            assert_eq!(ended, expected, "{breach:?}, {held_back} held back");
        }
    }
}

const HEAD: &str = "\
# What each client checks

The test `no_client_lets_a_server_break_a_rule_and_the_docs_say_who_checks_it` makes this page. \
With `TLSLAB_REWRITE_TABLES=1` the test writes the page again.

Each row is a server that breaks one rule of TLS. Each cell is the failure class under which the \
record counts the connection:

| class | meaning |
|---|---|
| `tls_protocol` | the client or its library refuses the connection by itself |
| `rule_...` | the library accepts the violation; tlslab finds it and refuses the connection |
| `-` | neither finds the violation |

Clients and tlslab check these rules on every connection. [Below](#violations-that-are-not-found) \
is what they do not find.

| Server | Rule | Minimal client | rustls | OpenSSL |
|---|---|---|---|---|
";

const TAIL: &str = "
## Violations that are not found

- OpenSSL with CCM_8: a record whose content is 1 to 8 bytes too long.
- TLS 1.2: an error that the server sends as a warning before its ServerHello. In TLS 1.2 a \
warning may be one (RFC 6066, 3).
- TLS 1.2: violations after the server's change_cipher_spec, except those that the library \
checks, and HelloRequests on OpenSSL.

## Notes

- rustls shows encrypted messages to nobody. tlslab reads them where the record is decrypted.
- An empty record of application data after the server's Finished is allowed (RFC 8446, 5.1).
- A change_cipher_spec before the ServerHello is allowed (RFC 8446, 5), although rustls and \
OpenSSL refuse it. tlslab drops the first two before the library sees them.
- supported_groups in a ServerHello of TLS 1.2 is tolerated: old servers send it.
- The minimal client offers TLS 1.3 only. It refuses every server of the rows \"1.2\" because of \
the version.

## Alerts

The minimal client sends the alert that RFC 8446 names. So does each library for what the library \
itself refuses (`tls_protocol`).

For a rule that tlslab finds on rustls or OpenSSL (`rule_...`), tlslab sends the alert only while \
records are not encrypted: for violations in the ServerHello and in the records before it. After \
that only the library has the keys. Neither library has a public call that sends an alert of the \
caller's choice: `SSL_shutdown` of OpenSSL and `send_close_notify` of rustls send close_notify. \
So no alert is sent for these rules:

- rustls: `empty_record` in an encrypted record, `extension` in EncryptedExtensions, \
`certificate` in TLS 1.3;
- OpenSSL: `extension` in EncryptedExtensions and Certificate, `certificate_request` in TLS 1.3, \
`record_overflow`, `change_cipher_spec` after the server's Finished, `hello_request` in TLS 1.3.

Such a connection ends without an alert. The record counts the connection in either case.
";

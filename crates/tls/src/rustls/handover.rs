//! Hands a connection of the minimal client over to rustls, if the server's first answer is for
//! rustls alone: a HelloRetryRequest, or a ServerHello of an older version.
//!
//! The ClientHello is sent already, so rustls has to make exactly the same: it draws the same random
//! bytes and gets the same key exchange.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::pki_types::ServerName;
use rustls::unbuffered::ConnectionState;
use rustls::{ClientConfig, Error, NamedGroup, ProtocolVersion};

use super::flight::encode_flight;
use super::random;
use tlslab_wire::tls::messages::HEADER;

thread_local! {
    /// The key exchange of the connection under creation.
    static LAID_OUT: Cell<Option<Box<dyn ActiveKeyExchange>>> = const { Cell::new(None) };
}

/// A group that begins with the key exchange that is laid out, if there is one.
#[derive(Debug)]
pub struct HandedGroup(pub &'static dyn SupportedKxGroup);

impl SupportedKxGroup for HandedGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        LAID_OUT.take().map_or_else(|| self.0.start(), Ok)
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        self.0.ffdhe_group()
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.0.usable_for_version(version)
    }
}

/// The places of random and session ID in a ClientHello (RFC 8446, section 4.1.2).
const PLACES: [Range<usize>; 2] = [6..38, 39..71];

/// A drawn value.
enum Draw {
    /// The bytes of the ClientHello at this place.
    OfHello(Range<usize>),
    /// The same in all ClientHellos: the order of the extensions.
    Fixed(Vec<u8>),
}

/// Makes rustls connections whose ClientHello is already sent.
pub struct Handover {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    draws: Vec<Draw>,
    /// Whether the configuration authenticates the server.
    pub authenticates: bool,
}

impl Handover {
    /// For a configuration whose first group is a [`HandedGroup`]. `record` is the record of a
    /// ClientHello that rustls has made with it, and `drawn` are the random bytes that rustls has
    /// drawn for it. `None` if random and session ID are not among them.
    pub fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        record: &[u8],
        drawn: Vec<Vec<u8>>,
        authenticates: bool,
    ) -> Option<Self> {
        let hello = record.get(HEADER..)?;
        let draw = |bytes: Vec<u8>| {
            let place = PLACES.into_iter().find(|place| hello.get(place.clone()) == Some(&bytes));
            place.map_or(Draw::Fixed(bytes), Draw::OfHello)
        };
        let draws: Vec<_> = drawn.into_iter().map(draw).collect();
        let found = draws.iter().filter(|draw| matches!(draw, Draw::OfHello(_))).count();
        (found == PLACES.len()).then_some(Self { config, name, draws, authenticates })
    }

    /// The connection that has sent this ClientHello, with this key exchange, and the record of the
    /// ClientHello. `None` if rustls does not make the same.
    pub fn take_over(
        &self,
        hello: &[u8],
        exchange: Box<dyn ActiveKeyExchange>,
    ) -> Option<(UnbufferedClientConnection, Vec<u8>)> {
        let draws = self.draws.iter().map(|draw| match draw {
            Draw::OfHello(place) => hello.get(place.clone()).unwrap_or_default().to_vec(),
            Draw::Fixed(bytes) => bytes.clone(),
        });
        LAID_OUT.set(Some(exchange));
        let config = Arc::clone(&self.config);
        let made = random::replaying(draws.collect(), || {
            UnbufferedClientConnection::new(config, self.name.clone())
        });
        LAID_OUT.set(None);
        let mut connection = made.ok()?;
        let mut record = Vec::new();
        match connection.process_tls_records(&mut []).state {
            Ok(ConnectionState::EncodeTlsData(mut flight)) => {
                encode_flight(&mut record, &mut flight);
            }
            _ => return None,
        }
        match connection.process_tls_records(&mut []).state {
            Ok(ConnectionState::TransmitTlsData(flight)) => flight.done(),
            _ => return None,
        }
        (record.get(HEADER..) == Some(hello)).then_some((connection, record))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use rustls::crypto::aws_lc_rs;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

    use super::*;
    use crate::rustls::RustlsBackend;
    use crate::rustls::tests::{lean, settings};
    use crate::{Backend, ClientSettings, KeyExchangeGroup, Negotiated, Progress, Session};
    use tlslab_contract::spec::Authenticate;
    use tlslab_system::socket::Socket;
    use tlslab_wire::names::{Group, TlsVersion};
    use tlslab_wire::outcome::Failure;

    /// A server with these versions and groups.
    fn server(
        versions: &[&'static SupportedProtocolVersion],
        groups: &[&'static dyn SupportedKxGroup],
    ) -> Arc<ServerConfig> {
        let made = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
        let provider = rustls::crypto::CryptoProvider {
            kx_groups: groups.to_vec(),
            ..aws_lc_rs::default_provider()
        };
        let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap();
        Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap())
    }

    /// The facts of the minimal client's connection to this server, after a byte in each direction.
    /// The server sends N bytes at a time.
    fn facts(
        settings: &ClientSettings,
        config: &Arc<ServerConfig>,
        at_once: usize,
    ) -> Result<Negotiated, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = Socket::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_nodelay(true).unwrap();
        peer.set_nonblocking(true).unwrap();
        let mut server = ServerConnection::new(Arc::clone(config)).unwrap();
        server.writer().write_all(b"y").unwrap();
        let mut session = RustlsBackend::minimal_only(settings).unwrap().open().unwrap();
        assert!(session.is_minimal());
        let deadline = Instant::now() + Duration::from_secs(20);
        let (mut is_done, mut out) = (false, Vec::new());
        while Instant::now() < deadline {
            socket.became_readable(false);
            if is_done {
                if session.read(&mut socket, &mut [0; 4])? == Progress::Done(1) {
                    return Ok(session.facts().expect("a session of TLS"));
                }
            } else if session.handshake(&mut socket, None)? == Progress::Done(0) {
                is_done = true;
                session.write(&mut socket, b"x")?;
            }
            if server.read_tls(&mut peer).is_ok() {
                server.process_new_packets().unwrap();
                drop(server.reader().read(&mut [0; 4]));
            }
            while server.wants_write() {
                server.write_tls(&mut out).unwrap();
            }
            let rest = out.split_off(out.len().min(at_once));
            peer.write_all(&out).unwrap();
            out = rest;
        }
        panic!("nothing happened");
    }

    #[test]
    fn the_library_continues_where_a_server_answers_for_it_alone() {
        use aws_lc_rs::kx_group::{SECP256R1, X25519, X25519MLKEM768};
        const TLS12: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
        const TLS13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
        let open = |settings: ClientSettings| ClientSettings {
            versions: vec![],
            groups: vec![],
            ..settings
        };
        for settings in [open(settings()), open(lean())] {
            for (versions, group, is_minimal, is_retried) in [
                (TLS13, X25519MLKEM768, true, false),
                (TLS13, X25519, true, false),
                (TLS13, SECP256R1, false, true),
                (TLS12, X25519, false, false),
                (TLS12, SECP256R1, false, false),
            ] {
                let server = server(versions, &[group]);
                for at_once in [1 << 20, 60, 7] {
                    let facts = facts(&settings, &server, at_once).unwrap();
                    assert_eq!(facts.minimal_client, is_minimal, "{facts:?}");
                    assert_eq!(facts.hello_retry_request, is_retried, "{facts:?}");
                    let is_new = facts.version == TlsVersion::Tls13;
                    assert_eq!(is_new, versions == TLS13, "{facts:?}");
                    let group = KeyExchangeGroup::Named(group.name().into());
                    assert_eq!(facts.group, Some(group), "{facts:?}");
                    let authenticates = settings.authenticate == Authenticate::Every;
                    assert_eq!(facts.authenticated, authenticates);
                }
            }
        }
    }

    #[test]
    fn a_second_client_hello_is_the_librarys_where_several_groups_are_offered() {
        use aws_lc_rs::kx_group::X25519;
        let both = &[&rustls::version::TLS12, &rustls::version::TLS13][..];
        let groups = ClientSettings { groups: vec![Group::P256, Group::X25519], ..settings() };
        // With several groups, a retry is for the library.
        assert!(facts(&groups, &server(both, &[X25519]), 999).unwrap().hello_retry_request);
        assert!(facts(&settings(), &server(both, &[X25519]), 999).unwrap().minimal_client);
    }
}

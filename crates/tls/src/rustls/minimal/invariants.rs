//! Compares the minimal client and the rustls client against the same scripted servers. rustls
//! accepts everything that the minimal client accepts, with the same plaintext. Anything that only
//! rustls accepts breaks a rule that is listed here. A property test and the fuzz target
//! `minimal_client` check this.

pub mod script;

use std::io::Read as _;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::tls13::OkmBlock;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use self::script::{Edit, Script};
use super::{
    ALERT, CLOSE_NOTIFY, ClientHelloTemplate, Event, HANDSHAKE, MinimalClient, MinimalTicket, State,
};

/// A reason of the minimal client, and a test whether an edit breaks the rule behind it.
pub type Stricter = (&'static str, fn(&Edit) -> bool);

/// Rules by which the minimal client rejects input that rustls accepts.
pub const STRICTER: [Stricter; 10] = [
    // RFC 8446, section 4.1.3: 0x0303; rustls also accepts 0x0304.
    ("the ServerHello has no legacy version", |edit| matches!(edit, Edit::Flip(..))),
    // RFC 8446, section 4.1.3.
    ("the server does not repeat the session ID", |edit| matches!(edit, Edit::Flip(..))),
    // Section 4.2: the client has offered the extension, but it is not allowed in a ServerHello.
    ("an extension that was not asked for", |edit| matches!(edit, Edit::Extension(..))),
    // Section 4.2: the client has offered it, and the server answers it in another message.
    ("no place in EncryptedExtensions", |edit| matches!(edit, Edit::Extension(..))),
    // Section 4.2.4: a list of authorities has at least one.
    (
        "an extension that is malformed",
        |edit| matches!(edit, Edit::Extension(47, content) if content == &[0, 0]),
    ),
    // Section 4.4.2.
    ("a certificate of no bytes", |edit| matches!(edit, Edit::Insert(..))),
    // Section 6.1: a close_notify before the ServerHello ends the session, too.
    (
        "closed_handshake",
        |edit| matches!(edit, Edit::Record(_, ALERT, content) if content == &[1, CLOSE_NOTIFY]),
    ),
    // Section 5.4: no handshake record is empty, encrypted or not.
    (
        "a content that has no place here",
        |edit| matches!(edit, Edit::Record(true, HANDSHAKE, content) if content.is_empty()),
    ),
    // Section 5.2: the version of an encrypted record is 0x0303, and is authenticated.
    ("a record that is not authentic", |edit| matches!(edit, Edit::Version(3, _))),
    // Section 5.1: also 0x0303. rustls rejects unknown versions, and knows SSL 2.0.
    ("a record of no known version", |edit| matches!(edit, Edit::Version(0, 2))),
];

/// The errors of rustls on input that the minimal client rightly accepts. A change_cipher_spec may
/// come at any time after the ClientHello (RFC 8446, section 5). A client without a certificate
/// needs no signature scheme (section 4.4.2).
pub const LAXER: [&str; 2] = [
    "received unexpected message: got ChangeCipherSpec when expecting Handshake",
    "peer is incompatible: NoCertificateRequestSignatureSchemesInCommon",
];

/// The outcome of one connection.
#[derive(Debug, Default, PartialEq)]
pub struct End {
    /// The index of the rejected record, and the reason.
    pub refused: Option<(usize, String)>,
    pub ready: bool,
    pub closed: bool,
    pub plaintext: Vec<u8>,
}

/// Both clients, with the same offer, and the group of the server's shares.
pub struct Clients {
    config: Arc<ClientConfig>,
    template: Arc<ClientHelloTemplate>,
    group: &'static dyn SupportedKxGroup,
}

impl Clients {
    /// Clients of a configuration with only the group X25519, without earlier sessions and without
    /// authentication. `group` must be X25519, too.
    pub fn new(config: Arc<ClientConfig>, group: &'static dyn SupportedKxGroup) -> Self {
        let offered = config.crypto_provider().kx_groups[0];
        let template =
            ClientHelloTemplate::new(&config, &name(), offered, None).expect("it can be copied");
        Self { config, template: Arc::new(template), group }
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").expect("it is a name")
}

/// The comparison of both outcomes.
#[derive(Debug)]
pub enum Agreed {
    /// Both clients have accepted the whole script.
    Taken,
    /// The minimal client rightly accepts what rustls rejects with this error.
    Laxer(String),
    /// Both clients have rejected the script, the minimal client in this state and for this reason.
    Refused(State, String),
    /// Only the minimal client has rejected the script, by a listed rule.
    Stricter(State, String),
}

/// Runs a script against both clients. Panics if they differ other than by a listed rule.
pub fn hold(clients: &Clients, script: &Script) -> Agreed {
    let (by_minimal, state) = minimal(clients, script);
    let by_library = library(clients, script);
    let Some((_, reason)) = by_minimal.refused.clone() else {
        return match &by_library.refused {
            Some((_, words)) if LAXER.contains(&&words[..]) => Agreed::Laxer(words.clone()),
            _ => {
                assert_eq!(by_minimal, by_library, "{script:?}");
                Agreed::Taken
            }
        };
    };
    if by_library.refused.is_some() {
        return Agreed::Refused(state, reason);
    }
    let names = |(words, breaks): &&Stricter| {
        reason.contains(words) && script.edits.iter().any(|(_, edit)| breaks(edit))
    };
    let rule = STRICTER.iter().find(names);
    assert!(rule.is_some(), "only the minimal client refuses it: {reason}: {script:?}");
    Agreed::Stricter(state, reason)
}

/// Room for most records; longer ones are decrypted in place.
const ROOM: usize = 8 * 1024;

/// The outcome of a script for the minimal client, and the client's final state.
pub fn minimal(clients: &Clients, script: &Script) -> (End, State) {
    let (ticket, psk) = if script.resumes { minimal_session(clients) } else { (None, None) };
    let (mut client, hello) = begin(clients, ticket);
    let (mut end, mut outgoing) = (End::default(), Vec::new());
    let (records, _) = script.records(&hello, clients.group, psk);
    let mut room = vec![0; ROOM];
    for (place, mut record) in records.into_iter().enumerate() {
        let length = client.record_length(&record, &mut outgoing);
        let event = length.and_then(|length| {
            assert_eq!(length, Some(record.len()));
            client.record_into(&mut record, &mut room, &mut outgoing)
        });
        match event {
            Ok(Event::Nothing) => {}
            Ok(Event::Read(length)) => end.plaintext.extend_from_slice(&room[..length]),
            Ok(Event::Plaintext(read)) => end.plaintext.extend_from_slice(read),
            Ok(Event::Closed) => end.closed = true,
            Err(failure) => {
                let reason = client.reason().map(|reason| reason.name.into_owned());
                end.refused = Some((place, reason.unwrap_or_else(|| failure.to_string())));
            }
        }
        if end.closed || end.refused.is_some() {
            break;
        }
    }
    end.ready = client.is_ready();
    (end, client.handshake.state())
}

/// A client that has sent its ClientHello, and the record of that ClientHello.
fn begin(clients: &Clients, ticket: Option<MinimalTicket>) -> (MinimalClient, Vec<u8>) {
    let template = Arc::clone(&clients.template);
    let mut client = MinimalClient::new(template, ticket).expect("a share is drawn");
    client.keep_sessions();
    let mut hello = Vec::new();
    client.begin(&mut hello).expect("a ClientHello is made");
    (client, hello)
}

/// A session that the server has issued to the minimal client, and its PSK.
fn minimal_session(clients: &Clients) -> (Option<MinimalTicket>, Option<OkmBlock>) {
    let (mut client, hello) = begin(clients, None);
    let (records, psk) = Script::issuing().records(&hello, clients.group, None);
    for mut record in records {
        client.record(&mut record, &mut Vec::new()).expect("the flight is right");
    }
    let mut sessions = client.take_sessions();
    assert_eq!(sessions.len(), 1);
    (sessions.pop(), psk)
}

/// The outcome of a script for rustls.
pub fn library(clients: &Clients, script: &Script) -> End {
    if !script.resumes {
        return library_with(&clients.config, clients, script, None).0;
    }
    let mut config = ClientConfig::clone(&clients.config);
    config.resumption = Resumption::in_memory_sessions(2);
    let config = Arc::new(config);
    let (_, psk) = library_with(&config, clients, &Script::issuing(), None);
    library_with(&config, clients, script, psk).0
}

/// The outcome of a script for rustls with this configuration, and the PSK of the tickets.
fn library_with(
    config: &Arc<ClientConfig>,
    clients: &Clients,
    script: &Script,
    psk: Option<OkmBlock>,
) -> (End, Option<OkmBlock>) {
    let mut client = ClientConnection::new(Arc::clone(config), name()).expect("a client is made");
    let mut hello = Vec::new();
    client.write_tls(&mut hello).expect("a ClientHello is made");
    let mut end = End::default();
    let (records, issued) = script.records(&hello, clients.group, psk);
    for (place, record) in records.into_iter().enumerate() {
        let mut bytes = &record[..];
        while !bytes.is_empty() && end.refused.is_none() && !end.closed {
            client.read_tls(&mut bytes).expect("there is room");
            match client.process_new_packets() {
                Ok(state) => {
                    let before = end.plaintext.len();
                    end.plaintext.resize(before + state.plaintext_bytes_to_read(), 0);
                    let plaintext = &mut end.plaintext[before..];
                    client.reader().read_exact(plaintext).expect("it is there");
                    end.closed = state.peer_has_closed();
                }
                Err(error) => end.refused = Some((place, error.to_string())),
            }
        }
        if end.closed || end.refused.is_some() {
            break;
        }
    }
    end.ready = !client.is_handshaking();
    (end, issued)
}

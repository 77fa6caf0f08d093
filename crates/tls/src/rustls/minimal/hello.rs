//! The hellos: the ClientHello is a copy of one made by rustls, the ServerHello is parsed.

use std::ops::Range;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::{ActiveKeyExchange, SecureRandom, SupportedKxGroup};
use rustls::pki_types::ServerName;
use rustls::unbuffered::ConnectionState;

use super::authentication::ServerAuthenticator;
use super::resumption::{MinimalTicket, Offer};
use super::secrets::{SUITES, Suite};
use crate::rustls::flight::encode_flight;
use crate::rustls::random::Random;
use tlslab_wire::names::SignatureScheme;
use tlslab_wire::tls::client_hello_reader::{extension, extensions, split};
use tlslab_wire::tls::fault::{Fault, illegal};
use tlslab_wire::tls::messages::{
    CLIENT_HELLO, HANDSHAKE, HEADER, KEY_SHARE, PSK_KEY_EXCHANGE_MODES, RANDOM_LENGTH,
    SIGNATURE_ALGORITHMS, STATUS_REQUEST, ServerHello, certificate_verify, encrypted_extensions,
    for_each_extension, server_hello,
};

/// The offset of the random in a hello: handshake header and version precede it (section 4.1.2).
const RANDOM: usize = 4 + 2;

/// The length of the session ID: the highest allowed one, as rustls sends it (appendix D.4).
const SESSION_ID_LENGTH: usize = 32;
const SESSION_ID: usize = RANDOM + RANDOM_LENGTH + 1;

/// The extension psk_key_exchange_modes with the only mode psk_dhe_ke (section 4.2.9).
const WITH_KEY_EXCHANGE: [u8; 2] = [1, 1];

/// The common part of all ClientHellos of a worker for one server name.
pub struct ClientHelloTemplate {
    /// The complete record.
    record: Vec<u8>,
    /// The offered key shares: that of the group, and that of the group's classical part, if the
    /// group is a hybrid and the part is offered by itself as well.
    shares: Vec<Share>,
    /// The position of the extensions' length in the record.
    extensions_length: usize,
    /// The group of the first key share.
    pub group: &'static dyn SupportedKxGroup,
    suites: Vec<u16>,
    /// The numbers of the extensions in the record.
    extensions: Vec<u16>,
    /// The offered signature schemes that TLS 1.3 allows for handshakes.
    schemes: Vec<SignatureScheme>,
    /// The offered application protocols.
    alpn: Vec<Vec<u8>>,
    /// Authenticates the server; `None` without authentication.
    pub authenticator: Option<ServerAuthenticator>,
}

impl ClientHelloTemplate {
    /// A template for a configuration that offers TLS 1.3. `group` is its first group, perhaps in
    /// another implementation. `None` if this client cannot copy the configuration's ClientHello.
    pub fn new(
        config: &Arc<ClientConfig>,
        server_name: &ServerName<'static>,
        group: &'static dyn SupportedKxGroup,
        authenticator: Option<ServerAuthenticator>,
    ) -> Option<Self> {
        let offered = config.crypto_provider().kx_groups.first()?;
        if offered.name() != group.name() {
            return None;
        }
        let record = client_hello(config, server_name)?;
        let suites = config.crypto_provider().cipher_suites.iter();
        let suites: Vec<u16> =
            suites.filter(|s| s.tls13().is_some()).map(|s| s.suite().into()).collect();
        let message = record.get(HEADER..)?;
        let length = u16::from_be_bytes([record[3], record[4]]);
        let is_plain = record[0] == HANDSHAKE
            && usize::from(length) == message.len()
            && message[0] == CLIENT_HELLO
            && usize::from(*message.get(SESSION_ID - 1)?) == SESSION_ID_LENGTH
            && suites.iter().all(|suite| find(*suite).is_some());
        let shares = shares(&record, &*group.start().ok()?)?;
        let mut offered = Vec::new();
        let list = extensions(&record)?;
        let extensions_length = position(&record, list);
        for_each_extension(list, |number, _| {
            offered.push(number);
            Ok(())
        })
        .ok()?;
        // A server may staple only for clients that request it (section 4.4.2.1):
        // `for_each_certificate` relies on that.
        let is_plain = is_plain
            && offered.contains(&STATUS_REQUEST)
            && extension(&record, PSK_KEY_EXCHANGE_MODES) == Some(&WITH_KEY_EXCHANGE);
        let schemes = schemes(&record)?;
        let alpn = config.alpn_protocols.clone();
        let extensions = offered;
        is_plain.then_some(Self {
            record,
            shares,
            extensions_length,
            group,
            suites,
            extensions,
            schemes,
            alpn,
            authenticator,
        })
    }

    /// Appends the record of a ClientHello with the key shares of this exchange and with a fresh
    /// random and session ID. Returns the session ID; `None` without random bytes, or if a share has
    /// another length.
    pub fn append(
        &self,
        exchange: &dyn ActiveKeyExchange,
        outgoing: &mut Vec<u8>,
    ) -> Option<[u8; SESSION_ID_LENGTH]> {
        let start = outgoing.len();
        outgoing.extend_from_slice(&self.record);
        let record = &mut outgoing[start..];
        for share in &self.shares {
            let key = if share.is_component {
                exchange.hybrid_component()?.1
            } else {
                exchange.pub_key()
            };
            let place = &mut record[share.range.clone()];
            (place.len() == key.len()).then(|| place.copy_from_slice(key))?;
        }
        let message = &mut record[HEADER..];
        Random.fill(&mut message[RANDOM..RANDOM + RANDOM_LENGTH]).ok()?;
        let session_id = message[SESSION_ID..].first_chunk_mut()?;
        Random.fill(session_id).ok()?;
        Some(*session_id)
    }

    /// The record, as rustls has made it.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// True if a ClientHello can offer this session.
    pub fn can_offer(&self, ticket: &MinimalTicket) -> bool {
        ticket.fits(&self.record)
    }

    /// Offers a session in the ClientHello whose record starts there and ends the bytes.
    pub fn offer(&self, ticket: MinimalTicket, start: usize, outgoing: &mut Vec<u8>) -> Offer {
        ticket.offer(outgoing, start, self.extensions_length)
    }

    /// The scheme in a CertificateVerify's body; a fault if it was not offered.
    pub fn read_scheme(&self, body: &[u8]) -> Result<SignatureScheme, Fault> {
        let scheme = certificate_verify(body)?;
        let is_offered = self.schemes.contains(&scheme);
        is_offered.then_some(scheme).ok_or(illegal("a signature scheme that is not offered"))
    }

    /// The application protocol that EncryptedExtensions select, if any; a fault if they contain
    /// anything that was not offered.
    pub fn read_extensions<'m>(&self, body: &'m [u8]) -> Result<Option<&'m [u8]>, Fault> {
        match encrypted_extensions(body, &self.extensions)? {
            Some(name) if !self.alpn.iter().any(|known| known == name) => {
                Err(illegal("the server chooses a protocol that is not offered"))
            }
            chosen => Ok(chosen),
        }
    }

    /// The server's choices in the body of a ServerHello; a fault if no handshake can follow.
    pub fn read_answer<'m>(
        &self,
        session_id: &[u8],
        offer: Option<&Offer>,
        body: &'m [u8],
    ) -> Result<Answer<'m>, Fault> {
        let answer = server_hello(body, session_id, offer.is_some())?;
        let ServerHello { suite, group, share, is_resumed } = answer;
        let offered = self.shares.iter().find(|share| share.group == group);
        let Some(&Share { is_component, .. }) = offered else {
            return Err(illegal("the server's key share is not of a group that is offered"));
        };
        let suite = find(suite)
            .filter(|suite| self.suites.contains(&suite.code_point))
            .ok_or(illegal("the server chooses a cipher suite that is not offered"))?;
        // Section 4.2.11.
        let fits = |offer: &Offer| offer.suite.hash_length() == suite.hash_length();
        if is_resumed && !offer.is_some_and(fits) {
            return Err(illegal("the server resumes with a cipher suite of another hash"));
        }
        Ok(Answer { suite, group, share, is_component, is_resumed })
    }
}

/// An offered key share.
#[derive(Debug, PartialEq)]
struct Share {
    group: u16,
    /// The place of the public key in the record.
    range: Range<usize>,
    /// Whether the key is the classical part of the hybrid group's.
    is_component: bool,
}

/// The server's choices.
pub struct Answer<'m> {
    pub suite: &'static Suite,
    pub group: u16,
    pub share: &'m [u8],
    /// Whether the group is the classical part of the offered hybrid group.
    pub is_component: bool,
    /// Whether the server resumes the offered session.
    pub is_resumed: bool,
}

/// The signature schemes in a ClientHello's record (section 4.2.3), without those that are only for
/// certificates: PKCS #1 and SHA-1.
fn schemes(record: &[u8]) -> Option<Vec<SignatureScheme>> {
    let (list, _) = split(extension(record, SIGNATURE_ALGORITHMS)?, 2)?;
    let codes = list.chunks_exact(2).map(|code| u16::from_be_bytes([code[0], code[1]]));
    let codes = codes.filter(|code| !matches!(code, 0x0201 | 0x0203 | 0x0401 | 0x0501 | 0x0601));
    Some(codes.map(SignatureScheme::from_code_point).collect())
}

/// The key shares in a ClientHello's record (section 4.2.8). `None` if this key exchange has not
/// exactly these.
fn shares(record: &[u8], exchange: &dyn ActiveKeyExchange) -> Option<Vec<Share>> {
    let (mut list, _) = split(extension(record, KEY_SHARE)?, 2)?;
    let component = exchange.hybrid_component();
    let own = [Some((exchange.group(), exchange.pub_key())), component];
    let mut found = Vec::new();
    while !list.is_empty() {
        let (group, rest) = list.split_first_chunk()?;
        let group = u16::from_be_bytes(*group);
        let (share, rest) = split(rest, 2)?;
        let (name, key) = (*own.get(found.len())?)?;
        let start = position(record, share);
        let is_component = !found.is_empty();
        (u16::from(name) == group && key.len() == share.len()).then_some(())?;
        found.push(Share { group, range: start..start + share.len(), is_component });
        list = rest;
    }
    (!found.is_empty()).then_some(found)
}

/// The position of these bytes in a record, of which they are a part.
fn position(record: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr() - record.as_ptr().addr()
}

fn find(suite: u16) -> Option<&'static Suite> {
    SUITES.iter().find(|known| known.code_point == suite)
}

/// The first record that rustls sends.
fn client_hello(config: &Arc<ClientConfig>, server_name: &ServerName<'static>) -> Option<Vec<u8>> {
    let mut connection =
        UnbufferedClientConnection::new(Arc::clone(config), server_name.clone()).ok()?;
    let mut record = Vec::new();
    match connection.process_tls_records(&mut []).state {
        Ok(ConnectionState::EncodeTlsData(mut flight)) => encode_flight(&mut record, &mut flight),
        _ => return None,
    }
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rustls::key_exchange::implementation;
    use tlslab_contract::spec::KeyShare;
    use tlslab_wire::names::Group;

    /// The record of a ClientHello with one suite, no session ID, and these key shares.
    fn hello(shares: &[u8]) -> Vec<u8> {
        let length = |more: usize| ((shares.len() + more) as u16).to_be_bytes();
        let before = [0; HEADER + RANDOM + RANDOM_LENGTH];
        let suite_and_compression = [0, 0, 2, 0x13, 0x01, 1, 0];
        let lengths = [length(6), [0, 51], length(2), length(0)].concat();
        [&before[..], &suite_and_compression, &lengths, shares].concat()
    }

    #[test]
    fn key_shares_are_found_if_they_are_those_of_the_group_and_of_its_part() {
        let start = |group| implementation(group, KeyShare::Reused).unwrap().start().unwrap();
        let (plain, hybrid) = (start(Group::X25519), start(Group::X25519MlKem768));
        let entry = |group: u16, length: u16| {
            [&group.to_be_bytes()[..], &length.to_be_bytes(), &vec![7; length.into()]].concat()
        };
        let [x25519, p256, both] = [entry(29, 32), entry(23, 65), entry(4588, 1216)];
        let found = |list: &[&[u8]], exchange: &dyn ActiveKeyExchange| {
            let record = hello(&list.concat());
            let found = shares(&record, exchange)?;
            assert!(found.iter().all(|share| record[share.range.clone()].iter().all(|b| *b == 7)));
            Some(found.iter().map(|s| (s.group, s.range.len(), s.is_component)).collect::<Vec<_>>())
        };
        let whole = (4588, 1216, false);
        assert_eq!(found(&[&x25519], &*plain), Some(vec![(29, 32, false)]));
        assert_eq!(found(&[&both], &*hybrid), Some(vec![whole]));
        assert_eq!(found(&[&both, &x25519], &*hybrid), Some(vec![whole, (29, 32, true)]));
        for (list, exchange) in [
            (&[&p256[..]][..], &plain),
            (&[&x25519, &p256], &plain),
            (&[&p256, &x25519], &plain),
            (&[&x25519, &x25519], &plain),
            (&[&entry(29, 31)], &plain),
            (&[], &plain),
            (&[&x25519, &both], &hybrid),
            (&[&both, &p256], &hybrid),
            (&[&both, &x25519, &p256], &hybrid),
        ] {
            assert_eq!(found(list, &**exchange), None, "{list:?}");
        }
    }
}

//! The hellos: the ClientHello is a copy of one made by rustls, the ServerHello is parsed.

use std::ops::Range;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::{SecureRandom, SupportedKxGroup};
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
    /// The range of the key share in the record.
    share: Range<usize>,
    /// The position of the extensions' length in the record.
    extensions_length: usize,
    /// The only offered group.
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
    /// A template for a configuration that offers only TLS 1.3 and one group. `group` may be
    /// another implementation of that group. `None` if this client cannot copy the configuration's
    /// ClientHello.
    pub fn new(
        config: &Arc<ClientConfig>,
        server_name: &ServerName<'static>,
        group: &'static dyn SupportedKxGroup,
        authenticator: Option<ServerAuthenticator>,
    ) -> Option<Self> {
        let [offered] = config.crypto_provider().kx_groups[..] else { return None };
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
        let share = share(&record, group)?;
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
            share,
            extensions_length,
            group,
            suites,
            extensions,
            schemes,
            alpn,
            authenticator,
        })
    }

    /// Appends the record of a ClientHello with this key share and with a fresh random and session
    /// ID. Returns the session ID; `None` without random bytes, or if the share has another length.
    pub fn append(&self, share: &[u8], outgoing: &mut Vec<u8>) -> Option<[u8; SESSION_ID_LENGTH]> {
        let start = outgoing.len();
        outgoing.extend_from_slice(&self.record);
        let record = &mut outgoing[start..];
        let place = &mut record[self.share.clone()];
        (place.len() == share.len()).then(|| place.copy_from_slice(share))?;
        let message = &mut record[HEADER..];
        Random.fill(&mut message[RANDOM..RANDOM + RANDOM_LENGTH]).ok()?;
        let session_id = message[SESSION_ID..].first_chunk_mut()?;
        Random.fill(session_id).ok()?;
        Some(*session_id)
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
        if group != u16::from(self.group.name()) {
            return Err(illegal("the server's key share is not of the group that is offered"));
        }
        let suite = find(suite)
            .filter(|suite| self.suites.contains(&suite.code_point))
            .ok_or(illegal("the server chooses a cipher suite that is not offered"))?;
        // Section 4.2.11.
        let fits = |offer: &Offer| offer.suite.hash_length() == suite.hash_length();
        if is_resumed && !offer.is_some_and(fits) {
            return Err(illegal("the server resumes with a cipher suite of another hash"));
        }
        Ok(Answer { suite, share, is_resumed })
    }
}

/// The server's choices.
pub struct Answer<'m> {
    pub suite: &'static Suite,
    pub share: &'m [u8],
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

/// The range of the only key share in a ClientHello's record (section 4.2.8).
fn share(record: &[u8], group: &dyn SupportedKxGroup) -> Option<Range<usize>> {
    let (shares, _) = split(extension(record, KEY_SHARE)?, 2)?;
    let (number, share) = shares.split_first_chunk()?;
    let (share, rest) = split(share, 2)?;
    let is_only = rest.is_empty() && *number == u16::from(group.name()).to_be_bytes();
    let start = position(record, share);
    is_only.then_some(start..start + share.len())
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
    fn a_key_share_is_found_if_it_is_the_only_one_and_of_the_group() {
        let group = implementation(Group::X25519, KeyShare::Reused).unwrap();
        let [x25519, p256] = [&[0, 29, 0, 2, 7, 8][..], &[0, 23, 0, 1, 9]];
        let record = hello(x25519);
        assert_eq!(share(&record, group), Some(record.len() - 2..record.len()));
        assert_eq!(share(&hello(p256), group), None);
        assert_eq!(share(&hello(&[x25519, p256].concat()), group), None);
        assert_eq!(share(&hello(&[p256, x25519].concat()), group), None);
        assert_eq!(share(&hello(&[]), group), None);
    }
}

//! Reads the unencrypted part of a server's first flight, from any bytes.

use tls_parser::{
    ECParametersContent, TlsCipherKx, TlsMessageHandshake, parse_dh_params, parse_ecdh_params,
    parse_tls_handshake_certificatestatus, parse_tls_handshake_msg_certificate,
    parse_tls_handshake_server_hello,
};

use super::answer::{Answer, Flight, Refusal};
use super::client_hello::extension;
use super::registry::{self, Protocol};
use crate::sanitize::sanitize;
use crate::tls::HELLO_RETRY_REQUEST;

/// The highest length of an answer in bytes: as in the back ends, 64 KiB of certificates and
/// framing.
const ANSWER_LIMIT: usize = crate::tls::flood::FRUITLESS_LIMIT;

/// The highest length of a record's content in bytes (RFC 5246, section 6.2.3).
const RECORD_LIMIT: usize = 16 * 1024 + 2048;

/// Content types (RFC 8446, appendix B.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

/// Message types (RFC 8446, appendix B.3, and RFC 5246, appendix A.4).
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const CERTIFICATE_REQUEST: u8 = 13;
const SERVER_HELLO_DONE: u8 = 14;
const CERTIFICATE_STATUS: u8 = 22;

/// Collects the bytes of an answer as they arrive, until it is complete.
#[derive(Debug, Default)]
pub struct Reader {
    received: usize,
    records: Vec<u8>,
    messages: Vec<u8>,
    flight: Flight,
    /// Whether a ChangeCipherSpec came before the ServerHello.
    is_early: bool,
}

impl Reader {
    /// Processes further bytes; returns the answer once it is known.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Answer> {
        self.received += bytes.len();
        self.records.extend_from_slice(bytes);
        match self.read() {
            Ok(false) if self.received > ANSWER_LIMIT => {
                Some(Answer::Refused(Refusal::not_tls("sent more than any handshake needs")))
            }
            Ok(false) => None,
            Ok(true) => Some(Answer::Flight(Box::new(std::mem::take(&mut self.flight)))),
            Err(refusal) => Some(Answer::Refused(refusal)),
        }
    }

    /// Processes the received bytes. Returns whether the flight is complete.
    fn read(&mut self) -> Result<bool, Refusal> {
        loop {
            const KINDS: [u8; 3] = [CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE];
            if self.records.first().is_some_and(|kind| !KINDS.contains(kind)) {
                return Err(not_tls(&self.records));
            }
            let Some(&[kind, major, _, a, b]) = self.records.get(..5) else { return Ok(false) };
            let length = usize::from(u16::from_be_bytes([a, b]));
            if major != 3 || length > RECORD_LIMIT {
                return Err(not_tls(&self.records));
            }
            let Some(content) = self.records.get(5..5 + length) else { return Ok(false) };
            match kind {
                ALERT => check_alert(content)?,
                // In TLS 1.3 it is dropped wherever it comes (RFC 8446, section 5).
                CHANGE_CIPHER_SPEC if *content == [1] => self.is_early = true,
                CHANGE_CIPHER_SPEC => {
                    return Err(Refusal::not_tls("sent a ChangeCipherSpec that cannot be read"));
                }
                _ => self.messages.extend_from_slice(content),
            }
            self.records.drain(..5 + length);
            if self.read_messages()? {
                return Ok(true);
            }
        }
    }

    fn read_messages(&mut self) -> Result<bool, Refusal> {
        while let Some(&[kind, a, b, c]) = self.messages.get(..4) {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > ANSWER_LIMIT {
                return Err(Refusal::not_tls("announced a message beyond all limits"));
            }
            let Some(body) = self.messages.get(4..4 + length) else { return Ok(false) };
            let complete = self
                .flight
                .take(kind, body)
                .ok_or_else(|| Refusal::not_tls("sent a handshake message that cannot be read"))?;
            self.messages.drain(..4 + length);
            if self.is_early && self.flight.protocol() != Some(Protocol::Tls13) {
                return Err(Refusal::not_tls("sent a ChangeCipherSpec too early"));
            }
            if complete {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Ignores a warning; any other alert ends the handshake.
fn check_alert(content: &[u8]) -> Result<(), Refusal> {
    const WARNING: u8 = 1;
    const CLOSE_NOTIFY: u8 = 0;
    match *content {
        [WARNING, number] if number != CLOSE_NOTIFY => Ok(()),
        [_, number] => Err(Refusal::alert(number)),
        _ => Err(Refusal::not_tls("sent an alert that cannot be read")),
    }
}

fn not_tls(received: &[u8]) -> Refusal {
    if received.starts_with(b"HTTP/") {
        return Refusal::not_tls("answers in plain HTTP");
    }
    let start = &received[..received.len().min(32)];
    let text = String::from_utf8_lossy(start);
    Refusal::not_tls(format!("answers with what is no TLS: '{}'", sanitize(&text, 24)))
}

impl Flight {
    /// Processes a message. Returns whether it was the last; `None` if it is invalid.
    fn take(&mut self, kind: u8, body: &[u8]) -> Option<bool> {
        match kind {
            SERVER_HELLO => self.take_hello(body),
            _ if self.version == 0 => None,
            CERTIFICATE => self.take_certificates(body),
            SERVER_KEY_EXCHANGE => self.take_key_exchange(body).map(|()| false),
            CERTIFICATE_STATUS => {
                let status = whole(parse_tls_handshake_certificatestatus(body))?;
                self.staple = Some(status.blob.to_vec());
                Some(false)
            }
            CERTIFICATE_REQUEST => {
                self.asks_for_certificate = true;
                Some(false)
            }
            SERVER_HELLO_DONE => Some(true),
            _ => None,
        }
    }

    /// In TLS 1.3 everything after the ServerHello is encrypted.
    fn take_hello(&mut self, body: &[u8]) -> Option<bool> {
        let (rest, hello) = parse_tls_handshake_server_hello(body).ok()?;
        // Invalid extensions are ignored; SSL 3.0 has none, whatever follows.
        if !rest.is_empty() && hello.version.0 != Protocol::Ssl3.number() {
            return None;
        }
        self.extensions = extensions(hello.ext.unwrap_or_default())?;
        self.suite = hello.cipher.0;
        self.compression = hello.compression.0;
        self.version = match self.extension(extension::SUPPORTED_VERSIONS) {
            Some(&[a, b]) => u16::from_be_bytes([a, b]),
            Some(_) => return None,
            None => hello.version.0,
        };
        let tls13 = self.protocol() == Some(Protocol::Tls13);
        self.retry = tls13 && hello.random == HELLO_RETRY_REQUEST;
        if tls13 {
            self.group = match self.extension(extension::KEY_SHARE) {
                Some(&[a, b, ..]) => Some(u16::from_be_bytes([a, b])),
                _ => None,
            };
        }
        Some(tls13)
    }

    fn take_certificates(&mut self, body: &[u8]) -> Option<bool> {
        let message = whole(parse_tls_handshake_msg_certificate(body))?;
        let TlsMessageHandshake::Certificate(certificates) = message else { return None };
        // The parser silently stops at a certificate that is cut short.
        let read: usize = certificates.cert_chain.iter().map(|c| 3 + c.data.len()).sum();
        if 3 + read != body.len() {
            return None;
        }
        self.certificates = certificates.cert_chain.iter().map(|c| c.data.to_vec()).collect();
        Some(false)
    }

    fn take_key_exchange(&mut self, body: &[u8]) -> Option<()> {
        let suite = registry::suite(self.suite)?;
        let rest = match suite.kx {
            TlsCipherKx::Ecdhe | TlsCipherKx::Ecdh | TlsCipherKx::Aecdh => {
                let (rest, params) = parse_ecdh_params(body).ok()?;
                if let ECParametersContent::NamedGroup(group) = params.curve_params.params_content {
                    self.group = Some(group.0);
                }
                rest
            }
            TlsCipherKx::Dhe | TlsCipherKx::Dh => {
                let (rest, params) = parse_dh_params(body).ok()?;
                self.prime = Some(params.dh_p.to_vec());
                rest
            }
            // The parameters of other key exchanges contain nothing that a probe needs.
            _ => return Some(()),
        };
        if let (Some(Protocol::Tls12), Some(&[a, b])) = (self.protocol(), rest.get(..2)) {
            self.scheme = Some(u16::from_be_bytes([a, b]));
        }
        Some(())
    }
}

/// The parsed value, if nothing follows it.
fn whole<T>(read: tls_parser::nom::IResult<&[u8], T>) -> Option<T> {
    read.ok().filter(|(rest, _)| rest.is_empty()).map(|(_, read)| read)
}

fn extensions(mut list: &[u8]) -> Option<Vec<(u16, Vec<u8>)>> {
    let mut found = Vec::new();
    while let Some((&[a, b, c, d], rest)) = list.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([c, d]));
        found.push((u16::from_be_bytes([a, b]), rest.get(..length)?.to_vec()));
        list = &rest[length..];
    }
    list.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ServerHello in a record.
    fn server_hello(version: u16, random: [u8; 32], suite: u16, extensions: &[u8]) -> Vec<u8> {
        let mut body = version.to_be_bytes().to_vec();
        body.extend(random);
        body.push(0);
        body.extend(suite.to_be_bytes());
        body.push(0);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        let message = [&[2, 0, 0, body.len() as u8][..], &body].concat();
        [&[22, 3, 3, 0, message.len() as u8][..], &message].concat()
    }

    /// The record with these bytes appended to its last message.
    fn with_last(mut record: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
        record.extend(bytes);
        record[4] += bytes.len() as u8;
        record[8] += bytes.len() as u8;
        record
    }

    /// A ServerHello followed by this message.
    fn flight_with(message: &[u8]) -> Vec<u8> {
        let hello = server_hello(0x0303, [7; 32], 0xc02f, &[]);
        [&hello[..], &[22, 3, 3, 0, message.len() as u8], message].concat()
    }

    fn refusal(bytes: &[u8]) -> String {
        match Reader::default().feed(bytes) {
            Some(Answer::Refused(refusal)) => refusal.words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hello_retry_request_names_suite_and_group() {
        let extensions = [0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 24];
        let bytes = server_hello(0x0303, HELLO_RETRY_REQUEST, 0x1302, &extensions);
        let Some(Answer::Flight(flight)) = Reader::default().feed(&bytes) else { panic!() };
        assert_eq!(flight.protocol(), Some(Protocol::Tls13));
        assert_eq!((flight.suite, flight.group, flight.retry), (0x1302, Some(24), true));
    }

    #[test]
    fn a_change_cipher_spec_is_dropped_before_a_hello_of_tls13_only() {
        const CHANGE: [u8; 6] = [20, 3, 3, 0, 1, 1];
        let extensions = [0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 24];
        let hello = server_hello(0x0303, [7; 32], 0x1302, &extensions);
        let answer = Reader::default().feed(&[&CHANGE[..], &hello].concat());
        let Some(Answer::Flight(flight)) = answer else { panic!("{answer:?}") };
        assert_eq!((flight.protocol(), flight.group), (Some(Protocol::Tls13), Some(24)));
        let hello = server_hello(0x0303, [7; 32], 0xc02f, &[]);
        let words = refusal(&[&CHANGE[..], &hello].concat());
        assert_eq!(words, "sent a ChangeCipherSpec too early");
        for wrong in [&[20, 3, 3, 0, 1, 2][..], &[20, 3, 3, 0, 2, 1, 1], &[20, 3, 3, 0, 0]] {
            assert_eq!(refusal(wrong), "sent a ChangeCipherSpec that cannot be read");
        }
    }

    #[test]
    fn a_flight_of_tls12_is_read_in_pieces_of_any_size() {
        let mut bytes = server_hello(0x0303, [7; 32], 0xc02f, &[0xff, 1, 0, 1, 0]);
        let certificate = [11, 0, 0, 8, 0, 0, 5, 0, 0, 2, 0x30, 0];
        let exchange = [12, 0, 0, 12, 3, 0, 23, 2, 4, 5, 8, 4, 0, 2, 1, 1];
        let messages = [&certificate[..], &exchange, &[14, 0, 0, 0]].concat();
        bytes.extend([22, 3, 3, 0, messages.len() as u8]);
        bytes.extend(messages);
        for size in [1, 2, 7, 1000] {
            let mut reader = Reader::default();
            let answers: Vec<_> = bytes.chunks(size).filter_map(|c| reader.feed(c)).collect();
            let [Answer::Flight(flight)] = &answers[..] else { panic!("{answers:?}") };
            assert_eq!((flight.suite, flight.group), (0xc02f, Some(23)));
            assert_eq!((flight.scheme, &flight.certificates), (Some(0x0804), &vec![vec![0x30, 0]]));
            assert_eq!(flight.extension(extension::RENEGOTIATION_INFO), Some(&[0][..]));
        }
    }

    #[test]
    fn refusals_say_what_came() {
        assert_eq!(refusal(&[21, 3, 3, 0, 2, 2, 40]), "answered handshake_failure (40)");
        assert_eq!(refusal(&[21, 3, 3, 0, 2, 2, 200]), "answered alert (200)");
        assert_eq!(refusal(b"HTTP/1.1 400 Bad Request\r\n"), "answers in plain HTTP");
        let words = refusal(b"\x1b[2Jhello");
        assert_eq!(words, "answers with what is no TLS: '\u{fffd}[2Jhello'");
    }

    #[test]
    fn warnings_are_passed_over_and_nonsense_is_not() {
        assert!(Reader::default().feed(&[21, 3, 3, 0, 2, 1, 112]).is_none());
        for bytes in [
            &[22, 3, 3, 0, 4, 11, 0, 0, 0][..],
            &[22, 3, 3, 0, 5, 2, 0, 0, 1, 0],
            // Extensions, a certificate and a stapled response that are longer or shorter than
            // their lengths.
            &with_last(server_hello(0x0303, [7; 32], 0xc02f, &[]), &[5]),
            &with_last(server_hello(0x0303, [7; 32], 0xc02f, &[]), &[0, 0]),
            &flight_with(&[11, 0, 0, 8, 0, 0, 5, 0, 0, 3, 0x30, 0]),
            &flight_with(&[11, 0, 0, 9, 0, 0, 5, 0, 0, 2, 0x30, 0, 0]),
            &flight_with(&[22, 0, 0, 6, 1, 0, 0, 1, 5, 5]),
            &[22, 3, 3, 0, 4, 2, 255, 255, 255],
            &[22, 3, 3, 255, 255],
            &[22, 9, 9, 0, 1, 0],
            &[21, 3, 3, 0, 1, 2],
        ] {
            assert!(matches!(Reader::default().feed(bytes), Some(Answer::Refused(_))), "{bytes:?}");
        }
    }

    #[test]
    fn a_flood_of_warnings_or_empty_records_ends() {
        for record in [&[21, 3, 3, 0, 2, 1, 112][..], &[22, 3, 3, 0, 0]] {
            let mut reader = Reader::default();
            let end = (0..1_000_000).find_map(|_| reader.feed(record));
            assert!(matches!(end, Some(Answer::Refused(_))));
        }
    }

    #[test]
    fn a_prime_has_its_size_in_bits_without_leading_zeros() {
        let bits = |prime: &[u8]| {
            let flight = Flight { prime: Some(prime.to_vec()), ..Flight::default() };
            flight.prime_bits().unwrap()
        };
        assert_eq!((bits(&[0, 0, 0x80, 0]), bits(&[1]), bits(&[0]), bits(&[])), (16, 1, 0, 0));
    }
}

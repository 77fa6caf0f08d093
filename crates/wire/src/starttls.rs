//! How services that begin in plain text turn to TLS: SMTP (RFC 3207), IMAP and POP3 (RFC 2595),
//! PostgreSQL (SSLRequest) and LDAP (RFC 4511, section 4.14). The client's side, from any bytes.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sanitize::sanitize;
use crate::tls::answer::Refusal;

#[cfg(any(test, feature = "invariants"))]
pub mod invariants;

/// The highest number of bytes that a server sends before TLS: more than the longest list of SMTP's
/// extensions.
pub const PLAIN_LIMIT: usize = 16 * 1024;

/// The highest number of characters that a refusal quotes.
const QUOTED: usize = 60;

/// The request of PostgreSQL: its length, and the number 1234.5679.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 210, 22, 47];

/// The request of LDAP: message 1, an extended request with the name of StartTLS.
const START_TLS: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";

/// Tags of BER in LDAP's answer (RFC 4511, section 4.12).
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
const OCTET_STRING: u8 = 0x04;
const EXTENDED_RESPONSE: u8 = 0x78;

/// A service whose connections begin in plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the variants say all there is")]
pub enum Service {
    Smtp,
    Imap,
    Pop3,
    Postgres,
    Ldap,
}

impl Service {
    /// All services.
    pub const ALL: [Self; 5] = [Self::Smtp, Self::Imap, Self::Pop3, Self::Postgres, Self::Ldap];

    /// The name in specifications and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smtp => "smtp",
            Self::Imap => "imap",
            Self::Pop3 => "pop3",
            Self::Postgres => "postgres",
            Self::Ldap => "ldap",
        }
    }

    /// The port that the service has by default.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Smtp => 25,
            Self::Imap => 143,
            Self::Pop3 => 110,
            Self::Postgres => 5432,
            Self::Ldap => 389,
        }
    }

    /// A request over TLS that every server answers and that changes nothing. PostgreSQL and LDAP
    /// answer a second request for TLS with an error.
    pub fn request_over_tls(self) -> &'static [u8] {
        match self {
            Self::Smtp => b"NOOP\r\n",
            Self::Imap => b"b NOOP\r\n",
            Self::Pop3 => b"CAPA\r\n",
            Self::Postgres => SSL_REQUEST,
            Self::Ldap => START_TLS,
        }
    }
}

/// What the client does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// It waits for bytes of the server.
    Wait,
    /// It sends these bytes, then waits.
    Send(Vec<u8>),
    /// It begins TLS.
    Begin,
}

/// What the next line of the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing: it is the greeting.
    Greeting,
    /// SMTP's EHLO.
    Extensions,
    /// The request for TLS.
    Request,
}

/// A dialogue until TLS begins. The words of its errors complete a sentence after "the server".
#[derive(Debug)]
pub struct Dialogue {
    service: Service,
    step: Step,
    /// The client's address, by which it introduces itself to SMTP (RFC 5321, section 4.1.3).
    client: IpAddr,
    /// Whether the first line of the answer to EHLO has arrived: the server's name and a greeting.
    is_named: bool,
    /// Whether SMTP's extensions had STARTTLS so far.
    offers_tls: bool,
    received: usize,
    unread: Vec<u8>,
}

impl Dialogue {
    /// A dialogue that has not begun.
    pub fn new(service: Service, client: IpAddr) -> Self {
        Self {
            service,
            step: Step::Greeting,
            client,
            is_named: false,
            offers_tls: false,
            received: 0,
            unread: Vec::new(),
        }
    }

    /// The first turn: the client asks, or waits for a greeting.
    pub fn first_turn(&mut self) -> Turn {
        match self.service {
            Service::Smtp | Service::Imap | Service::Pop3 => Turn::Wait,
            Service::Postgres => self.send(Step::Request, SSL_REQUEST),
            Service::Ldap => self.send(Step::Request, START_TLS),
        }
    }

    /// Processes further bytes of the server.
    ///
    /// # Errors
    /// The server refuses, breaks the protocol, sends too much, or sends an answer before the
    /// request. Bytes behind the answer to the request for TLS are refused: a client that took those
    /// bytes for the server's would let anybody on the path add to the session (CVE-2011-0411).
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Turn, Refusal> {
        self.received += bytes.len();
        self.unread.extend_from_slice(bytes);
        let turn = match self.service {
            Service::Smtp | Service::Imap | Service::Pop3 => self.read_lines()?,
            Service::Postgres => self.read_postgres()?,
            Service::Ldap => self.read_ldap()?,
        };
        match turn {
            Turn::Wait if self.received > PLAIN_LIMIT => {
                Err(refused(format!("sent more than {PLAIN_LIMIT} bytes before TLS")))
            }
            Turn::Begin if !self.unread.is_empty() => Err(refused(format!(
                "sent more in plain text than its answer: '{}' (CVE-2011-0411)",
                quoted(&self.unread)
            ))),
            Turn::Send(_) if !self.unread.is_empty() && !self.begins_untagged() => Err(refused(
                format!("sent an answer before the request: '{}'", quoted(&self.unread)),
            )),
            turn => Ok(turn),
        }
    }

    /// True if the unread bytes begin an untagged line of IMAP, which the server may send at any
    /// time (RFC 9051, section 7).
    fn begins_untagged(&self) -> bool {
        self.service == Service::Imap && self.unread.starts_with(b"*")
    }

    fn send(&mut self, step: Step, bytes: impl Into<Vec<u8>>) -> Turn {
        self.step = step;
        Turn::Send(bytes.into())
    }

    fn read_lines(&mut self) -> Result<Turn, Refusal> {
        while let Some(line) = self.next_line() {
            let turn = match self.service {
                Service::Smtp => self.take_smtp(&line)?,
                Service::Imap => self.take_imap(&line)?,
                _ => self.take_pop3(&line)?,
            };
            if turn != Turn::Wait {
                return Ok(turn);
            }
        }
        Ok(Turn::Wait)
    }

    /// Takes the next line, without its end. `None` if the line is incomplete.
    fn next_line(&mut self) -> Option<String> {
        let end = self.unread.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// A line of a reply, which has several if all but the last have a hyphen after the code
    /// (RFC 5321, section 4.2). The extensions begin in the second line of the answer to EHLO
    /// (section 4.1.1.1).
    fn take_smtp(&mut self, line: &str) -> Result<Turn, Refusal> {
        let code = if self.step == Step::Extensions { "250" } else { "220" };
        let text =
            line.strip_prefix(code).filter(|text| text.is_empty() || text.starts_with([' ', '-']));
        let Some(text) = text else { return Err(self.answered(line)) };
        if self.step == Step::Extensions {
            let offers = text.get(1..).is_some_and(|word| is_word(word.trim(), "STARTTLS"));
            self.offers_tls |= self.is_named && offers;
            self.is_named = true;
        }
        match self.step {
            _ if text.starts_with('-') => Ok(Turn::Wait),
            Step::Greeting => {
                let address = match self.client.to_canonical() {
                    IpAddr::V4(address) => format!("[{address}]"),
                    IpAddr::V6(address) => format!("[IPv6:{address}]"),
                };
                Ok(self.send(Step::Extensions, format!("EHLO {address}\r\n")))
            }
            Step::Extensions if !self.offers_tls => {
                Err(refused("has no STARTTLS among its extensions".to_owned()))
            }
            Step::Extensions => Ok(self.send(Step::Request, "STARTTLS\r\n")),
            Step::Request => Ok(Turn::Begin),
        }
    }

    /// A line of IMAP, untagged or with the request's tag (RFC 9051, section 7).
    fn take_imap(&mut self, line: &str) -> Result<Turn, Refusal> {
        match (self.step, tag_and_status(line)) {
            (Step::Greeting, ("*", status)) if is_word(status, "OK") => {
                self.skip_untagged()?;
                Ok(self.send(Step::Request, "a STARTTLS\r\n"))
            }
            (Step::Request, ("*", status)) if !is_word(status, "BYE") => Ok(Turn::Wait),
            (Step::Request, ("a", status)) if is_word(status, "OK") => Ok(Turn::Begin),
            _ => Err(self.answered(line)),
        }
    }

    /// Skips the untagged lines behind IMAP's greeting. An incomplete line stays unread.
    fn skip_untagged(&mut self) -> Result<(), Refusal> {
        while self.begins_untagged() {
            let Some(line) = self.next_line() else { break };
            match tag_and_status(&line) {
                ("*", status) if !is_word(status, "BYE") => {}
                _ => return Err(self.answered(&line)),
            }
        }
        Ok(())
    }

    fn take_pop3(&mut self, line: &str) -> Result<Turn, Refusal> {
        match (self.step, is_word(line.split(' ').next().unwrap_or_default(), "+OK")) {
            (Step::Greeting, true) => Ok(self.send(Step::Request, "STLS\r\n")),
            (_, true) => Ok(Turn::Begin),
            (_, false) => Err(self.answered(line)),
        }
    }

    /// One byte: `S` for TLS, `N` without; an old server answers with an error, `E`.
    fn read_postgres(&mut self) -> Result<Turn, Refusal> {
        match self.unread.first() {
            None => Ok(Turn::Wait),
            Some(b'S') => {
                self.unread.remove(0);
                Ok(Turn::Begin)
            }
            Some(b'N') => Err(refused("answered N to the request for TLS: it has none".to_owned())),
            Some(_) => Err(self.answered(&String::from_utf8_lossy(&self.unread))),
        }
    }

    fn read_ldap(&mut self) -> Result<Turn, Refusal> {
        if self.unread.first().is_some_and(|tag| *tag != SEQUENCE) {
            return Err(self.answered(&String::from_utf8_lossy(&self.unread)));
        }
        let Some((_, message, rest)) = element(&self.unread) else { return Ok(Turn::Wait) };
        match ldap_result(message) {
            Some(([1], [0], _)) => {
                self.unread = rest.to_vec();
                Ok(Turn::Begin)
            }
            Some((_, [code], text)) => {
                Err(refused(format!("answered result {code} to StartTLS: '{}'", quoted(text))))
            }
            _ => Err(refused("answered StartTLS with another message".to_owned())),
        }
    }

    /// A line other than the wanted one.
    fn answered(&self, line: &str) -> Refusal {
        let line = quoted(line.as_bytes());
        match self.step {
            Step::Greeting => refused(format!("greeted with '{line}'")),
            Step::Extensions => refused(format!("answered '{line}' to EHLO")),
            Step::Request => refused(format!("answered '{line}' to the request for TLS")),
        }
    }
}

fn refused(words: String) -> Refusal {
    Refusal { class: "no_starttls".to_owned(), words, in_tls: false }
}

fn quoted(bytes: &[u8]) -> String {
    sanitize(String::from_utf8_lossy(bytes).trim_end(), QUOTED)
}

/// The first two words of a line of IMAP.
fn tag_and_status(line: &str) -> (&str, &str) {
    let mut words = line.split(' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

/// The first element of BER with a definite length (RFC 4511, section 5.1): its tag, its content, and
/// the bytes behind it. `None` if it is incomplete.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The number of a message, the code of its result, and the text for people, if the message is an
/// extended response (RFC 4511, section 4.12).
fn ldap_result(message: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (INTEGER, number, rest) = element(message)? else { return None };
    let (EXTENDED_RESPONSE, result, _) = element(rest)? else { return None };
    let (ENUMERATED, code, rest) = element(result)? else { return None };
    let (OCTET_STRING, _, rest) = element(rest)? else { return None };
    let (OCTET_STRING, text, _) = element(rest)? else { return None };
    Some((number, code, text))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::invariants::{hold_dialogue, hold_end};
    use super::*;

    const LDAP_DONE: &[u8] = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";

    /// The client's side of a dialogue with these answers, and its end.
    fn of(service: Service, answers: &[&[u8]]) -> (Vec<String>, Result<Turn, String>) {
        let mut dialogue = Dialogue::new(service, Ipv4Addr::LOCALHOST.into());
        let mut said = Vec::new();
        let mut turn = Ok(dialogue.first_turn());
        for answer in answers {
            if let Ok(Turn::Send(bytes)) = &turn {
                said.push(String::from_utf8_lossy(bytes).into_owned());
            }
            turn = dialogue.feed(answer).map_err(|refusal| refusal.words);
        }
        (said, turn)
    }

    #[test]
    fn each_service_is_asked_in_its_own_words() {
        let (said, end) = of(
            Service::Smtp,
            &[b"220-a\r\n", b"220 b\r\n", b"250-a\r\n250-startTLS\r\n", b"250 X\r\n", b"220\r\n"],
        );
        assert_eq!(said, ["EHLO [127.0.0.1]\r\n", "STARTTLS\r\n"]);
        assert_eq!(end, Ok(Turn::Begin));
        let (said, end) = of(Service::Imap, &[b"* OK hi\r\n", b"* 1 EXISTS\r\n", b"a OK go\r\n"]);
        assert_eq!((&*said, end), (&["a STARTTLS\r\n".to_owned()][..], Ok(Turn::Begin)));
        let (said, end) = of(Service::Pop3, &[b"+OK hi\r\n", b"+OK\r\n"]);
        assert_eq!((&*said, end), (&["STLS\r\n".to_owned()][..], Ok(Turn::Begin)));
        let (said, end) = of(Service::Postgres, &[b"S"]);
        assert_eq!((said.len(), end), (1, Ok(Turn::Begin)));
        let (said, end) = of(Service::Ldap, &[&LDAP_DONE[..5], &LDAP_DONE[5..]]);
        assert!(said[0].ends_with("1.3.6.1.4.1.1466.20037"), "{said:?}");
        assert_eq!(end, Ok(Turn::Begin));
        assert_eq!(START_TLS.len(), 2 + usize::from(START_TLS[1]));
    }

    #[test]
    fn an_ipv6_client_introduces_itself_by_its_address() {
        let mut dialogue = Dialogue::new(Service::Smtp, Ipv6Addr::LOCALHOST.into());
        let turn = dialogue.feed(b"220 hi\r\n").unwrap();
        assert_eq!(turn, Turn::Send(b"EHLO [IPv6:::1]\r\n".to_vec()));
    }

    #[test]
    fn a_length_may_take_several_bytes() {
        let long = b"\x30\x84\x00\x00\x00\x10\x02\x01\x01\x78\x84\x00\x00\x00\x07\x0a\x01\x00\x04\
                     \x00\x04\x00";
        assert_eq!(of(Service::Ldap, &[long]).1, Ok(Turn::Begin));
    }

    #[test]
    fn a_refusal_quotes_the_server() {
        let smtp: &[&[u8]] = &[b"220 hi\r\n", b"250-a\r\n250 STARTTLS\r\n", b"454 not now\r\n"];
        let ldap = b"\x30\x0f\x02\x01\x01\x78\x0a\x0a\x01\x02\x04\x00\x04\x03bad";
        let closing = b"\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x34\x04\x00\x04\x00";
        let cases: [(Service, &[&[u8]], &str); 12] = [
            (Service::Smtp, &[b"554 no\r\n"], "greeted with '554 no'"),
            (Service::Smtp, &[b"2200 no\r\n"], "greeted with '2200 no'"),
            (Service::Smtp, &[b"220 hi\r\n", b"502 no\r\n"], "answered '502 no' to EHLO"),
            (
                Service::Smtp,
                &[b"220 hi\r\n", b"250-STARTTLSX\r\n250 SIZE 1\r\n"],
                "has no STARTTLS among its extensions",
            ),
            (Service::Smtp, smtp, "answered '454 not now' to the request for TLS"),
            (Service::Imap, &[b"* BYE no\r\n"], "greeted with '* BYE no'"),
            (
                Service::Imap,
                &[b"* OK\r\n", b"a NO \x1b[2J\r\n"],
                "answered 'a NO \u{fffd}[2J' to the request for TLS",
            ),
            (
                Service::Pop3,
                &[b"+OK hi\r\n", b"-ERR\r\n"],
                "answered '-ERR' to the request for TLS",
            ),
            (Service::Postgres, &[b"N"], "answered N to the request for TLS: it has none"),
            (Service::Postgres, &[b"HTTP/1.1"], "answered 'HTTP/1.1' to the request for TLS"),
            (Service::Ldap, &[ldap], "answered result 2 to StartTLS: 'bad'"),
            (Service::Ldap, &[closing], "answered result 52 to StartTLS: ''"),
        ];
        for (service, answers, words) in cases {
            assert_eq!(of(service, answers).1, Err(words.to_owned()), "{service:?}");
        }
    }

    #[test]
    fn the_servers_own_name_is_no_extension() {
        let none = Err("has no STARTTLS among its extensions".to_owned());
        for answer in [&b"250 STARTTLS\r\n"[..], b"250-STARTTLS\r\n250 SIZE 1\r\n"] {
            assert_eq!(of(Service::Smtp, &[b"220 hi\r\n", answer]).1, none);
        }
        let both: &[&[u8]] = &[b"220 hi\r\n", b"250-starttls\r\n250 STARTTLS\r\n"];
        assert_eq!(of(Service::Smtp, both).1, Ok(Turn::Send(b"STARTTLS\r\n".to_vec())));
    }

    #[test]
    fn imap_may_send_untagged_lines_at_any_time() {
        let cases: [&[&[u8]]; 5] = [
            &[b"* OK hi\r\n* CAPABILITY IMAP4rev2 STARTTLS\r\n", b"a OK\r\n"],
            &[b"* OK hi\r\n* OK [ALERT] soon\r\n* OK\r\n", b"* OK\r\na OK\r\n"],
            &[b"* OK hi\r\n* CAPAB", b"ILITY IMAP4rev2\r\na OK\r\n"],
            &[b"* OK hi\r\n*", b" OK\r\n", b"a OK\r\n"],
            &[b"* OK hi\r\n", b"* CAPABILITY IMAP4rev2\r\n", b"a OK\r\n"],
        ];
        for answers in cases {
            let (said, end) = of(Service::Imap, answers);
            assert_eq!((said[0].as_str(), end), ("a STARTTLS\r\n", Ok(Turn::Begin)));
        }
        let closed = of(Service::Imap, &[b"* OK hi\r\n* BYE soon\r\n"]);
        assert_eq!(closed, (vec![], Err("greeted with '* BYE soon'".to_owned())));
        let late = of(Service::Imap, &[b"* OK hi\r\n* BY", b"E soon\r\n"]).1;
        assert_eq!(late, Err("answered '* BYE soon' to the request for TLS".to_owned()));
    }

    #[test]
    fn an_answer_before_its_request_is_refused() {
        let cases: [(Service, &[&[u8]], &str); 6] = [
            (Service::Smtp, &[b"220 hi\r\n250 a\r\n"], "250 a"),
            (Service::Smtp, &[b"220 hi\r\n", b"250-a\r\n250 STARTTLS\r\n220 go\r\n"], "220 go"),
            (Service::Imap, &[b"* OK\r\na OK go\r\n"], "a OK go"),
            (Service::Imap, &[b"* OK\r\n* OK\r\na"], "a"),
            (Service::Pop3, &[b"+OK\r\n+OK go\r\n"], "+OK go"),
            (Service::Pop3, &[b"+OK\r\n*"], "*"),
        ];
        for (service, answers, quoted) in cases {
            let words = format!("sent an answer before the request: '{quoted}'");
            assert_eq!(of(service, answers).1, Err(words), "{service:?}");
        }
    }

    #[test]
    fn bytes_behind_the_answer_to_the_request_for_tls_are_refused() {
        let ldap = [LDAP_DONE, b"0"].concat();
        let extensions = b"250-a\r\n250 STARTTLS\r\n";
        let cases: [(Service, &[&[u8]]); 6] = [
            (Service::Smtp, &[b"220 hi\r\n", extensions, b"220 go\r\n250 OK\r\n"]),
            (Service::Imap, &[b"* OK\r\n", b"a OK go\r\n* CAPABILITY\r\n"]),
            (Service::Imap, &[b"* OK\r\n* OK\r\n", b"* OK\r\na OK go\r\n*"]),
            (Service::Pop3, &[b"+OK\r\n", b"+OK go\r\n+"]),
            (Service::Postgres, &[b"SE"]),
            (Service::Ldap, &[&ldap]),
        ];
        for (service, answers) in cases {
            let words = of(service, answers).1.unwrap_err();
            assert!(words.ends_with("(CVE-2011-0411)"), "{service:?}: {words}");
        }
    }

    fn services() -> impl Strategy<Value = Service> {
        prop::sample::select(Service::ALL.to_vec())
    }

    /// Bytes that go far, and any others.
    fn answers() -> impl Strategy<Value = Vec<u8>> {
        let known: [&[u8]; 9] = [
            b"220 hi\r\n",
            b"250-a\r\n250-STARTTLS\r\n",
            b"250 X\r\n",
            b"* OK\r\n",
            b"a OK\r\n",
            b"+OK\r\n",
            b"S",
            LDAP_DONE,
            b"\r\n",
        ];
        let known = prop::sample::select(known.map(<[u8]>::to_vec).to_vec());
        let any = prop::collection::vec(any::<u8>(), 0..20);
        prop::collection::vec(prop_oneof![known, any], 0..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn whatever_a_server_sends_tls_begins_only_behind_its_answer(
            service in services(), bytes in answers(), piece in 1_usize..40
        ) {
            hold_dialogue(service, &bytes, piece);
            hold_dialogue(service, &bytes, 1);
        }

        #[test]
        fn a_server_that_repeats_itself_comes_to_an_end(
            service in services(), bytes in answers()
        ) {
            hold_end(service, &bytes);
        }
    }
}

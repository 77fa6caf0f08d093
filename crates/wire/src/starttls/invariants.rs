//! Invariants of the dialogue before TLS, for any bytes of a server. Property tests and the fuzz
//! target `starttls` check them.

use std::net::Ipv4Addr;

use super::{Dialogue, PLAIN_LIMIT, Service, Turn};
use crate::tls::answer::Refusal;

/// The highest length of a refusal's text, in characters.
const WORDS: usize = 130;

/// TLS begins only behind the last byte of an answer that grants the request, and each request is
/// made once, in order. The first turn is the same for any split of the answer. The text of a
/// refusal is short and without control characters. Returns whether TLS begins.
///
/// Panics on a violation.
pub fn hold_dialogue(service: Service, bytes: &[u8], piece: usize) -> bool {
    let bytes = &bytes[..bytes.len().min(PLAIN_LIMIT)];
    hold_first_turn(service, bytes, piece);
    let (mut dialogue, mut requests) = begun(service);
    let mut end = 0;
    for part in bytes.chunks(piece.max(1)) {
        end += part.len();
        match dialogue.feed(part) {
            Ok(Turn::Wait) => {}
            Ok(Turn::Send(request)) => {
                let wanted = requests.next().expect("no request behind that for TLS");
                assert!(request.starts_with(wanted), "{request:?}");
            }
            Ok(Turn::Begin) => {
                assert_eq!(requests.next(), None, "TLS was not asked for");
                assert!(grants_tls(service, &bytes[..end]), "{:?}", &bytes[..end]);
                return true;
            }
            Err(refusal) => {
                hold_refusal(&refusal);
                return false;
            }
        }
    }
    false
}

/// A server that repeats the same bytes is refused, or comes to TLS.
///
/// Panics on a violation.
pub fn hold_end(service: Service, bytes: &[u8]) {
    const AT_ONCE: usize = 1024;
    if bytes.is_empty() {
        return;
    }
    let many: Vec<u8> = bytes.iter().copied().cycle().take(AT_ONCE).collect();
    let mut dialogue = begun(service).0;
    let mut ends = |_| !matches!(dialogue.feed(&many), Ok(Turn::Wait | Turn::Send(_)));
    assert!((0..=PLAIN_LIMIT / AT_ONCE).any(&mut ends), "{service:?} has no end");
}

/// A dialogue that waits for the server, and the beginnings of the requests to come.
fn begun(service: Service) -> (Dialogue, std::vec::IntoIter<&'static [u8]>) {
    let mut dialogue = Dialogue::new(service, Ipv4Addr::LOCALHOST.into());
    let asks_first = matches!(dialogue.first_turn(), Turn::Send(_));
    let requests: Vec<&[u8]> = match service {
        Service::Smtp => vec![b"EHLO ", b"STARTTLS\r\n"],
        Service::Imap => vec![b"a STARTTLS\r\n"],
        Service::Pop3 => vec![b"STLS\r\n"],
        Service::Postgres | Service::Ldap => vec![],
    };
    assert_eq!(asks_first, requests.is_empty());
    (dialogue, requests.into_iter())
}

fn hold_first_turn(service: Service, bytes: &[u8], piece: usize) {
    let (whole, _) = first_turn(service, bytes.chunks(bytes.len().max(1)));
    let (pieces, read) = first_turn(service, bytes.chunks(piece.max(1)));
    match (&whole, &pieces) {
        (Err(whole), Err(pieces)) => {
            // The words may contain the received bytes, as far as they had arrived.
            [whole, pieces].into_iter().for_each(hold_refusal);
        }
        // What is refused is behind the turn: in pieces it has not arrived.
        (Err(_), Ok(Turn::Send(_) | Turn::Begin)) if read < bytes.len() => {}
        _ => assert_eq!(whole, pieces),
    }
}

/// The first turn of the client, and the number of bytes until then.
fn first_turn<'b>(
    service: Service,
    pieces: impl Iterator<Item = &'b [u8]>,
) -> (Result<Turn, Refusal>, usize) {
    let mut dialogue = begun(service).0;
    let mut read = 0;
    for piece in pieces {
        read += piece.len();
        match dialogue.feed(piece) {
            Ok(Turn::Wait) => {}
            end => return (end, read),
        }
    }
    (Ok(Turn::Wait), read)
}

fn hold_refusal(refusal: &Refusal) {
    assert_eq!((refusal.class.as_str(), refusal.in_tls), ("no_starttls", false));
    let words = &refusal.words;
    assert!(words.chars().count() <= WORDS && !words.contains(char::is_control), "{words:?}");
}

/// A second reading of all that a server said, without common code.
fn grants_tls(service: Service, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_whole = text.ends_with('\n');
    match service {
        Service::Smtp => is_whole && grants_smtp(&lines),
        Service::Imap => is_whole && grants_imap(&lines),
        Service::Pop3 => {
            is_whole && lines.len() == 2 && lines.iter().all(|line| line.starts_with("+ok"))
        }
        Service::Postgres => bytes == b"S",
        Service::Ldap => bytes.starts_with(b"\x30") && bytes.windows(3).any(|w| w == [10, 1, 0]),
    }
}

/// A greeting, untagged lines, consent.
fn grants_imap(lines: &[&str]) -> bool {
    let [greeting, between @ .., consent] = lines else { return false };
    let closes = |line: &str| line.starts_with("* bye ") || line.trim_end() == "* bye";
    greeting.starts_with("* ok")
        && between.iter().all(|line| line.starts_with('*') && !closes(line))
        && consent.starts_with("a ok")
}

/// Three replies: greeting, extensions with STARTTLS behind the server's name, consent.
fn grants_smtp(lines: &[&str]) -> bool {
    let replies: Vec<&[&str]> =
        lines.split_inclusive(|line| line.as_bytes().get(3) != Some(&b'-')).collect();
    let [greeting, extensions, consent] = *replies else { return false };
    let has_code = |reply: &[&str], code| reply.iter().all(|line| line.starts_with(code));
    has_code(greeting, "220")
        && has_code(extensions, "250")
        && extensions[1..].iter().any(|line| line.get(4..).is_some_and(|w| w.trim() == "starttls"))
        && has_code(consent, "220")
}

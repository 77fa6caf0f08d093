//! Answers, read twice: by the probe's reader, and by a second reader without common code.

use tls_parser::TlsCipherKx;

use crate::tls::answer::Flight;
use crate::tls::answer::{Answer, Refusal};
use crate::tls::registry::{self, Protocol};
use crate::tls::server_flight::Reader;
use crate::tls::{HELLO_RETRY_REQUEST, flood::FRUITLESS_LIMIT};

/// The highest length of a refusal's text, in characters.
const WORDS: usize = 80;

/// The reader has the same result for any split of an answer, and the second reader finds the same
/// flight. The text of a refusal is short and without control characters. Returns whether the
/// answer is a flight.
///
/// Panics on a violation.
pub fn hold_answer(bytes: &[u8], piece: usize) -> bool {
    let bytes = &bytes[..bytes.len().min(FRUITLESS_LIMIT)];
    let whole = read(bytes.chunks(bytes.len().max(1)));
    let pieces = read(bytes.chunks(piece.max(1)));
    let flight = match (whole, pieces) {
        (None, None) => None,
        (Some(Answer::Flight(whole)), Some(Answer::Flight(pieces))) => {
            assert_eq!(whole, pieces);
            Some(*whole)
        }
        (Some(Answer::Refused(whole)), Some(Answer::Refused(pieces))) => {
            // The words may contain the received bytes, as far as they had arrived.
            assert_eq!((&whole.class, whole.in_tls), (&pieces.class, pieces.in_tls));
            [whole, pieces].iter().for_each(hold_refusal);
            None
        }
        (whole, pieces) => panic!("{whole:?} is not {pieces:?}"),
    };
    assert_eq!(flight, second_reading(bytes));
    flight.is_some()
}

fn read<'b>(mut pieces: impl Iterator<Item = &'b [u8]>) -> Option<Answer> {
    let mut reader = Reader::default();
    pieces.find_map(|piece| reader.feed(piece))
}

fn hold_refusal(refusal: &Refusal) {
    let words = &refusal.words;
    assert!(words.chars().count() <= WORDS && !words.contains(char::is_control), "{words:?}");
}

/// Input that repeats the same bytes ends as an answer or as a refusal.
///
/// Panics on a violation.
pub fn hold_end(bytes: &[u8]) {
    const AT_ONCE: usize = 1024;
    if bytes.is_empty() {
        return;
    }
    let many: Vec<u8> = bytes.iter().copied().cycle().take(bytes.len().max(AT_ONCE)).collect();
    let mut reader = Reader::default();
    let times = 1 + FRUITLESS_LIMIT / many.len();
    assert!((0..times).any(|_| reader.feed(&many).is_some()), "no end to {bytes:?}");
}

/// The flight in these bytes; `None` if it is incomplete or invalid.
fn second_reading(bytes: &[u8]) -> Option<Flight> {
    let (contents, change) = contents(bytes);
    let (length, mut messages) = (contents.len(), Fields(contents));
    let mut flight = Flight::default();
    loop {
        let kind = messages.number(1)?;
        let mut body = Fields(messages.field(3)?);
        match kind {
            2 => hello(&mut flight, &mut body)?,
            _ if flight.version == 0 => return None,
            11 => {
                let mut list = Fields(body.last_field(3)?);
                flight.certificates.clear();
                while !list.0.is_empty() {
                    flight.certificates.push(list.field(3)?);
                }
            }
            12 => key_exchange(&mut flight, &mut body)?,
            13 => flight.asks_for_certificate = true,
            14 => {}
            22 => {
                body.number(1)?;
                flight.staple = Some(body.last_field(3)?);
            }
            _ => return None,
        }
        let tls13 = flight.version == 0x0304;
        if !tls13 && change.is_some_and(|change| length - messages.0.len() > change) {
            return None;
        }
        if tls13 || kind == 14 {
            return Some(flight);
        }
    }
}

/// The contents of the handshake records, up to the first record that ends the handshake, and how
/// many of them come before the first ChangeCipherSpec.
fn contents(bytes: &[u8]) -> (Vec<u8>, Option<usize>) {
    let (mut records, mut contents) = (Fields(bytes.to_vec()), Vec::new());
    let mut change = None;
    let mut next = || {
        let kind = records.number(1).filter(|kind| [20, 21, 22].contains(kind))?;
        let version = records.number(2)?;
        let content = records.field(2).filter(|content| content.len() <= 18_432)?;
        (version >> 8 == 3).then_some((kind, content))
    };
    while let Some((kind, content)) = next() {
        match (kind, &content[..]) {
            (22, _) => contents.extend(content),
            // A warning, which does not end the connection.
            (21, [1, 1..=u8::MAX]) => {}
            (20, [1]) => change = change.or(Some(contents.len())),
            _ => break,
        }
    }
    (contents, change)
}

fn hello(flight: &mut Flight, body: &mut Fields) -> Option<()> {
    let legacy = body.number(2).filter(|version| (0x0300..=0x0303).contains(version))?;
    let random = body.take(32)?;
    body.field(1).filter(|session_id| session_id.len() <= 32)?;
    flight.suite = body.number(2)? as u16;
    flight.compression = body.number(1)? as u8;
    let none = legacy == 0x0300 || body.0.is_empty();
    let mut list = Fields(if none { Vec::new() } else { body.last_field(2)? });
    flight.extensions.clear();
    while !list.0.is_empty() {
        let number = list.number(2)? as u16;
        flight.extensions.push((number, list.field(2)?));
    }
    let content = |number| flight.extensions.iter().find(|one| one.0 == number).map(|one| &one.1);
    flight.version = match content(43) {
        Some(version) => u16::from_be_bytes(version.as_slice().try_into().ok()?),
        None => legacy as u16,
    };
    let share = content(51).map(|share| Fields(share.clone()).number(2));
    flight.retry = flight.version == 0x0304 && random == HELLO_RETRY_REQUEST;
    if flight.version == 0x0304 {
        flight.group = share.flatten().map(|group| group as u16);
    }
    Some(())
}

fn key_exchange(flight: &mut Flight, body: &mut Fields) -> Option<()> {
    const NAMED: usize = 3;
    match registry::suite(flight.suite)?.kx {
        TlsCipherKx::Ecdhe | TlsCipherKx::Ecdh | TlsCipherKx::Aecdh => {
            match body.number(1)? {
                NAMED => flight.group = Some(body.number(2)? as u16),
                // Prime, two coefficients, a point, its order and cofactor.
                1 => (0..6).try_for_each(|_| body.field(1).map(drop))?,
                _ => return None,
            }
            body.field(1)?;
        }
        TlsCipherKx::Dhe | TlsCipherKx::Dh => {
            flight.prime = Some(body.field(2)?);
            (0..2).try_for_each(|_| body.field(2).map(drop))?;
        }
        _ => return Some(()),
    }
    if flight.version == Protocol::Tls12.number() {
        flight.scheme = body.number(2).map(|scheme| scheme as u16).or(flight.scheme);
    }
    Some(())
}

/// Bytes from which fields are taken in order.
struct Fields(Vec<u8>);

impl Fields {
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        (length <= self.0.len()).then(|| self.0.drain(..length).collect())
    }

    fn number(&mut self, width: usize) -> Option<usize> {
        let bytes = self.take(width)?;
        Some(bytes.into_iter().fold(0, |number, byte| number * 256 + usize::from(byte)))
    }

    /// A field after its length of N bytes.
    fn field(&mut self, width: usize) -> Option<Vec<u8>> {
        let length = self.number(width)?;
        self.take(length)
    }

    /// The same, as the last field.
    fn last_field(&mut self, width: usize) -> Option<Vec<u8>> {
        self.field(width).filter(|_| self.0.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(width: usize, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_be_bytes();
        [&length[4 - width..], content].concat()
    }

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        [vec![kind, 3, 3], field(2, content)].concat()
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [vec![kind], field(3, body)].concat()
    }

    /// Valid message bodies, from which flights are composed.
    fn bodies() -> Vec<(u8, Vec<u8>)> {
        let hello = |suite: [u8; 2], extensions: &[u8]| {
            let start = [&[3, 3][..], &[7; 32], &[0], &suite, &[0]].concat();
            (2, [start, field(2, extensions)].concat())
        };
        let certificate = field(3, &[0x30, 0]);
        let (group, point) = ([3, 0, 23], field(1, &[4; 5]));
        let finite = [field(2, &[0, 0x7f, 1]), field(2, &[2]), field(2, &[9])].concat();
        vec![
            hello([0xc0, 0x2f], &[0xff, 1, 0, 1, 0]),
            hello([0, 0x9e], &[]),
            hello([0x13, 1], &[0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 29]),
            (11, field(3, &[&certificate[..], &certificate].concat())),
            (12, [&group[..], &point, &[4, 3, 0, 0]].concat()),
            (12, [&finite[..], &[8, 4, 0, 0]].concat()),
            (13, vec![]),
            (22, [&[1], &field(3, &[5, 6])[..]].concat()),
            (14, vec![]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4_000)
        })]

        #[test]
        fn answers_are_read_in_one_way_only(
            chosen in prop::collection::vec(prop::sample::select(bodies()), 0..6),
            joined in any::<bool>(),
            warned in any::<bool>(),
            changed in prop::option::of(0_usize..6),
            change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
            piece in 1_usize..40,
        ) {
            let messages: Vec<_> = chosen.iter().map(|(kind, body)| message(*kind, body)).collect();
            let mut records: Vec<_> = if joined {
                vec![record(22, &messages.concat())]
            } else {
                messages.iter().map(|message| record(22, message)).collect()
            };
            if let Some(place) = changed {
                records.insert(place.min(records.len()), record(20, &[1]));
            }
            let mut bytes = if warned { record(21, &[1, 112]) } else { Vec::new() };
            bytes.extend(records.concat());
            if let Some((place, byte)) = change.filter(|_| !bytes.is_empty()) {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            hold_answer(&bytes, piece);
        }
    }

    #[test]
    fn right_flights_are_flights_and_an_end_comes_to_what_is_none() {
        let bodies = bodies();
        for chosen in [&[0, 3, 7, 4, 6, 8][..], &[1, 3, 5, 8], &[2]] {
            let bytes: Vec<u8> = chosen
                .iter()
                .flat_map(|place| record(22, &message(bodies[*place].0, &bodies[*place].1)))
                .collect();
            assert!(hold_answer(&bytes, 3), "{chosen:?}");
            hold_end(&bytes[..bytes.len() - 1]);
        }
        hold_end(&record(21, &[1, 112]));
    }
}

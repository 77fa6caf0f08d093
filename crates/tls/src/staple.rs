//! Checks a stapled OCSP response (RFC 6066, section 8; RFC 6960, section 4.2).
//!
//! Every client checks on every full handshake that the response is one in DER, successful and of
//! the basic type. A connection that authenticates the server also checks that the response has an
//! answer for the serial number of the server's certificate, that the answer is `good`, and that
//! its time has not passed. The responder's signature, and the hashes of the issuer's name and key,
//! are not checked: a load test asks whether the server staples what it should, not whom to trust.

use std::cell::Cell;
use std::fmt;

/// The alert `bad_certificate_status_response` (RFC 6066, section 8).
pub const BAD_STATUS_RESPONSE: u8 = 113;

/// How far the clocks of a responder and of this machine may be apart, in seconds, as in OpenSSL's
/// `ocsp` command.
const SKEW: i64 = 300;

/// Tags of DER (X.690, section 8.1.2).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const ENUMERATED: u8 = 0x0a;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// Fields [0], [1] and [2] of constructed types; `good` and `unknown` are primitive.
const FIRST: u8 = 0xa0;
const SECOND: u8 = 0xa1;
const THIRD: u8 = 0xa2;
const GOOD: u8 = 0x80;
const UNKNOWN: u8 = 0x82;

/// id-pkix-ocsp-basic (RFC 6960, section 4.2.1).
const OCSP_BASIC: [u8; 9] = [0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];

/// Why a response is refused, in words that complete "the stapled OCSP response".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stapled OCSP response {}", self.0)
    }
}

const MALFORMED: Refused = Refused("is malformed");

/// A response's answer for one certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer<'r> {
    serial_number: &'r [u8],
    /// The tag of the status.
    status: u8,
    /// The times between which the answer holds, in seconds since 1970.
    from: i64,
    to: Option<i64>,
}

thread_local! {
    static WHY: Cell<&'static str> = const { Cell::new("") };
}

/// The words of the last refusal on this thread. rustls passes a verifier's refusal on without
/// them.
pub fn last_refusal() -> &'static str {
    WHY.get()
}

/// Checks the form of a response.
pub fn check_form(response: &[u8]) -> Result<(), Refused> {
    for_each_answer(response, |_| {}).map_err(noted)
}

/// Checks that a response says that this certificate, DER, is good at this time in seconds since
/// 1970.
pub fn check(response: &[u8], certificate: &[u8], now: i64) -> Result<(), Refused> {
    let mut found = None;
    let own = serial_number(certificate);
    for_each_answer(response, |answer| {
        // Certificates of two issuers may have one serial number: the worst answer counts.
        if Some(answer.serial_number) == own && !matches!(found, Some(Err(_))) {
            found = Some(judge(&answer, now));
        }
    })
    .map_err(noted)?;
    found.unwrap_or(Err(Refused("is for another certificate"))).map_err(noted)
}

fn noted(refused: Refused) -> Refused {
    WHY.set(refused.0);
    refused
}

fn judge(answer: &Answer<'_>, now: i64) -> Result<(), Refused> {
    match answer.status {
        GOOD if now + SKEW < answer.from => Err(Refused("is not valid yet")),
        GOOD if answer.to.is_some_and(|to| to + SKEW < now) => Err(Refused("has expired")),
        GOOD => Ok(()),
        UNKNOWN => Err(Refused("does not know the certificate")),
        _ => Err(Refused("says that the certificate is revoked")),
    }
}

/// Reads an OCSPResponse with its BasicOCSPResponse.
fn for_each_answer<'r>(
    response: &'r [u8],
    mut take: impl FnMut(Answer<'r>),
) -> Result<(), Refused> {
    let response = only(SEQUENCE, response).ok_or(MALFORMED)?;
    let (status, rest) = value(ENUMERATED, response).ok_or(MALFORMED)?;
    match status {
        [0] => {}
        [1..=3 | 5 | 6] => return Err(Refused("is an error of the responder")),
        _ => return Err(MALFORMED),
    }
    let bytes = only(FIRST, rest).and_then(|bytes| only(SEQUENCE, bytes)).ok_or(MALFORMED)?;
    let (kind, content) = value(OBJECT_IDENTIFIER, bytes).ok_or(MALFORMED)?;
    if kind != OCSP_BASIC {
        return Err(Refused("is of an unknown type"));
    }
    let answers = basic(content).ok_or(MALFORMED)?;
    let mut rest = answers;
    while !rest.is_empty() {
        let (one, behind) = value(SEQUENCE, rest).ok_or(MALFORMED)?;
        take(answer(one).ok_or(MALFORMED)?);
        rest = behind;
    }
    if answers.is_empty() { Err(Refused("has no answer")) } else { Ok(()) }
}

/// The list of answers of a BasicOCSPResponse in its OCTET STRING.
fn basic(content: &[u8]) -> Option<&[u8]> {
    let (data, rest) = value(SEQUENCE, only(SEQUENCE, only(OCTET_STRING, content)?)?)?;
    let (_algorithm, rest) = value(SEQUENCE, rest)?;
    let (_signature, rest) = value(BIT_STRING, rest)?;
    if !rest.is_empty() {
        only(SEQUENCE, only(FIRST, rest)?)?;
    }
    let (_version, data) = optional(FIRST, data)?;
    let (_responder, data) = value(SECOND, data).or_else(|| value(THIRD, data))?;
    let (produced, data) = value(GENERALIZED_TIME, data)?;
    seconds(produced)?;
    let (answers, data) = value(SEQUENCE, data)?;
    let (_extensions, data) = optional(SECOND, data)?;
    data.is_empty().then_some(answers)
}

/// A SingleResponse.
fn answer(content: &[u8]) -> Option<Answer<'_>> {
    let (id, rest) = value(SEQUENCE, content)?;
    let (_hash, id) = value(SEQUENCE, id)?;
    let (_name, id) = value(OCTET_STRING, id)?;
    let (_key, id) = value(OCTET_STRING, id)?;
    let serial_number = only(INTEGER, id)?;
    let status = *rest.first()?;
    let (_, rest) = [GOOD, SECOND, UNKNOWN].into_iter().find_map(|tag| value(tag, rest))?;
    let (from, rest) = value(GENERALIZED_TIME, rest)?;
    let (to, rest) = optional(FIRST, rest)?;
    let to = match to {
        Some(to) => Some(seconds(only(GENERALIZED_TIME, to)?)?),
        None => None,
    };
    let (_extensions, rest) = optional(SECOND, rest)?;
    rest.is_empty().then_some(Answer { serial_number, status, from: seconds(from)?, to })
}

/// The serial number of a certificate (RFC 5280, section 4.1).
fn serial_number(certificate: &[u8]) -> Option<&[u8]> {
    let (signed, _) = value(SEQUENCE, only(SEQUENCE, certificate)?)?;
    let (_version, signed) = optional(FIRST, signed)?;
    value(INTEGER, signed).map(|(number, _)| number)
}

/// The content of a value with this tag, and the bytes after it. `None` for another tag, and for a
/// length that is not in DER.
fn value(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    if length < 0x80 {
        return rest.split_at_checked(usize::from(length));
    }
    let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
    let is_short = digits.len() <= 3 && digits.first().is_some_and(|first| *first != 0);
    let digits = digits.iter().take(3);
    let length = digits.fold(0, |length, digit| length << 8 | usize::from(*digit));
    (is_short && length >= 0x80).then(|| rest.split_at_checked(length))?
}

/// As [`value`]; nothing may follow.
fn only(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    value(tag, bytes).and_then(|(content, rest)| rest.is_empty().then_some(content))
}

/// As [`value`], if the next value has this tag.
fn optional(tag: u8, bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if bytes.first() != Some(&tag) {
        return Some((None, bytes));
    }
    value(tag, bytes).map(|(content, rest)| (Some(content), rest))
}

/// The seconds since 1970 of a time as DER has it in certificates: `YYYYMMDDHHMMSSZ` (RFC 5280,
/// section 4.1.2.5.2).
fn seconds(time: &[u8]) -> Option<i64> {
    let digits = time.strip_suffix(b"Z").filter(|digits| digits.len() == 14)?;
    let mut numbers = [0; 7];
    for (number, pair) in numbers.iter_mut().zip(digits.chunks_exact(2)) {
        *number = str::from_utf8(pair).ok()?.parse::<u8>().map(i64::from).ok()?;
    }
    let [century, year, month, day, hour, minute, second] = numbers;
    let is_time = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
    if !is_time || minute >= 60 || second > 60 {
        return None;
    }
    // Days from the civil calendar; a year begins in March, so that its last day is a leap day.
    let year = century * 100 + year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tlslab_testkit::{ocsp_response, ocsp_response_until};

    /// A certificate as far as its serial number, which is 1.
    const CERTIFICATE: &[u8] = &[0x30, 10, 0x30, 8, 0xa0, 3, 2, 1, 2, 2, 1, 1];
    const NOW: i64 = 1_800_000_000;

    fn said(response: &[u8]) -> Result<(), &'static str> {
        check(response, CERTIFICATE, NOW).map_err(|refused| refused.0)
    }

    #[test]
    fn a_response_says_good_for_the_certificate_and_for_now() {
        let right = ocsp_response(&[], 64);
        assert_eq!((said(&right), check_form(&right)), (Ok(()), Ok(())));
        let of = |until: &str, status| ocsp_response_until(until, &[status], &[], 64);
        let later = "20991231235959Z";
        assert_eq!(said(&of("20210101000000Z", GOOD)), Err("has expired"));
        assert_eq!(said(&of(later, SECOND)), Err("says that the certificate is revoked"));
        assert_eq!(said(&of(later, UNKNOWN)), Err("does not know the certificate"));
        assert_eq!(check_form(&of("20210101000000Z", SECOND)), Ok(()));
        // The worst of several answers counts, whatever their order.
        for statuses in [[SECOND, GOOD], [GOOD, SECOND]] {
            let several = ocsp_response_until(later, &statuses, &[], 64);
            assert_eq!(said(&several), Err("says that the certificate is revoked"));
        }
        assert_eq!(said(&ocsp_response_until(later, &[GOOD, GOOD], &[], 64)), Ok(()));
        let other = [&CERTIFICATE[..11], &[9]].concat();
        assert_eq!(check(&right, &other, NOW), Err(Refused("is for another certificate")));
        assert_eq!(check(&right, CERTIFICATE, 0), Err(Refused("is not valid yet")));
        assert_eq!(said(&[0x30, 3, 0x0a, 1, 3]), Err("is an error of the responder"));
        assert_eq!(last_refusal(), "is an error of the responder");
        for length in 0..right.len() {
            assert_eq!(said(&right[..length]), Err("is malformed"), "{length}");
        }
    }

    #[test]
    fn times_are_read_as_the_calendar_has_them() {
        for (time, expected) in [
            ("19700101000000Z", Some(0)),
            ("20000229235959Z", Some(951_868_799)),
            ("20260301000000Z", Some(1_772_323_200)),
            ("20991231235959Z", Some(4_102_444_799)),
            ("20261301000000Z", None),
            ("20260301000000", None),
            ("2026030100000+Z", None),
        ] {
            assert_eq!(seconds(time.as_bytes()), expected, "{time}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_random_ones_are_no_response(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            place in 0_usize..160,
            byte in any::<u8>(),
        ) {
            prop_assert!(check_form(&bytes).is_err());
            let mut edited = ocsp_response(&[], 4);
            edited[place] = byte;
            let _ = check(&edited, CERTIFICATE, NOW);
        }
    }
}

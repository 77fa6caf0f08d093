//! The subset of DER (X.690) that is needed to write invalid data into a certificate.

/// The tag of a SEQUENCE.
pub const SEQUENCE: u8 = 0x30;

/// The tag of a BIT STRING.
pub const BIT_STRING: u8 = 0x03;

/// The tag of a UTF8String.
pub const UTF8_STRING: u8 = 0x0c;

/// The tag of a T61String, whose bytes are not checked.
pub const T61_STRING: u8 = 0x14;

/// The tags of INTEGER, ENUMERATED, OBJECT IDENTIFIER, OCTET STRING and GeneralizedTime, and of the
/// first and second explicit field; the status `good`.
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const GENERALIZED_TIME: u8 = 0x18;
const FIRST: u8 = 0xa0;
const SECOND: u8 = 0xa1;
const GOOD: u8 = 0x80;

/// The object identifier of a basic OCSP response: id-pkix-ocsp-basic.
const OCSP_BASIC: [u8; 9] = [0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];

/// An OCSP response (RFC 6960, section 4.2.1) that says until 2099 that this certificate, DER, is
/// good, with a meaningless signature of N bytes. OpenSSL's server staples no other, by serial
/// number and issuer. Without a certificate, the response is for the serial number 1.
pub fn ocsp_response(certificate: &[u8], length: usize) -> Vec<u8> {
    ocsp_response_until("20991231235959Z", &[GOOD], certificate, length)
}

/// As [`ocsp_response`], with the end of its time, and an answer for each tag of a status.
pub fn ocsp_response_until(
    until: &str,
    statuses: &[u8],
    certificate: &[u8],
    length: usize,
) -> Vec<u8> {
    let (serial_number, issuer) = match certificate {
        [] => (value(INTEGER, &[1]), Vec::new()),
        // Version, serial number, signature algorithm, issuer (RFC 5280, section 4.1).
        _ => {
            let fields = parts(content(&parts(content(certificate))[0]));
            (fields[1].clone(), fields[3].clone())
        }
    };
    let algorithm = value(SEQUENCE, &value(OBJECT_IDENTIFIER, &[0x2b, 0x65, 0x70]));
    let sha1 = value(SEQUENCE, &value(OBJECT_IDENTIFIER, &[0x2b, 0x0e, 3, 2, 0x1a]));
    let name_hash = value(OCTET_STRING, &openssl::sha::sha1(&issuer));
    let key_hash = value(OCTET_STRING, &[7; 20]);
    let id = value(SEQUENCE, &[sha1, name_hash, key_hash, serial_number].concat());
    let time = |time: &str| value(GENERALIZED_TIME, time.as_bytes());
    let times = [time("20200101000000Z"), value(FIRST, &time(until))].concat();
    let one =
        |status: &u8| value(SEQUENCE, &[id.clone(), value(*status, &[]), times.clone()].concat());
    let all: Vec<u8> = statuses.iter().flat_map(one).collect();
    let responder = value(SECOND, &value(SEQUENCE, &[]));
    let answers = [responder, time("20200101000000Z"), value(SEQUENCE, &all)].concat();
    let signature = value(BIT_STRING, &[&[0][..], &vec![7; length]].concat());
    let basic = [value(SEQUENCE, &answers), algorithm, signature].concat();
    let number = value(OBJECT_IDENTIFIER, &OCSP_BASIC);
    let content = value(OCTET_STRING, &value(SEQUENCE, &basic));
    let response = value(FIRST, &value(SEQUENCE, &[number, content].concat()));
    value(SEQUENCE, &[value(ENUMERATED, &[0]), response].concat())
}

/// A value with its tag and length.
pub fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let digits = content.len().to_be_bytes();
    let digits = &digits[digits.iter().take_while(|digit| **digit == 0).count()..];
    let length = match content.len() {
        short @ ..0x80 => vec![u8::try_from(short).unwrap()],
        _ => [&[0x80 | u8::try_from(digits.len()).unwrap()], digits].concat(),
    };
    [&[tag], &length[..], content].concat()
}

/// The content of a value.
pub fn content(value: &[u8]) -> &[u8] {
    &value[header(value).0..]
}

/// Consecutive values, each with its tag and length.
pub fn parts(mut values: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while !values.is_empty() {
        let (header, length) = header(values);
        let (part, rest) = values.split_at(header + length);
        parts.push(part.to_vec());
        values = rest;
    }
    parts
}

/// The bytes with every occurrence of `old` replaced by `new`, which has the same length.
pub fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..=bytes.len() - old.len() {
        if bytes[at..].starts_with(old) {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
    bytes
}

/// The length of a value's tag and length fields, and the length of its content.
fn header(value: &[u8]) -> (usize, usize) {
    match usize::from(value[1]) {
        short @ ..0x80 => (2, short),
        long => {
            let digits = &value[2..2 + (long & 0x7f)];
            (2 + digits.len(), digits.iter().fold(0, |sum, d| sum << 8 | usize::from(*d)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_length_are_written_and_read() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let bytes = vec![7; length];
            let written = value(SEQUENCE, &bytes);
            assert_eq!(content(&written), bytes);
            assert_eq!(parts(&[written.clone(), written.clone()].concat()), [&written[..]; 2]);
        }
    }

    #[test]
    fn every_occurrence_is_replaced() {
        assert_eq!(replaced(b"abcabc", b"bc", b"xy"), b"axyaxy");
    }
}

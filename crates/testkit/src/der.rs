//! The subset of DER (X.690) that is needed to write invalid data into a certificate.

/// The tag of a SEQUENCE.
pub const SEQUENCE: u8 = 0x30;

/// The tag of a BIT STRING.
pub const BIT_STRING: u8 = 0x03;

/// The tag of a UTF8String.
pub const UTF8_STRING: u8 = 0x0c;

/// The tag of a T61String, whose bytes are not checked.
pub const T61_STRING: u8 = 0x14;

/// The tags of ENUMERATED, OBJECT IDENTIFIER and OCTET STRING, and of the first explicit field.
const ENUMERATED: u8 = 0x0a;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const FIRST: u8 = 0xa0;

/// The object identifier of a basic OCSP response: id-pkix-ocsp-basic.
const OCSP_BASIC: [u8; 9] = [0x2b, 6, 1, 5, 5, 7, 0x30, 1, 1];

/// An OCSP response with the status `successful` (RFC 6960, section 4.2.1) and N bytes of
/// meaningless content.
pub fn ocsp_response(length: usize) -> Vec<u8> {
    let number = value(OBJECT_IDENTIFIER, &OCSP_BASIC);
    let content = value(OCTET_STRING, &vec![7; length]);
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

//! Checks whether a response's body is the expected one.

use crate::reason::Reason;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

/// The supported algorithm in a Repr-Digest field (RFC 9530, section 3).
const ALGORITHM: &str = "sha-256";

/// The highest length of a Repr-Digest field that is read, in bytes.
const FIELD_LIMIT: usize = 1024;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The processing of bodies, beyond counting their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BodyRule {
    /// No check.
    #[default]
    Count,
    /// Keep length, digest (if `hash`) and Server field, as the expectation for other responses.
    Learn {
        /// Whether to compute the digest.
        hash: bool,
    },
    /// The body must have this length in bytes.
    Length(u64),
    /// The body must have the digest in its own Repr-Digest field or, without the field, this one.
    Hash(Hash),
}

impl BodyRule {
    /// True if the digest of bodies is needed.
    fn hashes(self) -> bool {
        matches!(self, Self::Learn { hash: true } | Self::Hash(_))
    }

    /// True if the properties of the response are kept.
    pub fn learns(self) -> bool {
        matches!(self, Self::Learn { .. })
    }
}

/// Counts and checks one body.
#[derive(Debug, Default)]
pub struct BodyMeter {
    /// Bytes of the body so far.
    pub bytes: u64,
    rule: BodyRule,
    hasher: Option<Sha256>,
    stated: Option<Hash>,
}

impl BodyMeter {
    /// A meter for this rule.
    pub fn new(rule: BodyRule) -> Self {
        let hasher = rule.hashes().then(Sha256::new);
        Self { bytes: 0, rule, hasher, stated: None }
    }

    /// The rule for the body.
    pub fn rule(&self) -> BodyRule {
        self.rule
    }

    /// Processes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
    }

    /// Stores the digest in a Repr-Digest field, if digests are needed.
    pub fn state(&mut self, field: &[u8]) {
        if self.hasher.is_some() {
            self.stated = stated_digest(field);
        }
    }

    /// The digest of a complete body, if it was computed.
    pub fn digest(&self) -> Option<Hash> {
        self.hasher.as_ref().map(|hasher| hasher.clone().finalize().into())
    }

    /// True if a complete body meets the rule.
    pub fn holds(&self) -> bool {
        match self.rule {
            BodyRule::Count => true,
            BodyRule::Length(length) => self.bytes == length,
            BodyRule::Learn { .. } => self.stated.is_none() || self.stated == self.digest(),
            BodyRule::Hash(expected) => self.digest() == Some(self.stated.unwrap_or(expected)),
        }
    }

    /// The reason why a complete body does not meet the rule.
    pub fn fault(&self) -> Reason {
        let name = match self.rule {
            BodyRule::Length(_) => "another length than that of the first response",
            _ if self.stated.is_some() => "another digest than its Repr-Digest field states",
            _ => "another digest than that of the first response",
        };
        let words = match self.rule {
            BodyRule::Length(length) => format!("{} bytes in place of {length}", self.bytes),
            _ => format!("{} bytes", self.bytes),
        };
        Reason::named(name).with(words)
    }
}

/// The digest in lower-case hexadecimal, as in records.
pub fn hexadecimal(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses the output of [`hexadecimal`].
pub fn from_hexadecimal(text: &str) -> Option<Hash> {
    let digit = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len() / 2).map(digit).collect();
    bytes?.try_into().ok()
}

/// The SHA-256 digest in a dictionary such as `sha-256=:BASE64:, sha-512=:...:`; `None` without a
/// valid one.
fn stated_digest(field: &[u8]) -> Option<Hash> {
    let text = str::from_utf8(field.get(..field.len().min(FIELD_LIMIT))?).ok()?;
    let member = text.split(',').map(str::trim).find_map(|member| {
        let (name, value) = member.split_once('=')?;
        name.eq_ignore_ascii_case(ALGORITHM).then_some(value)
    })?;
    let encoded = member.split(';').next()?.trim().strip_prefix(':')?.strip_suffix(':')?;
    BASE64_STANDARD.decode(encoded).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // printf abc | openssl dgst -sha256 -binary | base64
    const ABC: &[u8] = b"sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:";

    fn meter(rule: BodyRule, field: &[u8], body: &[u8]) -> BodyMeter {
        let mut meter = BodyMeter::new(rule);
        meter.state(field);
        body.iter().for_each(|byte| meter.take(&[*byte]));
        meter
    }

    #[test]
    fn a_digest_is_found_among_others() {
        let abc = meter(BodyRule::Learn { hash: true }, b"", b"abc").digest();
        assert!(abc.is_some());
        assert_eq!(stated_digest(ABC), abc);
        assert_eq!(abc.as_ref().map(hexadecimal).as_deref().and_then(from_hexadecimal), abc);
        assert_eq!(stated_digest(&[b"sha-512=:AAAA:, ".to_vec(), ABC.to_vec()].concat()), abc);
        for wrong in [&b""[..], b"sha-256", b"sha-256=:AAAA:", b"sha-256=AAAA", b"\xff=:A:"] {
            assert_eq!(stated_digest(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn a_body_is_held_against_what_its_own_response_states() {
        let learnt = meter(BodyRule::Learn { hash: true }, b"", b"abc").digest().unwrap();
        let rule = BodyRule::Hash(learnt);
        assert!(meter(rule, b"", b"abc").holds());
        assert!(!meter(rule, b"", b"abd").holds());
        assert!(meter(BodyRule::Hash([0; 32]), ABC, b"abc").holds());
        assert!(!meter(rule, ABC, b"abd").holds());
        assert!(!meter(BodyRule::Learn { hash: true }, ABC, b"abd").holds());
    }

    #[test]
    fn lengths_are_compared_and_nothing_else() {
        assert!(meter(BodyRule::Length(3), ABC, b"xyz").holds());
        assert!(!meter(BodyRule::Length(3), b"", b"xy").holds());
        assert!(!meter(BodyRule::Length(3), b"", b"wxyz").holds());
        assert!(meter(BodyRule::Count, ABC, b"xy").holds());
    }
}

//! Why a connection failed, more exactly than its class says.
//!
//! Records are compared by classes, of which there are few. The reason beside a class helps a person to
//! find the fault: which rule a server broke, which alert it got for that, which status it answered
//! with. Reasons are limited in number and length, and hold no control characters.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sanitize::sanitize;

/// The most characters of a reason.
pub const REASON_LIMIT: usize = 120;

/// The most characters of the words on a single connection.
pub const WORDS_LIMIT: usize = 240;

/// The most reasons that a record tells apart; what is beyond is counted as [`OTHER`].
pub const REASONS_LIMIT: usize = 32;

/// The most connections of one reason that are kept as examples: the first.
pub const EXAMPLES_LIMIT: usize = 3;

/// The reason of connections without a reason of their own, or with one beyond [`REASONS_LIMIT`].
pub const OTHER: &str = "other";

/// Why one connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The reason that connections are counted by: the same for all that failed alike.
    pub name: Cow<'static, str>,
    /// Details of this one connection, in words; often empty.
    pub words: Cow<'static, str>,
}

impl Reason {
    /// A reason without details.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), words: "".into() }
    }

    /// The same, with these words on the connection at hand.
    pub fn with(self, words: impl Into<Cow<'static, str>>) -> Self {
        Self { words: words.into(), ..self }
    }

    /// By the alert that the peer gets for it (RFC 8446, section 6.2): `decode_error (the ServerHello
    /// is cut short)`.
    pub fn alerted(alert: &str, words: &str) -> Self {
        Self::named(format!("{alert} ({words})"))
    }

    /// The reason cut to the limits, and without control characters.
    pub fn bounded(&self) -> Self {
        let cut = |text: &str, limit| Cow::Owned(sanitize(text, limit));
        Self { name: cut(&self.name, REASON_LIMIT), words: cut(&self.words, WORDS_LIMIT) }
    }

    /// The reason and the words, for an error of one line.
    pub fn in_one_line(&self) -> String {
        let Self { name, words } = self.bounded();
        match (&*name, &*words) {
            (_, "") => name.into_owned(),
            (name, words) if words.contains(name) => words.to_owned(),
            (name, words) => format!("{name}: {words}"),
        }
    }
}

/// How many connections failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedReason {
    /// The class under which they are counted in `failed` or `unexpected`.
    pub class: String,
    /// The reason; `other` for those of the class that have none, or one too many.
    pub reason: String,
    /// Connections.
    pub count: u64,
    /// The first of them, a few.
    pub examples: Vec<Example>,
}

/// One connection that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// Its TCP port on this machine, to find it in a capture or in the server's log; 0 for none.
    pub local_port: u16,
    /// What is known of it beyond the reason; empty for nothing.
    pub words: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_and_cannot_drive_the_terminal() {
        let long = "\u{1b}[2J".to_owned() + &"x".repeat(1000);
        let reason = Reason::named(long.clone()).with(long).bounded();
        assert_eq!(reason.name.chars().count(), REASON_LIMIT);
        assert_eq!(reason.words.chars().count(), WORDS_LIMIT);
        assert!(!reason.name.contains('\u{1b}') && !reason.words.contains('\u{1b}'));
    }

    #[test]
    fn one_line_says_nothing_twice() {
        let named = Reason::named("protocol_error");
        assert_eq!(named.in_one_line(), "protocol_error");
        assert_eq!(named.clone().with("too much").in_one_line(), "protocol_error: too much");
        assert_eq!(named.with("a protocol_error").in_one_line(), "a protocol_error");
    }
}

//! Causes of failures, in more detail than the failure class.
//!
//! Records are compared by the few classes. The reason within a class helps a person to find the
//! fault: the rule that a server broke, the alert for it, the status of the answer. Reasons are
//! limited in number and length, and contain no control characters.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sanitize::sanitize;

/// The highest length of a reason, in characters.
pub const REASON_LIMIT: usize = 120;

/// The highest length of the details of a single connection, in characters.
pub const WORDS_LIMIT: usize = 240;

/// The highest number of reasons in a record; further ones are counted as [`OTHER`].
pub const REASONS_LIMIT: usize = 32;

/// The number of example connections kept per reason: the first ones.
pub const EXAMPLES_LIMIT: usize = 3;

/// The reason of connections without a known reason, or with a reason beyond [`REASONS_LIMIT`].
pub const OTHER: &str = "other";

/// The cause of one connection's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The reason under which connections are counted: equal for equal causes.
    pub name: Cow<'static, str>,
    /// Details of this connection; often empty.
    pub words: Cow<'static, str>,
}

impl Reason {
    /// A reason without details.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), words: "".into() }
    }

    /// The same reason with these details of the connection.
    pub fn with(self, words: impl Into<Cow<'static, str>>) -> Self {
        Self { words: words.into(), ..self }
    }

    /// A reason named by the alert that the peer receives (RFC 8446, section 6.2): `decode_error
    /// (the ServerHello is cut short)`.
    pub fn alerted(alert: &str, words: &str) -> Self {
        Self::named(format!("{alert} ({words})"))
    }

    /// The reason, shortened to the limits and without control characters.
    pub fn bounded(&self) -> Self {
        let cut = |text: &str, limit| Cow::Owned(sanitize(text, limit));
        Self { name: cut(&self.name, REASON_LIMIT), words: cut(&self.words, WORDS_LIMIT) }
    }

    /// Reason and details for a one-line error.
    pub fn in_one_line(&self) -> String {
        let Self { name, words } = self.bounded();
        match (&*name, &*words) {
            (_, "") => name.into_owned(),
            (name, words) if words.contains(name) => words.to_owned(),
            (name, words) => format!("{name}: {words}"),
        }
    }
}

/// The number of connections that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedReason {
    /// The class under which these connections are counted in `failed` or `unexpected`.
    pub class: String,
    /// The reason; `other` for connections of the class without one, or beyond the limit of
    /// reasons.
    pub reason: String,
    /// Number of connections.
    pub count: u64,
    /// The first few of these connections.
    pub examples: Vec<Example>,
}

/// One failed connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// The connection's local TCP port, for a search in a capture or in the server's log; 0 if
    /// none.
    pub local_port: u16,
    /// Details beyond the reason; may be empty.
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

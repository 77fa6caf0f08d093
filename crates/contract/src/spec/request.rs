//! The contents of a request and the expected statuses: parts of [`HttpSpec`](super::HttpSpec).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tlslab_wire::http::StatusSet;

/// The highest number of header fields.
pub const FIELDS_LIMIT: usize = 64;

/// The highest length of a header field in bytes. Servers commonly allow 8 KiB for a whole head.
const FIELD_LIMIT: usize = 4 * 1024;

/// The highest length of a request body in bytes.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// The highest number of URLs in a run.
pub const PATHS_LIMIT: usize = 1_000;
/// The highest sum of the URLs' weights. The order of requests is a table of that length.
pub const WEIGHTS_LIMIT: u32 = 100_000;

/// Header fields that frame the message or control the connection (RFC 9112, sections 6 and 9; RFC
/// 9113, section 8.2.2). The engine sets them, so a specification may not.
const OF_THE_RUN: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A header field. It replaces the program's own field of that name (`Host`, `User-Agent`,
/// `Accept`). An empty value removes that field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderField {
    /// The field name.
    pub name: String,
    /// The field value.
    pub value: String,
}

/// The body of every request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    /// Text, in UTF-8.
    Text(String),
    /// Any bytes, in base64.
    Base64(String),
}

/// One of several URLs of the origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedPath {
    /// Path and query, beginning with `/`.
    pub path: String,
    /// The weight of this path: its share of the requests relative to the other weights.
    #[serde(default = "one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

/// The statuses of a successful response: `2xx`, `302`, `any`, or several separated by commas:
/// `2xx,302,401`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ExpectStatus {
    text: String,
    set: StatusSet,
}

impl ExpectStatus {
    /// The set of these statuses.
    pub fn set(&self) -> StatusSet {
        self.set
    }
}

impl Default for ExpectStatus {
    fn default() -> Self {
        Self { text: "2xx".to_owned(), set: StatusSet::default() }
    }
}

impl From<ExpectStatus> for String {
    fn from(statuses: ExpectStatus) -> Self {
        statuses.text
    }
}

impl TryFrom<String> for ExpectStatus {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wanted = || {
            let shown: String = text.chars().take(40).collect();
            format!("'{shown}' names no statuses; write 2xx, 302, any, or several: 2xx,302,401")
        };
        let mut set = StatusSet::EMPTY;
        for part in text.split(',').map(str::trim) {
            let bytes = part.as_bytes();
            let range = match bytes {
                b"any" => 200..600,
                [class @ b'2'..=b'5', b'x', b'x'] => {
                    let first = u16::from(class - b'0') * 100;
                    first..first + 100
                }
                [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9'] => {
                    let status: u16 = part.parse().map_err(|_| wanted())?;
                    status..status + 1
                }
                _ => return Err(wanted()),
            };
            range.for_each(|status| set.add(status));
        }
        Ok(Self { text, set })
    }
}

impl std::str::FromStr for ExpectStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::try_from(text.to_owned())
    }
}

impl RequestBody {
    /// The bytes of the body. `None` if the text is not valid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.as_bytes().to_vec()),
            Self::Base64(text) => BASE64_STANDARD.decode(text).ok(),
        }
    }
}

impl From<Vec<u8>> for RequestBody {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(BASE64_STANDARD.encode(error.as_bytes())),
        }
    }
}

impl HeaderField {
    /// The fault of an invalid field; `None` if the field is valid.
    pub(super) fn fault(&self) -> Option<String> {
        let shown: String = self.name.chars().take(40).collect();
        if !is_token(&self.name) {
            return Some(format!("'{shown}' is not the name of a header field"));
        }
        if self.name.len() + self.value.len() > FIELD_LIMIT {
            return Some(format!("{shown} is longer than {FIELD_LIMIT} bytes"));
        }
        if self.value.chars().any(|c| c.is_control() && c != '\t') {
            return Some(format!("the value of {shown} holds a control character"));
        }
        let of_the_run = OF_THE_RUN.iter().any(|name| self.name.eq_ignore_ascii_case(name));
        of_the_run.then(|| format!("{shown} is set by the run itself, and cannot be given"))
    }
}

/// True for a token (RFC 9110, section 5.6.2) of at most 64 bytes.
pub(super) fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_a_class_a_number_any_or_a_list() {
        let set = |text: &str| text.parse::<ExpectStatus>().unwrap().set();
        let has = |text: &str, status: u16| set(text).contains(status);
        assert!(has("2xx", 200) && has("2xx", 299) && !has("2xx", 302) && !has("2xx", 199));
        assert!(has("302", 302) && !has("302", 301) && !has("302", 200));
        assert!(has("any", 200) && has("any", 599) && !has("any", 101) && !has("any", 999));
        assert!(has("2xx, 302,401", 401) && has("2xx, 302,401", 204));
        for wrong in ["", "200-299", "1xx", "2x", "600", "2xx,", "all", "101"] {
            let error = wrong.parse::<ExpectStatus>().unwrap_err();
            assert!(error.contains("write 2xx, 302, any"), "{wrong}: {error}");
        }
        assert_eq!(ExpectStatus::default(), "2xx".parse().unwrap());
        assert_eq!(serde_json::to_string(&ExpectStatus::default()).unwrap(), "\"2xx\"");
    }

    #[test]
    fn a_field_cannot_smuggle() {
        let fault = |name: &str, value: &str| {
            HeaderField { name: name.to_owned(), value: value.to_owned() }.fault()
        };
        assert_eq!(fault("X-A", "b c\tü"), None);
        assert_eq!(fault("Host", "a"), None);
        for (name, value) in [
            ("", "a"),
            ("a b", "c"),
            ("a:", "b"),
            ("X", "a\r\nEvil: 1"),
            ("X", "\u{85}"),
            ("Content-Length", "1"),
            ("transfer-encoding", "chunked"),
        ] {
            assert!(fault(name, value).is_some(), "{name}: {value}");
        }
    }

    #[test]
    fn a_body_is_text_where_it_can_be() {
        assert_eq!(RequestBody::from(b"a=1".to_vec()), RequestBody::Text("a=1".to_owned()));
        let binary = RequestBody::from(vec![0xff, 0]);
        assert_eq!(binary, RequestBody::Base64("/wA=".to_owned()));
        assert_eq!(binary.bytes(), Some(vec![0xff, 0]));
        assert_eq!(RequestBody::Base64("!".to_owned()).bytes(), None);
    }
}

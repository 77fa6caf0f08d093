//! The Date header (RFC 9110, section 6.6.1), formatted once a second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The Date value, kept until its second is over.
#[derive(Debug, Default)]
pub(super) struct HttpDate {
    second: u64,
    text: String,
}

impl HttpDate {
    /// The current date.
    pub fn now(&mut self) -> &str {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.at(since.as_secs())
    }

    /// The date N seconds after the start of 1970.
    fn at(&mut self, second: u64) -> &str {
        if self.second != second || self.text.is_empty() {
            self.second = second;
            self.text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_written_as_there() {
        let mut date = HttpDate::default();
        assert_eq!(date.at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date.at(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
    }
}

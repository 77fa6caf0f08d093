//! The Date header (RFC 9110, section 6.6.1), formatted once a second.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The date as HTTP writes it, kept until its second is over.
#[derive(Debug, Default)]
pub(super) struct HttpDate {
    second: i64,
    text: String,
}

impl HttpDate {
    /// The date now.
    pub fn now(&mut self) -> &str {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.at(since.as_secs() as i64)
    }

    /// The date N seconds after the start of 1970.
    fn at(&mut self, second: i64) -> &str {
        if self.second != second || self.text.is_empty() {
            self.second = second;
            self.text = format(second);
        }
        &self.text
    }
}

/// The IMF-fixdate of RFC 9110, section 5.6.7.
fn format(second: i64) -> String {
    // SAFETY: an all-zero `tm` is valid, and gmtime_r fills it or leaves it.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call.
    unsafe { libc::gmtime_r(&second, &mut time) };
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        DAYS[time.tm_wday as usize],
        time.tm_mday,
        MONTHS[time.tm_mon as usize],
        time.tm_year + 1900,
        time.tm_hour,
        time.tm_min,
        time.tm_sec
    )
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

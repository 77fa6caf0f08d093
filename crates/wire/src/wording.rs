//! Numbers in sentences and tables for people. Thousands are grouped everywhere, so that a number of
//! a sentence can be found in a table.

/// A count with grouped thousands: `1,234,567`.
pub fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with N decimals and grouped thousands: `12,345.6`.
pub fn decimal(number: f64, decimals: usize) -> String {
    grouped_text(format!("{number:.decimals$}"))
}

/// A number with as many decimals as it has, and grouped thousands: `12,345`, `0.25`.
pub fn plain(number: f64) -> String {
    grouped_text(number.to_string())
}

fn grouped_text(text: String) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    whole.parse().map_or_else(|_| text.clone(), |whole: u64| grouped(whole) + rest)
}

/// A number of bytes in the unit of its size, with the unit: `(12.3, "MB")`.
pub fn scaled(bytes: f64) -> (f64, &'static str) {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or((bytes, "B"), |(unit, name)| (bytes / unit, name))
}

/// A count with its noun: `1 connection`, `2,000 connections`, `2 processes`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    let ending = match (number, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0_u64, 999, 1000, 1_234_567].map(grouped));
        for (number, decimals, text) in [
            (0.0, 0, "0"),
            (999.96, 1, "1,000.0"),
            (1_234_567.891, 2, "1,234,567.89"),
            (-1_234.5, 1, "-1234.5"),
            (f64::INFINITY, 1, "inf"),
        ] {
            assert_eq!(decimal(number, decimals), text);
        }
        assert_eq!(["0.25", "1,500", "1,500.5"], [0.25, 1500.0, 1500.5].map(plain));
    }

    #[test]
    fn bytes_have_the_unit_of_their_size() {
        assert_eq!([0.0, 999.0].map(scaled), [(0.0, "B"), (999.0, "B")]);
        assert_eq!([1e3, 2.5e6, 3e12].map(scaled), [(1.0, "kB"), (2.5, "MB"), (3000.0, "GB")]);
    }

    #[test]
    fn nouns_have_their_number() {
        assert_eq!(counted(1_u32, "connection"), "1 connection");
        assert_eq!(counted(0_u32, "connection"), "0 connections");
        assert_eq!(counted(2_127_u64, "connection"), "2,127 connections");
        assert_eq!(counted(2_u64, "process"), "2 processes");
    }
}

//! Reads the values of options that several command lines have.

use std::time::Duration;

/// The longest time that an option accepts: a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The number of processors in Linux's fixed-size affinity mask.
const PROCESSOR_LIMIT: usize = 1024;

/// Reads a time: `500ms`, `10s`, `2m`.
pub fn time(text: &str) -> Result<Duration, String> {
    let wanted = || format!("'{text}' is not a time; write 500ms, 10s or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wanted())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wanted()),
    };
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wanted())?;
    if time > LONGEST { Err(format!("'{text}' is longer than a day")) } else { Ok(time) }
}

/// A time in whole milliseconds.
pub fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reads a number of connections or requests per second, as in `tlslab plan`: `500`, `500/s` or
/// `5k/s`.
pub fn per_second(text: &str) -> Option<f64> {
    let text = text.trim();
    let text = text.strip_suffix("/s").unwrap_or(text);
    let (number, times) = text.strip_suffix('k').map_or((text, 1.0), |number| (number, 1000.0));
    number.parse::<f64>().ok().map(|number| number * times)
}

/// A list of processors, in the syntax of taskset.
#[derive(Debug, Clone, Default)]
pub struct Processors(pub Vec<usize>);

/// Reads a list of processors: `0,2-3`.
pub fn processors(text: &str) -> Result<Processors, String> {
    let wanted = || format!("'{text}' is not a list of processors; write 1 or 0,2-3");
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().map_err(|_| wanted())?;
        let last: usize = last.parse().map_err(|_| wanted())?;
        if first > last || last >= PROCESSOR_LIMIT {
            return Err(wanted());
        }
        list.extend(first..=last);
    }
    Ok(Processors(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "5x", "-1s", "1e9h", "48h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processors_are_listed_and_ranged() {
        assert_eq!(processors("0,2-3").unwrap().0, [0, 2, 3]);
        for wrong in ["", "a", "3-1", "0-", "0-99999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
    }
}

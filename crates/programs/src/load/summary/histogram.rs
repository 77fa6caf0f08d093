//! The distribution of the times, with bars.

use tlslab_contract::histogram::decoded;
use tlslab_contract::record::RunRecord;
use tlslab_system::clock::MILLISECOND;
use tlslab_wire::wording::{decimal, grouped};

use super::main_time;
use super::table::{Lead, Table};

/// Rows of equal width up to the 99th percentile. One more row has the longer times: rows of equal
/// width up to the longest time would leave most of them empty.
const ROWS: u64 = 9;

/// The length of the longest bar, in columns.
const BAR: u64 = 30;

/// The lowest number of times, as for a median.
const LEAST: u64 = 16;

/// The times of the kind that matters most in this run, counted in rows; `None` with too few.
pub fn table(record: &RunRecord) -> Option<Table> {
    let name = main_time(&record.spec);
    let of_client = record.load_client().and_then(|(_, times)| times.histograms.get(name));
    let times = decoded(of_client.or_else(|| record.histograms.get(name))?)?;
    if times.len() < LEAST {
        return None;
    }
    let title = match name {
        "response" => "response time in ms, up to",
        "exchange" => "exchange time in ms, up to",
        _ => "service time in ms, up to",
    };
    let (least, most) = (times.min(), times.max());
    let p99 = times.value_at_quantile(0.99).min(most);
    let widths = (1..=ROWS).map(|row| least + (p99 - least) * row / ROWS);
    let mut bounds: Vec<u64> = widths.filter(|_| !times.equivalent(least, most)).collect();
    bounds.push(most);
    bounds.dedup();
    let mut counts = vec![0; bounds.len()];
    for value in times.iter_recorded() {
        let reached = value.value_iterated_to();
        let row = bounds.partition_point(|bound| *bound < reached).min(bounds.len() - 1);
        counts[row] += value.count_since_last_iteration();
    }
    let longest = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut table = Table::new(title, Lead::Figure, ["count", ""]);
    for (bound, count) in bounds.into_iter().zip(counts) {
        let bar = "■".repeat((count * BAR).div_ceil(longest) as usize);
        let bound = decimal(bound as f64 / MILLISECOND as f64, 3);
        table.rows.push(vec![bound, grouped(count), bar]);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::super::tests::empty;
    use super::*;
    use tlslab_contract::histogram::{empty_histogram, encoded};
    use tlslab_system::clock::MICROSECOND;

    /// The rows for these times in microseconds, each with its count.
    fn rows(times: &[(u64, u64)]) -> Option<Vec<Vec<String>>> {
        let mut histogram = empty_histogram();
        for (us, count) in times {
            histogram.record_n(us * MICROSECOND, *count).unwrap();
        }
        let mut record = empty();
        record.histograms.insert("service".to_owned(), encoded(&histogram));
        table(&record).map(|table| table.rows)
    }

    #[test]
    fn every_time_is_in_one_row_and_the_longest_in_the_last() {
        let rows = rows(&[(1_000, 600), (3_500, 300), (10_000, 1_095), (2_000_000, 5)]).unwrap();
        assert_eq!(rows.len(), 10);
        let counts: Vec<_> = rows.iter().map(|row| &*row[1]).collect();
        assert_eq!(counts, ["600", "0", "300", "0", "0", "0", "0", "0", "1,095", "5"]);
        let bars: Vec<_> = rows.iter().map(|row| row[2].chars().count()).collect();
        assert_eq!(bars, [17, 0, 9, 0, 0, 0, 0, 0, 30, 1]);
        assert!(rows[8][0].starts_with("10.0") && rows[9][0].starts_with("2,00"), "{rows:?}");
    }

    #[test]
    fn equal_times_have_one_row_and_few_times_none() {
        assert_eq!(rows(&[(5_000, 16)]).unwrap().len(), 1);
        assert_eq!(rows(&[(5_000, 15)]), None);
    }
}

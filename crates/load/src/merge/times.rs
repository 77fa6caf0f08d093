//! Histograms of several records, added value by value.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use tlslab_contract::histogram::{decoded, encoded, summary};
use tlslab_contract::record::{CLIENTS, ClientTimes, CountedUrl, RunRecord, Summary, of_no_client};

use super::{MergeError, Named, only_client};

/// Histograms by name.
pub type Times = BTreeMap<String, Histogram<u64>>;

/// The histograms that `of` returns for each record, added by name.
///
/// # Errors
/// A histogram cannot be read.
pub fn joined_histograms<'p>(
    parts: &'p [Named],
    of: impl Fn(&'p RunRecord) -> &'p BTreeMap<String, String>,
) -> Result<Times, MergeError> {
    let mut whole = Times::new();
    for part in parts {
        add(&mut whole, &part.name, of(&part.record))?;
    }
    Ok(whole)
}

/// The times by client, if the records have two clients between them; otherwise empty.
///
/// # Errors
/// A histogram cannot be read.
pub fn joined_clients(parts: &[Named]) -> Result<BTreeMap<String, ClientTimes>, MergeError> {
    let mut clients: BTreeMap<&str, (u64, Times)> = BTreeMap::new();
    for Named { name, record } in parts {
        let mut take = |client, connections, times: &BTreeMap<_, _>| {
            let mine = clients.entry(client).or_default();
            mine.0 += connections;
            add(&mut mine.1, name, times)
        };
        if record.clients.is_empty() && record.outcomes.completed > 0 {
            let times = of_one_client(record);
            take(only_client(record), record.outcomes.completed, &times)?;
        }
        for client in CLIENTS {
            if let Some(times) = record.clients.get(client) {
                take(client, times.connections, &times.histograms)?;
            }
        }
    }
    if clients.len() < 2 {
        return Ok(BTreeMap::new());
    }
    let named = clients.into_iter().map(|(client, (connections, times))| {
        let (histograms, summaries) = (encoded_all(&times), summaries(&times));
        (client.to_owned(), ClientTimes { connections, histograms, summaries })
    });
    Ok(named.collect())
}

/// The requests by URL, added. The specifications are the same, so all records have the same URLs,
/// in the same order.
///
/// # Errors
/// A histogram cannot be read.
pub fn joined_urls(parts: &[Named]) -> Result<Vec<CountedUrl>, MergeError> {
    let urls = |part: &Named| part.record.urls.len();
    (0..parts.iter().map(urls).min().unwrap_or(0)).map(|place| joined_url(parts, place)).collect()
}

/// The requests for the URL at this place, added.
fn joined_url(parts: &[Named], place: usize) -> Result<CountedUrl, MergeError> {
    let urls = || parts.iter().map(|part| &part.record.urls[place]);
    let mut times = Times::new();
    for Named { name, record } in parts {
        let theirs = record.urls[place].histogram.iter();
        let named = theirs.map(|text| ("exchange".to_owned(), text.clone())).collect();
        add(&mut times, name, &named)?;
    }
    let times = times.get("exchange");
    Ok(CountedUrl {
        path: parts[0].record.urls[place].path.clone(),
        requests: urls().map(|url| url.requests).sum(),
        failed: urls().map(|url| url.failed).sum(),
        exchange: times.map(summary),
        histogram: times.map(encoded),
    })
}

/// The histograms of a record whose connections one client made: without those that belong to no
/// client.
fn of_one_client(record: &RunRecord) -> BTreeMap<String, String> {
    let left_out = of_no_client(record.spec.load.patience_ms.is_some());
    let of_client = record.histograms.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
    of_client.map(|(name, text)| (name.clone(), text.clone())).collect()
}

/// The histograms, encoded as in records.
pub fn encoded_all(times: &Times) -> BTreeMap<String, String> {
    times.iter().map(|(name, histogram)| (name.clone(), encoded(histogram))).collect()
}

/// The summaries of the histograms.
pub fn summaries(times: &Times) -> BTreeMap<String, Summary> {
    times.iter().map(|(name, histogram)| (name.clone(), summary(histogram))).collect()
}

fn add(
    whole: &mut Times,
    name: &str,
    histograms: &BTreeMap<String, String>,
) -> Result<(), MergeError> {
    for (histogram, text) in histograms {
        let damaged =
            || MergeError::Histogram { name: name.to_owned(), histogram: histogram.clone() };
        let theirs = decoded(text).ok_or_else(damaged)?;
        match whole.get_mut(histogram) {
            Some(mine) => mine.add(theirs).map_err(|_| damaged())?,
            None => {
                whole.insert(histogram.clone(), theirs);
            }
        }
    }
    Ok(())
}

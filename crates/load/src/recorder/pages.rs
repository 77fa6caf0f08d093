//! Requests by URL, if a load has several.

use hdrhistogram::Histogram;
use tlslab_contract::histogram::{empty_histogram, encoded, summary};
use tlslab_contract::record::CountedUrl;
use tlslab_contract::spec::WeightedPath;
use tlslab_system::clock::Nanos;

/// The highest number of URLs with times. A histogram takes up to 260 KiB for each worker.
const TIMED: usize = 100;

/// The counts and times of each page, in the order of the specification. Empty for a single page,
/// whose counts and times are those of the run.
#[derive(Debug, Default)]
pub struct Pages(Vec<Page>);

#[derive(Debug, Clone)]
struct Page {
    requests: u64,
    failed: u64,
    /// `None` beyond [`TIMED`] pages.
    times: Option<Histogram<u64>>,
}

impl Pages {
    /// No requests of N pages.
    pub fn new(pages: usize) -> Self {
        let times = || (pages <= TIMED).then(empty_histogram);
        let page = || Page { requests: 0, failed: 0, times: times() };
        Self((0..if pages > 1 { pages } else { 0 }).map(|_| page()).collect())
    }

    /// Records an answered request for the page with this index, which took this time.
    pub fn answered(&mut self, page: u16, time: Nanos) {
        if let Some(page) = self.0.get_mut(usize::from(page)) {
            page.requests += 1;
            page.times.iter_mut().for_each(|times| times.saturating_record(time));
        }
    }

    /// Counts a connection that failed while the page with this index was requested.
    pub fn failed(&mut self, page: u16) {
        if let Some(page) = self.0.get_mut(usize::from(page)) {
            page.failed += 1;
        }
    }

    /// Adds another worker's counts and times of the same pages.
    pub fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.requests += theirs.requests;
            mine.failed += theirs.failed;
            if let (Some(mine), Some(theirs)) = (&mut mine.times, &theirs.times) {
                mine.add(theirs).expect("all histograms have the same bounds");
            }
        }
    }

    /// The counts and times of the pages with these paths, in their order.
    pub fn of(&self, paths: &[WeightedPath]) -> Vec<CountedUrl> {
        let counted = |(path, page): (&WeightedPath, &Page)| CountedUrl {
            path: path.path.clone(),
            requests: page.requests,
            failed: page.failed,
            exchange: page.times.as_ref().map(summary),
            histogram: page.times.as_ref().map(encoded),
        };
        paths.iter().zip(&self.0).map(counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_contract::histogram::decoded;
    use tlslab_system::clock::MILLISECOND;

    fn paths(count: usize) -> Vec<WeightedPath> {
        (0..count).map(|page| WeightedPath { path: format!("/{page}"), weight: 1 }).collect()
    }

    #[test]
    fn each_page_has_its_counts_and_its_times() {
        let mut mine = Pages::new(2);
        mine.answered(0, MILLISECOND);
        mine.answered(1, 5 * MILLISECOND);
        mine.failed(1);
        let mut all = Pages::default();
        all.merge(&mine);
        all.merge(&mine);
        let [first, second] = <[_; 2]>::try_from(all.of(&paths(2))).unwrap();
        assert_eq!((&*first.path, first.requests, first.failed), ("/0", 2, 0));
        assert_eq!((&*second.path, second.requests, second.failed), ("/1", 2, 2));
        assert_eq!(second.exchange.unwrap().mean_ms.round(), 5.0);
        assert_eq!(decoded(&second.histogram.unwrap()).unwrap().len(), 2);
    }

    #[test]
    fn a_single_page_is_not_counted_and_of_many_there_are_no_times() {
        let mut single = Pages::new(1);
        single.answered(0, 1);
        assert_eq!(single.of(&paths(1)), []);
        let mut many = Pages::new(TIMED + 1);
        many.answered(7, 1);
        let many = many.of(&paths(TIMED + 1));
        assert_eq!((many[7].requests, many[7].exchange, &many[7].histogram), (1, None, &None));
    }
}

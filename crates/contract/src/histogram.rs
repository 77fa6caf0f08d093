//! Histograms of times, and their encoding in records.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use tlslab_wire::time::{MILLISECOND, SECOND};

use crate::record::Summary;

/// The highest recordable time in nanoseconds: one hour. Longer times count as one hour.
pub const HIGHEST: u64 = 3600 * SECOND;

/// Significant decimal digits of a histogram's values: the relative error is at most 0.1 %.
const DIGITS: u8 = 3;

/// An empty histogram of times in nanoseconds, up to [`HIGHEST`].
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("valid bounds")
}

/// A histogram in the compressed HdrHistogram V2 encoding, base64.
pub fn encoded(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("a vector takes all bytes");
    BASE64.encode(bytes)
}

/// Decodes the output of [`encoded`]. `None` for any other text, or for a histogram with other
/// bounds.
pub fn decoded(text: &str) -> Option<Histogram<u64>> {
    let bytes = BASE64.decode(text).ok()?;
    let found: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    let is_alike = found.sigfig() == DIGITS && found.high() == empty_histogram().high();
    is_alike.then_some(found)
}

/// Count, mean, standard deviation and quantiles of a histogram of nanoseconds.
pub fn summary(histogram: &Histogram<u64>) -> Summary {
    let ms = |nanos: f64| nanos / MILLISECOND as f64;
    let quantile = |q| ms(histogram.value_at_quantile(q) as f64);
    if histogram.is_empty() {
        return Summary::default();
    }
    Summary {
        n: histogram.len(),
        min_ms: ms(histogram.min() as f64),
        mean_ms: ms(histogram.mean()),
        sd_ms: ms(histogram.stdev()),
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: ms(histogram.max() as f64),
    }
}

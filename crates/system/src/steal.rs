//! The processor time that a hypervisor gave to other machines (steal; proc_stat(5)).

use std::collections::BTreeMap;
use std::fs;

/// The fields of a processor's line up to `steal`: those behind are parts of earlier ones.
const FIELDS: usize = 8;

/// What was stolen between two instants.
#[derive(Debug, Default)]
pub struct Steal {
    begun: Option<Ticks>,
    ended: Option<Ticks>,
}

impl Steal {
    /// The first instant; later calls change nothing.
    pub fn begin(&mut self) {
        self.begun.get_or_insert_with(Ticks::now);
    }

    /// The last instant, if there was a first; later calls change nothing.
    pub fn end(&mut self) {
        if self.begun.is_some() {
            self.ended.get_or_insert_with(Ticks::now);
        }
    }

    /// At least this share of a processor's time was stolen, of all processors' without a number. 0
    /// where the kernel does not say.
    pub fn least_share(&self, processor: Option<usize>) -> f64 {
        let (Some(begun), Some(ended)) = (&self.begun, &self.ended) else { return 0.0 };
        ended.least_share_since(begun, processor)
    }
}

/// The processors' times since boot, in ticks of the kernel; under `None` those of all together.
#[derive(Debug, Default)]
struct Ticks(BTreeMap<Option<usize>, Times>);

#[derive(Debug, Clone, Copy)]
struct Times {
    stolen: u64,
    whole: u64,
}

impl Ticks {
    fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Lines such as `cpu0 4705 150 1120 16250 520 0 60 12 0 0`; `cpu` is all together.
    fn read(stat: &str) -> Self {
        let of_line = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            let number = words.next().map(str::parse)?.ok();
            let ticks: Vec<u64> =
                words.filter(|word| !word.is_empty()).map_while(|word| word.parse().ok()).collect();
            let known = ticks.get(..FIELDS)?;
            Some((number, Times { stolen: known[FIELDS - 1], whole: known.iter().sum() }))
        };
        Self(stat.lines().map_while(of_line).collect())
    }

    /// The kernel reports whole ticks: a difference may be up to one tick too large.
    fn least_share_since(&self, earlier: &Self, processor: Option<usize>) -> f64 {
        let (Some(begun), Some(ended)) = (earlier.0.get(&processor), self.0.get(&processor)) else {
            return 0.0;
        };
        let stolen = ended.stolen.saturating_sub(begun.stolen).saturating_sub(1);
        let whole = ended.whole.saturating_sub(begun.whole);
        if whole == 0 { 0.0 } else { (stolen as f64 / whole as f64).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors, of which the second lost this much of 100 ticks since boot.
    fn stat(stolen: u64) -> Ticks {
        let left = 100 - stolen;
        Ticks::read(&format!(
            "cpu  100 0 50 {left} 0 0 50 {stolen} 7 0\n\
             cpu0 70 0 30 0 0 0 0 0 0 0\n\
             cpu1 30 0 20 {left} 0 0 50 {stolen} 7 0\n\
             intr 114930548 113199788 3 0 5 263\n"
        ))
    }

    fn since_boot(now: &Ticks, processor: Option<usize>) -> f64 {
        let boot =
            Ticks::read("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0");
        now.least_share_since(&boot, processor)
    }

    #[test]
    fn the_share_is_that_of_the_processor_and_of_all_without_a_number() {
        let now = stat(21);
        assert!((since_boot(&now, Some(1)) - 0.1).abs() < 1e-9, "{now:?}");
        assert!((since_boot(&now, None) - 20.0 / 300.0).abs() < 1e-9, "{now:?}");
        assert!(since_boot(&now, Some(0)).abs() < 1e-9);
        assert!(since_boot(&now, Some(2)).abs() < 1e-9);
    }

    #[test]
    fn one_tick_may_be_no_whole_one() {
        assert!(since_boot(&stat(1), Some(1)).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_known_is_nothing() {
        assert!(Steal::default().least_share(None).abs() < 1e-9);
        assert!(Ticks::read("").0.is_empty());
        assert!(Ticks::read("cpu 1 2 3\n").0.is_empty());
    }

    #[test]
    fn the_kernel_of_this_machine_is_understood() {
        let mut steal = Steal::default();
        steal.end();
        steal.begin();
        steal.end();
        let read = steal.ended.as_ref().unwrap();
        assert!(read.0[&None].whole >= read.0[&None].stolen, "{read:?}");
        assert!(read.0.len() > 1, "{read:?}");
        assert!((0.0..=1.0).contains(&steal.least_share(None)));
    }
}

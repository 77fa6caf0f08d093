//! The use of processors: the time that a hypervisor gave to other machines (steal), and that in
//! which anything ran (proc_stat(5)).

use std::collections::BTreeMap;
use std::fs;

/// The fields of a processor's line up to `steal`: those behind are parts of earlier ones.
const FIELDS: usize = 8;

/// The field of idle time, before that of idle time with disks at work.
const IDLE: usize = 3;

/// What was used and stolen between two instants.
#[derive(Debug, Default)]
pub struct Steal {
    begun: Option<Ticks>,
    ended: Option<Ticks>,
}

impl Steal {
    /// The first instant; later calls change nothing.
    fn begin(&mut self) {
        self.begun.get_or_insert_with(Ticks::now);
    }

    /// The last instant, if there was a first; later calls change nothing.
    pub fn end(&mut self) {
        if self.begun.is_some() {
            self.ended.get_or_insert_with(Ticks::now);
        }
    }

    /// Reads the first instant when the measurement begins, and the last one when it is over.
    pub fn follow(&mut self, is_measuring: bool) {
        if is_measuring { self.begin() } else { self.end() }
    }

    /// At least this share of the time of each of these processors was stolen. `None` where the
    /// kernel does not say.
    pub fn least_share(&self, processors: &[usize]) -> Option<f64> {
        self.shares(processors, Times::least_share_since).into_iter().reduce(f64::min)
    }

    /// The share of these processors' time in which anything ran on them. `None` where the kernel
    /// does not say.
    pub fn busy_share(&self, processors: &[usize]) -> Option<f64> {
        let shares = self.shares(processors, Times::busy_since);
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    fn shares(&self, processors: &[usize], of: fn(Times, &Times) -> f64) -> Vec<f64> {
        let Some((begun, ended)) = self.begun.as_ref().zip(self.ended.as_ref()) else {
            return Vec::new();
        };
        let share = |number| Some(of(*ended.0.get(number)?, begun.0.get(number)?));
        processors.iter().filter_map(share).collect()
    }
}

/// The processors' times since boot, in ticks of the kernel.
#[derive(Debug, Default)]
struct Ticks(BTreeMap<usize, Times>);

#[derive(Debug, Clone, Copy)]
struct Times {
    stolen: u64,
    idle: u64,
    whole: u64,
}

impl Ticks {
    fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Lines such as `cpu0 4705 150 1120 16250 520 0 60 12 0 0`.
    fn read(stat: &str) -> Self {
        let of_line = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split(' ');
            // All processors together have no number.
            let number = words.next()?.parse().ok()?;
            let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let known = ticks.get(..FIELDS)?;
            let (stolen, idle) = (known[FIELDS - 1], known[IDLE] + known[IDLE + 1]);
            Some((number, Times { stolen, idle, whole: known.iter().sum() }))
        };
        Self(stat.lines().filter_map(of_line).collect())
    }
}

impl Times {
    /// The kernel reports whole ticks: a difference may be up to one tick too large.
    fn least_share_since(self, earlier: &Self) -> f64 {
        let stolen = self.stolen.saturating_sub(earlier.stolen).saturating_sub(1);
        let whole = self.whole.saturating_sub(earlier.whole);
        if whole == 0 { 0.0 } else { (stolen as f64 / whole as f64).min(1.0) }
    }

    fn busy_since(self, earlier: &Self) -> f64 {
        let since = |of: fn(&Self) -> u64| of(&self).saturating_sub(of(earlier)) as f64;
        let whole = since(|times| times.whole);
        let unused = since(|times| times.idle) + since(|times| times.stolen);
        if whole == 0.0 { 0.0 } else { (1.0 - unused / whole).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors, of which each lost so much of 100 ticks since boot.
    fn stat(stolen: [u64; 2]) -> Ticks {
        let line = |stolen| format!("30 0 20 {} 0 0 50 {stolen} 7 0", 100 - 100.min(stolen));
        Ticks::read(&format!(
            "cpu  60 0 40 7 0 0 100 93 14 0\ncpu0 {}\ncpu1 {}\nintr 114930548 113199788 3 0\n",
            line(stolen[0]),
            line(stolen[1])
        ))
    }

    fn since_boot(now: Ticks) -> Steal {
        let boot = Ticks::read("cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0");
        Steal { begun: Some(boot), ended: Some(now) }
    }

    #[test]
    fn the_stolen_share_is_the_smallest_of_the_processors() {
        let steal = since_boot(stat([21, 41]));
        assert_eq!(steal.least_share(&[0]), Some(0.1));
        assert_eq!(steal.least_share(&[1]), Some(0.2));
        assert_eq!(steal.least_share(&[0, 1]), Some(0.1));
        assert_eq!(steal.least_share(&[2]), None);
    }

    #[test]
    fn a_processor_is_busy_unless_it_is_idle_or_stolen() {
        let now = "cpu0 100 0 0 100 0 0 0 0\ncpu1 50 0 0 0 0 0 0 150\ncpu2 0 0 0 200 0 0 0 0";
        let boot = "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0";
        let steal = Steal { begun: Some(Ticks::read(boot)), ended: Some(Ticks::read(now)) };
        assert_eq!(steal.busy_share(&[0]), Some(0.5));
        assert_eq!(steal.busy_share(&[1]), Some(0.25));
        // Those that the process may not use say nothing of it.
        assert_eq!(steal.busy_share(&[0, 1]), Some(0.375));
        assert_eq!(steal.busy_share(&[3]), None);
    }

    #[test]
    fn one_tick_may_be_no_whole_one() {
        assert_eq!(since_boot(stat([0, 1])).least_share(&[1]), Some(0.0));
    }

    #[test]
    fn what_is_not_known_is_nothing() {
        let mut steal = Steal::default();
        steal.end();
        assert_eq!(steal.least_share(&[0]), None);
        assert_eq!(steal.busy_share(&[0]), None);
        assert!(Ticks::read("").0.is_empty());
        assert!(Ticks::read("cpu0 1 2 3\n").0.is_empty());
    }

    #[test]
    fn the_kernel_says_it_of_each_processor() {
        let mut steal = Steal::default();
        steal.begin();
        steal.end();
        assert!(steal.least_share(&[0]).is_some_and(|share| share < 1.0), "{steal:?}");
        assert!(steal.busy_share(&[0]).is_some_and(|share| share <= 1.0), "{steal:?}");
    }
}

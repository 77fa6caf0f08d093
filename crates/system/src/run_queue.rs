//! The time that a thread was ready to run and waited on the run queue of a processor.

use std::fs;
use std::path::PathBuf;

use crate::clock::Nanos;

/// Where the kernel counts the time of one thread.
#[derive(Debug, Clone)]
pub struct RunQueue(PathBuf);

impl RunQueue {
    /// That of the calling thread. `/proc` may be that of another PID namespace, which has another
    /// number for the thread.
    pub fn of_this_thread() -> Option<Self> {
        let thread = fs::read_link("/proc/thread-self").ok()?;
        let found = Self(PathBuf::from("/proc").join(thread).join("schedstat"));
        found.waited().map(|_| found)
    }

    /// The time since the thread's start for which it was ready and did not run. It includes
    /// throttling of the control group, and what a hypervisor took from the threads that ran
    /// instead. A wait that has not ended is not included. `None` where the kernel does not say, and
    /// of a thread that has ended.
    pub fn waited(&self) -> Option<Nanos> {
        waited(&fs::read_to_string(&self.0).ok()?)
    }
}

/// The second of three numbers: run time and waiting time in nanoseconds, and the number of time
/// slices (the kernel's Documentation/scheduler/sched-stats.rst). All are zero on a kernel that
/// does not count: a thread that reads them has had one time slice at least.
fn waited(schedstat: &str) -> Option<Nanos> {
    let numbers: Vec<Nanos> =
        schedstat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [ran, waited, slices] = numbers[..] else { return None };
    (ran > 0 || waited > 0 || slices > 0).then_some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_counts_unless_the_kernel_does_not_count() {
        assert_eq!(waited("48455160 49329429 115\n"), Some(49_329_429));
        assert_eq!(waited("0 0 1\n"), Some(0));
        assert_eq!(waited("0 0 0\n"), None);
        assert_eq!(waited(""), None);
        assert_eq!(waited("1 2\n"), None);
    }

    #[test]
    fn a_thread_finds_its_own_count_and_others_read_it_until_it_ends() {
        // A kernel without the count has none for any thread.
        let Some(mine) = RunQueue::of_this_thread() else { return };
        let (theirs, still) = std::thread::spawn(|| {
            let queue = RunQueue::of_this_thread().unwrap();
            (queue.clone(), queue.waited())
        })
        .join()
        .unwrap();
        assert!(still.is_some() && mine.waited().is_some());
        assert!(theirs.0 != mine.0, "{theirs:?}");
    }
}

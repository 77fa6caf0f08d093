//! The processor of a thread, and its scheduling class.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Pins the calling thread to one processor.
pub fn pin(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)?;
    Ok(())
}

/// The processors that the calling thread may use. `None` if the kernel does not say, as with more
/// than 1,024.
pub fn allowed() -> Option<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let is_in = |processor: &usize| set.is_set(*processor).unwrap_or_default();
    Some((0..CpuSet::count()).filter(is_in).collect())
}

/// Gives the calling thread priority over all threads without real-time scheduling until it waits
/// (SCHED_FIFO at its lowest priority; sched(7)).
pub fn run_in_real_time() -> io::Result<()> {
    // SAFETY: the call takes a policy and returns a number.
    let priority = unsafe { libc::sched_get_priority_min(libc::SCHED_FIFO) };
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters are valid for the call; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_processor() {
        let last = *allowed().unwrap().last().unwrap();
        let one = std::thread::spawn(move || {
            pin(last).unwrap();
            allowed().unwrap()
        });
        assert_eq!(one.join().unwrap(), [last]);
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        assert!(pin(1023).is_err());
    }
}

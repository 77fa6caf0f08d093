//! Pinning threads to processors.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// Pins the calling thread to one processor.
pub fn pin(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        assert!(pin(1023).is_err());
    }
}

//! What the operating system grants: files, processors, processor time.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;

use crate::record::CpuTime;

/// Files that are not connections: standard streams, pollers, listeners, and some in reserve.
const OTHER_FILES: u64 = 64;

/// What one worker may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkerLimits {
    /// Connections that it may hold at once.
    pub connections: usize,
}

impl WorkerLimits {
    /// Raises the process's file limit as far as it may and shares it out.
    pub fn of_process(workers: usize) -> io::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let granted = match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            Ok(()) => hard,
            Err(_) => soft,
        };
        let others = OTHER_FILES + 3 * workers as u64;
        let connections = granted.saturating_sub(others).max(1) as usize / workers;
        Ok(Self { connections: connections.max(1) })
    }
}

/// Pins the calling thread to one processor.
pub(super) fn pin(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)?;
    Ok(())
}

/// The processor time of this process so far.
pub(super) fn processor_time() -> CpuTime {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return CpuTime::default() };
    CpuTime {
        user_us: microseconds(usage.user_time()),
        system_us: microseconds(usage.system_time()),
    }
}

fn microseconds(time: TimeVal) -> u64 {
    time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64
}

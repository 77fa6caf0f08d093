//! The limit of open files of this process.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files of a run other than connections: standard streams, a poller for each worker, and some in
/// reserve.
const OTHERS: u64 = 16;

/// The number of open files that a run needs.
pub fn needed(connections: u32, workers: u32) -> u64 {
    u64::from(connections) + u64::from(workers) + OTHERS
}

/// Raises the process's limit to its maximum; returns the new limit.
pub fn granted() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft })
}

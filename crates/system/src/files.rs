//! How many files this process may have open.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files of a run that are no connections: standard streams, a poller for each worker, and some in
/// reserve.
const OTHERS: u64 = 16;

/// The files that a run needs.
pub fn needed(connections: u32, workers: u32) -> u64 {
    u64::from(connections) + u64::from(workers) + OTHERS
}

/// Raises the process's limit as far as it may, and says what it is then.
pub fn granted() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft })
}

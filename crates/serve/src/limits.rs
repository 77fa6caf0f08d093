//! The limit of open files, and each worker's share of it.

use std::io;

use tlslab_system::files;

/// Files other than connections: standard streams, pollers, listeners, and some in reserve.
const OTHER_FILES: u64 = 64;

/// One worker's share of the limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkerLimits {
    /// The highest number of open connections.
    pub connections: usize,
}

impl WorkerLimits {
    /// Raises the process's file limit to its maximum and divides it among the workers.
    pub fn of_process(workers: usize) -> io::Result<Self> {
        let granted = files::granted()?;
        let others = OTHER_FILES + 3 * workers as u64;
        let connections = granted.saturating_sub(others).max(1) as usize / workers;
        Ok(Self { connections: connections.max(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_gets_its_share_of_the_files() {
        let alone = WorkerLimits::of_process(1).unwrap().connections;
        let of_four = WorkerLimits::of_process(4).unwrap().connections;
        assert!(of_four >= 1 && of_four * 4 <= alone, "{of_four} {alone}");
    }
}

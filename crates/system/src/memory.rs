//! The memory of this process, as the kernel counts it.

use std::{fs, io};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel's sums over all mappings of this process (proc(5), `smaps_rollup`), in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Resident: all pages in memory, shared ones in full.
    pub resident: u64,
    /// Proportional: shared pages divided by the number of processes that share them.
    pub proportional: u64,
    /// Anonymous: heap and stacks, without files. Contains the memory of connections.
    pub anonymous: u64,
}

/// Makes the kernel give this process pages of 4 KiB only, even if an allocator requests huge
/// pages. Otherwise a short process clears 2 MiB where it uses a few KiB: some 20 ms at its start.
pub fn without_huge_pages() {
    // SAFETY: the call takes numbers and only changes how later page faults are served. If the
    // kernel does not support it, only time is lost.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

impl Memory {
    /// Reads the kernel's sums.
    ///
    /// # Errors
    /// The system has no `/proc`, or one without `smaps_rollup` (Linux before 4.14).
    pub fn of_this_process() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/smaps_rollup")?;
        Self::parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.strip_prefix(':')?.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kib * 1024)
        };
        Some(Self {
            resident: bytes("Rss")?,
            proportional: bytes("Pss")?,
            anonymous: bytes("Anonymous")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_sums_are_read() {
        let text = "55d0-7ffe ---p 00000000 00:00 0  [rollup]\nRss:     5 kB\nPss:     4 kB\n\
                    Pss_Dirty:  1 kB\nAnonymous:  3 kB\n";
        let memory = Memory { resident: 5120, proportional: 4096, anonymous: 3072 };
        assert_eq!(Memory::parse(text), Some(memory));
        assert_eq!(Memory::parse("Rss:  5 MB\n"), None);
    }

    #[test]
    fn what_is_allocated_and_written_is_seen() {
        const SIZE: usize = 32 << 20;
        let before = Memory::of_this_process().unwrap();
        let written = std::hint::black_box(vec![1u8; SIZE]);
        let after = Memory::of_this_process().unwrap();
        assert!(after.anonymous >= before.anonymous + (SIZE as u64) / 2, "{before:?} {after:?}");
        assert!(after.resident >= after.anonymous);
        drop(written);
    }
}

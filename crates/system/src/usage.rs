//! Processor time of the calling thread, or of the whole process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use tlslab_contract::record::CpuTime;

/// The processor time of the calling thread since its start.
pub fn thread_cpu() -> CpuTime {
    cpu(UsageWho::RUSAGE_THREAD)
}

/// The processor time of all threads of this process since its start.
pub fn process_cpu() -> CpuTime {
    cpu(UsageWho::RUSAGE_SELF)
}

fn cpu(who: UsageWho) -> CpuTime {
    let micros = |time: TimeVal| time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
    getrusage(who)
        .map(|usage| CpuTime {
            user_us: micros(usage.user_time()),
            system_us: micros(usage.system_time()),
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_of_this_thread_alone() {
        let before = thread_cpu();
        std::thread::spawn(|| spin(thread_cpu(), 50_000)).join().unwrap();
        let others = thread_cpu() - before;
        spin(before, 50_000);
        let ours = thread_cpu() - before;
        assert!(others.total_us() < 25_000, "{others:?}");
        assert!(ours.total_us() >= 50_000, "{ours:?}");
    }

    /// Works until this thread has used N microseconds of processor time more than `since`.
    fn spin(since: CpuTime, microseconds: u64) {
        while (thread_cpu() - since).total_us() < microseconds {
            std::hint::black_box(());
        }
    }
}

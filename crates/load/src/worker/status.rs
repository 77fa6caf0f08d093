//! The exchange between a running worker and the watcher, without waits on the worker's side.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::recorder::{Second, Totals};
use tlslab_system::clock::Nanos;
use tlslab_system::run_queue::RunQueue;

/// The state of a running worker: the worker writes it, the watcher of the run reads it.
#[derive(Debug)]
#[repr(align(128))]
pub struct WorkerStatus {
    started: AtomicU64,
    open: AtomicU64,
    /// The start of the measurement; `Nanos::MAX` until known.
    measure_at: AtomicU64,
    stop: AtomicBool,
    /// Whether the watcher has asked for a report.
    asked: AtomicBool,
    /// Holds an empty report for the worker, or a full one for the watcher.
    mailbox: Mutex<Box<Second>>,
    run_queue: OnceLock<RunQueue>,
}

impl Default for WorkerStatus {
    fn default() -> Self {
        Self {
            started: AtomicU64::new(0),
            open: AtomicU64::new(0),
            measure_at: AtomicU64::new(Nanos::MAX),
            stop: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            mailbox: Mutex::new(Box::new(Second::new())),
            run_queue: OnceLock::new(),
        }
    }
}

impl WorkerStatus {
    /// Connections started so far, in any phase.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Publishes the number of connections started so far.
    pub fn report_started(&self, count: u64) {
        self.started.store(count, Ordering::Relaxed);
    }

    /// Open connections in the warm-up: those with a completed handshake.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Publishes the number of open connections.
    pub fn report_open(&self, count: u64) {
        self.open.store(count, Ordering::Relaxed);
    }

    /// Moves the start of the measurement to this instant, if it is earlier.
    pub fn measure_at(&self, instant: Nanos) {
        self.measure_at.store(instant, Ordering::Relaxed);
    }

    /// The latest start of the measurement.
    pub fn measures_at(&self) -> Nanos {
        self.measure_at.load(Ordering::Relaxed)
    }

    /// Publishes where the kernel counts the worker's waits for its processor.
    pub fn waits_in(&self, run_queue: RunQueue) {
        self.run_queue.get_or_init(|| run_queue);
    }

    /// The time for which the worker was ready and waited for its processor so far, if known.
    pub fn waited(&self) -> Option<Nanos> {
        self.run_queue.get()?.waited()
    }

    /// Asks the worker to end its measurement now.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True if the measurement must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the worker for its counts since the last answer.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// True if the worker was asked and has not answered yet.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// The worker's answer: swaps its report for the empty one in the mailbox. `try_lock`: if the
    /// watcher holds the lock, the worker answers at the next tick.
    pub fn answer(&self, second: &mut Box<Second>) {
        if let Ok(mut mailbox) = self.mailbox.try_lock() {
            std::mem::swap(&mut *mailbox, second);
            self.asked.store(false, Ordering::Release);
        }
    }

    /// Adds the worker's answer to the other answers and to the worker's totals; leaves an empty
    /// report.
    pub fn collect(&self, all: &mut Second, totals: &mut Totals) {
        if !self.is_asked() {
            let mut answer = self.mailbox();
            totals.add(&answer);
            all.take(&mut answer);
        }
    }

    /// Adds an answer that was not collected before the worker ended.
    pub fn collect_rest(&self, totals: &mut Totals) {
        let mut answer = self.mailbox();
        totals.add(&answer);
        answer.clear();
    }

    fn mailbox(&self) -> MutexGuard<'_, Box<Second>> {
        self.mailbox.lock().expect("nobody panics with a hand in the mailbox")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_collected_once_and_a_busy_mailbox_makes_nobody_wait() {
        let status = WorkerStatus::default();
        let (mut all, mut mine) = (Second::new(), Box::new(Second::new()));
        let mut totals = Totals::default();
        mine.completed = 5;
        status.ask();
        let hand = status.mailbox.lock().unwrap();
        status.answer(&mut mine);
        assert!(status.is_asked() && mine.completed == 5);
        drop(hand);
        status.collect(&mut all, &mut totals);
        assert_eq!(all.completed, 0, "there is no answer yet");
        status.answer(&mut mine);
        assert_eq!((status.is_asked(), mine.completed), (false, 0));
        status.collect(&mut all, &mut totals);
        status.collect(&mut all, &mut totals);
        assert_eq!((all.completed, totals.completed), (5, 5));
        status.collect_rest(&mut totals);
        assert_eq!(totals.completed, 5);
    }

    /// The prefetcher fetches 64-byte lines in pairs: the data of two workers must not share such a
    /// pair.
    #[test]
    fn statuses_of_two_workers_share_no_cache_line() {
        let statuses = [WorkerStatus::default(), WorkerStatus::default()];
        let [first, second] = [0, 1].map(|index| std::ptr::from_ref(&statuses[index]).addr());
        assert!(first.is_multiple_of(128) && second - first >= 128);
    }
}

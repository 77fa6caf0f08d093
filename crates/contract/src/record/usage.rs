//! Resources used by a run: processor time, and bytes on its connections.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processor time in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// In user space.
    pub user_us: u64,
    /// In the kernel.
    pub system_us: u64,
}

impl CpuTime {
    /// User and system time together, in microseconds.
    pub fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }
}

impl std::ops::Sub for CpuTime {
    type Output = Self;

    /// The time used between two readings. Saturates at zero: the kernel's split into user and
    /// system time can move backwards.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }
}

impl std::ops::AddAssign for CpuTime {
    fn add_assign(&mut self, other: Self) {
        self.user_us += other.user_us;
        self.system_us += other.system_us;
    }
}

/// Resources that one worker used during the measurement, and those that it was kept from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerUsage {
    /// The processor that the worker was pinned to, if any.
    pub processor: Option<usize>,
    /// Processor time of the worker.
    pub cpu: CpuTime,
    /// Length of the worker's measurement in seconds.
    pub seconds: f64,
    /// The share of the processor's time that a hypervisor gave to other machines during the
    /// measurement (steal), as a lower bound: for a worker that is not pinned the smallest share of
    /// the processors that the process may use. `None` where it is not known.
    #[serde(default)]
    pub stolen: Option<f64>,
    /// The share of the processor's time in which anything ran there; for a worker that is not pinned
    /// that of all processors that the process may use. `None` where it is not known.
    #[serde(default)]
    pub processor_busy: Option<f64>,
    /// Seconds for which the worker was ready and waited for its processor: others had it, or the
    /// control group was throttled (the run-queue delay of /proc/PID/task/TID/schedstat). `None`
    /// where the kernel does not say.
    #[serde(default)]
    pub queued_s: Option<f64>,
    /// Seconds for which the process was stopped (SIGSTOP, a frozen control group), or the virtual
    /// machine paused. Stops of less than a tenth of a second are not seen.
    #[serde(default)]
    pub stopped_s: f64,
    /// `queued_s` and `stopped_s` together in each second of the measurement, the last one shorter;
    /// empty where they are not known. Waiting that has not ended counts in a later second.
    #[serde(default)]
    pub kept_off_s: Vec<f64>,
}

/// What the machine let the generator use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Supply {
    /// The number of processors that the process may use (sched_getaffinity(2)). `None` in a merged
    /// record and where it is not known.
    pub processors: Option<usize>,
    /// The processors' time that the quota of the control group allows, in processors. `None`
    /// without a quota.
    pub quota: Option<f64>,
    /// Seconds of throttling of the control group during the measurement, added up over its
    /// processors (cpu.stat). The workers' part is in their `queued_s`. `None` where it is not
    /// known.
    pub throttled_s: Option<f64>,
    /// Seconds for which the machine was suspended during the measurement. No other time of the
    /// record includes them (CLOCK_BOOTTIME - CLOCK_MONOTONIC).
    pub suspended_s: f64,
}

/// Workers that share processors, as shares of these processors' time. A worker with a processor of
/// its own is alone in its place.
///
/// The time of a place is used, lost, or free: the workers waited for peers. Lost time is that in
/// which a worker was ready and did not run. Each part of it is counted once: what a hypervisor took
/// while a worker ran is in neither its processor time nor its run-queue delay, and what it took
/// from others while the worker was queued is in the run-queue delay only.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Place {
    /// The common processor, if the workers are pinned.
    pub processor: Option<usize>,
    /// The number of workers.
    pub workers: usize,
    /// The number of processors.
    pub processors: usize,
    /// Used by the workers.
    pub used: f64,
    /// Stolen from the processors, whoever had them.
    pub stolen: f64,
    /// Spent on the run queue by workers that others kept waiting; `None` where it is not known.
    pub queued: Option<f64>,
    /// Spent stopped.
    pub stopped: f64,
}

impl Place {
    /// These workers on that many processors; at least one worker.
    fn of(workers: &[&WorkerUsage], processors: usize, supply: &Supply) -> Self {
        let mean = |of: fn(&WorkerUsage) -> f64| {
            workers.iter().map(|worker| of(worker)).sum::<f64>() / workers.len() as f64
        };
        // A sum over the workers, as a share of the time of all processors.
        let each = workers.len() as f64 / processors as f64;
        let used = each * mean(|worker| worker.cpu.total_us() as f64 / (worker.seconds * 1e6));
        let known = workers.iter().all(|worker| worker.queued_s.is_some());
        let queued = each * mean(|worker| worker.queued_s.unwrap_or_default() / worker.seconds);
        // Several workers also wait for each other, which is no loss: others are to blame for what
        // they ran, and the quota for what it withheld.
        let busy = workers.iter().filter_map(|worker| worker.processor_busy).reduce(f64::max);
        let others = busy.filter(|_| workers.len() > 1).map_or(f64::INFINITY, |busy| {
            let seconds = processors as f64 * mean(|worker| worker.seconds);
            (busy - used).max(0.0) + supply.throttled_s.unwrap_or_default() / seconds
        });
        let queued = queued.min(others).min((1.0 - used).max(0.0));
        Self {
            processor: workers[0].processor,
            workers: workers.len(),
            processors,
            used,
            stolen: mean(|worker| worker.stolen.unwrap_or_default()),
            queued: known.then_some(queued),
            stopped: mean(|worker| worker.stopped_s / worker.seconds),
        }
    }

    /// The share of the time left to the workers for which they computed: at 1 they had no time to
    /// spare. Not more than 1, except by the error of short measurements.
    pub fn busy(&self) -> f64 {
        let kept_off = self.stolen + self.queued.unwrap_or_default() + self.stopped;
        // The shares do not begin and end at the same instants, and a kernel without
        // CONFIG_PARAVIRT_TIME_ACCOUNTING charges stolen time to the thread that it interrupts.
        let left = (1.0 - kept_off).max(self.used.min(1.0));
        if left > 0.0 { self.used / left } else { 0.0 }
    }

    /// The share of the time in which a worker was ready and did not run. `None` where it is not
    /// known.
    ///
    /// Of what was stolen, the workers lost as much as they had of the processor's other time, at
    /// least.
    pub fn lost(&self) -> Option<f64> {
        let stolen = self.used * self.stolen / (1.0 - self.stolen).max(f64::EPSILON);
        let lost = self.queued? + self.stopped + stolen;
        Some(lost.min(1.0 - self.used).max(0.0))
    }
}

/// The places of the workers that have measured. Those that are not pinned share the processors of
/// the process if they are more than these, otherwise each is alone.
pub fn places(workers: &[WorkerUsage], supply: &Supply) -> Vec<Place> {
    let mut pinned: BTreeMap<usize, Vec<&WorkerUsage>> = BTreeMap::new();
    let mut free = Vec::new();
    for worker in workers.iter().filter(|worker| worker.seconds > 0.0) {
        match worker.processor {
            Some(processor) => pinned.entry(processor).or_default().push(worker),
            None => free.push(worker),
        }
    }
    let pinned = pinned.values().map(|workers| Place::of(workers, 1, supply));
    match supply.processors.filter(|processors| (1..free.len()).contains(processors)) {
        Some(processors) => pinned.chain([Place::of(&free, processors, supply)]).collect(),
        None => pinned.chain(free.iter().map(|worker| Place::of(&[worker], 1, supply))).collect(),
    }
}

/// The share of the time left to it for which the busiest place computed; at most 1. `None` without
/// a place.
pub fn busiest(places: &[Place]) -> Option<f64> {
    places.iter().map(|place| place.busy().min(1.0)).reduce(f64::max)
}

/// Bytes over the connections that ended in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// TCP payload sent before the handshake was complete, the client's Finished included.
    pub handshake_sent: u64,
    /// TCP payload received before the handshake was complete.
    pub handshake_received: u64,
    /// TCP payload sent in total.
    pub sent: u64,
    /// TCP payload received in total.
    pub received: u64,
    /// Bytes of HTTP response heads received.
    pub head: u64,
    /// Bytes of HTTP response bodies received.
    pub body: u64,
}

impl std::ops::AddAssign<&Bytes> for Bytes {
    fn add_assign(&mut self, other: &Self) {
        self.handshake_sent += other.handshake_sent;
        self.handshake_received += other.handshake_received;
        self.sent += other.sent;
        self.received += other.received;
        self.head += other.head;
        self.body += other.body;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker of a measurement of ten seconds, in which it computed and waited for so long.
    fn worker(processor: Option<usize>, used_s: f64, queued_s: f64) -> WorkerUsage {
        let cpu = CpuTime { user_us: (used_s * 1e6) as u64, system_us: 0 };
        let queued_s = Some(queued_s);
        WorkerUsage { processor, cpu, seconds: 10.0, queued_s, ..WorkerUsage::default() }
    }

    fn on(workers: &[WorkerUsage], processors: usize) -> Vec<Place> {
        places(workers, &Supply { processors: Some(processors), ..Supply::default() })
    }

    fn close(found: impl Into<Option<f64>>, expected: f64) {
        let found = found.into().unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn workers_on_one_processor_count_together() {
        let [place] = on(&[1, 1, 1, 1].map(|on| worker(Some(on), 2.5, 7.5)), 2)[..] else {
            panic!("one processor is one place")
        };
        assert_eq!((place.workers, place.processors), (4, 1));
        close(place.used, 1.0);
        close(place.busy(), 1.0);
        // While one of them waits, another one runs.
        close(place.lost(), 0.0);
    }

    #[test]
    fn a_worker_beside_another_program_has_no_time_to_spare() {
        let [place] = on(&[worker(Some(1), 4.9, 5.1)], 2)[..] else { panic!("one worker") };
        close(place.busy(), 1.0);
        close(place.lost(), 0.51);
    }

    #[test]
    fn workers_that_are_not_pinned_are_alone_unless_they_are_too_many() {
        let two = [worker(None, 9.0, 0.0), worker(None, 1.0, 0.0)];
        let shares: Vec<f64> = on(&two, 2).iter().map(Place::busy).collect();
        assert_eq!(shares, [0.9, 0.1]);
        let [together] = on(&two, 1)[..] else { panic!("one processor is one place") };
        close(together.busy(), 1.0);
        assert_eq!(places(&two, &Supply::default()).len(), 2);
        let four = [0, 1, 2, 3].map(|_| worker(None, 4.9, 5.1));
        let [together] = on(&four, 2)[..] else { panic!("they share two processors") };
        close(together.used, 0.98);
        close(together.lost(), 0.02);
    }

    #[test]
    fn workers_that_wait_for_each_other_lose_only_what_others_ran() {
        let four = |busy| {
            let each = WorkerUsage { processor_busy: busy, ..worker(Some(1), 1.5, 1.0) };
            [each.clone(), each.clone(), each.clone(), each]
        };
        let lost = |busy| on(&four(busy), 2)[0].lost();
        close(lost(Some(0.6)), 0.0);
        close(on(&four(Some(0.6)), 2)[0].busy(), 0.6);
        close(lost(Some(0.75)), 0.15);
        close(lost(Some(1.0)), 0.4);
        close(lost(None), 0.4);
        // A quota withholds processors that nobody uses then.
        let supply = Supply { throttled_s: Some(3.0), ..Supply::default() };
        close(places(&four(Some(0.6)), &supply)[0].lost(), 0.3);
    }

    #[test]
    fn parts_of_lost_time_add_up_once_and_never_to_more_than_was_left() {
        let mut one = worker(None, 4.0, 1.0);
        one.stopped_s = 0.5;
        one.stolen = Some(0.2);
        let lost = |worker: &WorkerUsage| on(std::slice::from_ref(worker), 1)[0].lost();
        // Queued 0.1, stopped 0.05, and of the stolen 0.2 what 0.4 is of the 0.8 that were left.
        close(lost(&one), 0.25);
        one.stolen = Some(0.9);
        close(lost(&one), 0.6);
        one.queued_s = None;
        assert_eq!(lost(&one), None);
    }

    #[test]
    fn a_worker_that_has_not_measured_has_no_place() {
        assert_eq!(on(&[WorkerUsage::default()], 1), []);
    }
}

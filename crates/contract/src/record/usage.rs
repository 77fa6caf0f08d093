//! Resources used by a run: processor time, and bytes on its connections.

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

/// Resources that one worker used during the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerUsage {
    /// The processor that the worker was pinned to, if any.
    pub processor: Option<usize>,
    /// Processor time of the worker.
    pub cpu: CpuTime,
    /// Length of the worker's measurement in seconds.
    pub seconds: f64,
    /// The share of the processor's time that a hypervisor gave to other machines during the
    /// measurement (steal), as a lower bound: the smallest of all processors' shares for a worker
    /// that is not pinned. `None` where it is not known.
    #[serde(default)]
    pub stolen: Option<f64>,
}

impl WorkerUsage {
    /// The share of the time left to it by a hypervisor for which the worker computed: at 1 it had
    /// no time to spare. Not finite if the measurement has no length.
    pub fn busy(&self) -> f64 {
        let used = self.cpu.total_us() as f64 / (self.seconds * 1e6);
        // The two shares do not begin and end at the same instants, and a kernel without
        // CONFIG_PARAVIRT_TIME_ACCOUNTING charges stolen time to the thread that it interrupts.
        let left = (1.0 - self.stolen.unwrap_or_default()).max(used.min(1.0));
        if left > 0.0 { used / left } else { 0.0 }
    }
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

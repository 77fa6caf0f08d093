//! The machine that the generator runs on.

use std::thread;

use tlslab_contract::record::Environment;

/// Reads kernel release and processor model. The record needs them because a generator may run on
/// another host than the lab.
pub fn environment() -> Environment {
    let kernel = nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default();
    Environment {
        kernel,
        processor: processor_name(),
        processors: thread::available_parallelism().map_or(1, Into::into),
    }
}

#[cfg(target_arch = "x86_64")]
fn processor_name() -> String {
    use std::arch::x86_64::__cpuid;
    // The name is in three leaves of sixteen bytes (Intel SDM, CPUID, 80000002H to 80000004H).
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return String::new();
    }
    let bytes: Vec<u8> = (0x8000_0002..=0x8000_0004u32)
        .map(__cpuid)
        .flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx])
        .flat_map(u32::to_le_bytes)
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_name() -> String {
    std::env::consts::ARCH.to_owned()
}

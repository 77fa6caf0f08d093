//! The code that the libraries select on this processor.

/// The processor features by which aws-lc and OpenSSL select their implementations: CPUID leaf 1
/// (ECX, EDX) and leaf 7 (EBX, ECX), as this process sees them, in hexadecimal. Two machines with
/// the same value run the same instructions. A simulator shows its own features.
#[cfg(target_arch = "x86_64")]
pub fn code_path() -> String {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    /// Bits of leaf 1, ECX, that do not affect the code: OSXSAVE and the hypervisor bit.
    const STATE: u32 = 1 << 27 | 1 << 31;
    let most = __cpuid(0).eax;
    let first = __cpuid(1);
    let (extended, more) = match most >= 7 {
        true => (__cpuid_count(7, 0).ebx, __cpuid_count(7, 0).ecx),
        false => (0, 0),
    };
    format!("x86_64-{:08x}-{:08x}-{extended:08x}-{more:08x}", first.ecx & !STATE, first.edx)
}

/// The name of the architecture: the features of others are not read here.
#[cfg(not(target_arch = "x86_64"))]
pub fn code_path() -> String {
    std::env::consts::ARCH.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_processor_has_the_same_path() {
        assert_eq!(code_path(), code_path());
        assert!(code_path().starts_with(std::env::consts::ARCH));
    }
}

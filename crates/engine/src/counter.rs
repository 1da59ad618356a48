//! Reads the processor's time counter, which differs by architecture.
//!
//! Both counters can be read in user mode. The reading waits until all earlier instructions have finished.

use std::arch::asm;

/// Name of the counter in documents.
#[cfg(target_arch = "x86_64")]
pub(crate) const NAME: &str = "TSC";
/// Name of the counter in documents.
#[cfg(target_arch = "aarch64")]
pub(crate) const NAME: &str = "CNTVCT";

/// The time-stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn count() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: every x86-64 processor has both instructions, and they change only the two named registers. The
    // block does not promise to leave memory alone, so the compiler moves no memory access across the
    // reading.
    unsafe {
        asm!("lfence", "rdtsc", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    high << 32 | low
}

/// The virtual counter of the generic timer. If a processor's counter has an erratum, Linux traps the
/// instruction and emulates it.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn count() -> u64 {
    let counter: u64;
    // SAFETY: every processor of the architecture has both instructions, and Linux allows user mode to read
    // the counter. They change only the named register. The block does not promise to leave memory alone, so
    // the compiler moves no memory access across the reading.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags));
    }
    counter
}

/// Whether the processor counts at the same rate in all power states (Intel SDM vol. 2, CPUID leaf
/// 8000_0007h, EDX bit 8).
#[cfg(target_arch = "x86_64")]
pub(crate) fn invariant() -> bool {
    const HIGHEST: u32 = 0x8000_0000;
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    cpuid(HIGHEST)[0] >= POWER && cpuid(POWER)[3] & INVARIANT != 0
}

/// Whether the processor counts at the same rate in all power states. The architecture requires it (Arm
/// Architecture Reference Manual, "The Generic Timer").
#[cfg(target_arch = "aarch64")]
pub(crate) fn invariant() -> bool {
    true
}

/// EAX to EDX of a leaf without subleaves.
#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32) -> [u32; 4] {
    let (eax, ebx, ecx, edx): (u32, u64, u32, u32);
    // SAFETY: every x86-64 processor has the instruction. RBX is reserved by the compiler, so it is saved in
    // the register that receives its result.
    unsafe {
        asm!(
            "mov {saved}, rbx",
            "cpuid",
            "xchg {saved}, rbx",
            saved = out(reg) ebx,
            inout("eax") leaf => eax,
            inout("ecx") 0 => ecx,
            out("edx") edx,
            options(nostack, nomem, preserves_flags),
        );
    }
    [eax, ebx as u32, ecx, edx]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_goes_on_while_a_thread_sleeps() {
        let before = count();
        std::thread::sleep(std::time::Duration::from_millis(2));
        // The counters run at 1 MHz or more.
        assert!(count() - before >= 2_000);
    }
}

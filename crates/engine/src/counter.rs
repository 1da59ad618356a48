//! The counter by which processors tell the time, as each architecture has it.
//!
//! Both read it in user mode and in order: what came earlier in the program was carried out before.

use std::arch::asm;

/// What documents call it.
#[cfg(target_arch = "x86_64")]
pub(crate) const NAME: &str = "TSC";
/// What documents call it.
#[cfg(target_arch = "aarch64")]
pub(crate) const NAME: &str = "CNTVCT";

/// The time-stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn count() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: every x86-64 processor has both instructions; they touch the two named registers
    // only. That the block may touch memory is left open on purpose, so that the compiler moves no
    // access across the reading.
    unsafe {
        asm!("lfence", "rdtsc", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
    }
    high << 32 | low
}

/// The virtual counter of the generic timer. Where a processor's own has an erratum, Linux traps the
/// instruction and answers itself.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn count() -> u64 {
    let counter: u64;
    // SAFETY: every processor of the architecture has both instructions, and Linux lets user mode
    // read the counter; they touch the named register only. That the block may touch memory is left
    // open on purpose, so that the compiler moves no access across the reading.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", out(reg) counter, options(nostack, preserves_flags));
    }
    counter
}

/// Whether the processor counts at one rate in all its states (Intel SDM vol. 2, CPUID leaf
/// 8000_0007h, EDX bit 8).
#[cfg(target_arch = "x86_64")]
pub(crate) fn invariant() -> bool {
    const HIGHEST: u32 = 0x8000_0000;
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    cpuid(HIGHEST)[0] >= POWER && cpuid(POWER)[3] & INVARIANT != 0
}

/// Whether the processor counts at one rate in all its states: the architecture demands it (Arm
/// Architecture Reference Manual, "The Generic Timer").
#[cfg(target_arch = "aarch64")]
pub(crate) fn invariant() -> bool {
    true
}

/// EAX to EDX of a leaf without subleaves.
#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32) -> [u32; 4] {
    let (eax, ebx, ecx, edx): (u32, u64, u32, u32);
    // SAFETY: every x86-64 processor has the instruction; RBX, which the compiler keeps for
    // itself, is saved in the register that takes its result.
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
        // The architectures count at 1 MHz at least.
        assert!(count() - before >= 2_000);
    }
}

//! Describes the processors: how many are usable, their clock rate, and what makes CPU times uncertain.

use crate::kernel::read::Roots;
use crate::kernel::windows::unsafe_calls::{
    local_machine_number, process_affinity, system_times_100ns,
};
use record::CpuClock;
use std::collections::BTreeSet;

pub(crate) const FIRST_PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";

/// Processors of its group that this process may run on; empty if the system does not report them.
pub(crate) fn allowed() -> BTreeSet<u32> {
    let (ours, _) = process_affinity().unwrap_or((0, 0));
    (0..usize::BITS).filter(|number| ours >> number & 1 == 1).collect()
}

/// Processors that this process may use, so that each can have a soaker.
pub(crate) fn soakable(_roots: &Roots) -> BTreeSet<u32> {
    allowed()
}

/// CPU time that this process may use, in processors; 0 if unknown.
pub(crate) fn usable(_roots: &Roots) -> f64 {
    allowed().len() as f64
}

/// The nominal clock, as detected at boot.
pub(crate) fn clock() -> Option<CpuClock> {
    let mhz = local_machine_number(FIRST_PROCESSOR, "~MHz").filter(|&mhz| mhz > 0)?;
    Some(CpuClock { hz: f64::from(mhz) * 1e6, source: "registry".to_owned() })
}

/// Time of all processors since boot, in 100 ns: user, nice, system, idle, iowait, irq, softirq and steal,
/// of which Windows reports three.
pub(crate) fn cpu_ticks(_roots: &Roots) -> Option<[u64; 8]> {
    let (idle, kernel, user) = system_times_100ns()?;
    // The kernel time includes the idle time.
    Some([user, 0, kernel.saturating_sub(idle), idle, 0, 0, 0, 0])
}

/// What makes a comparison of CPU time uncertain here, each as a clause.
pub(crate) fn doubts(_roots: &Roots, soaked: &BTreeSet<u32>) -> Vec<String> {
    let mut doubts = vec![
        "Windows does not report the current CPU frequency, so it may be changing with the load"
            .to_owned(),
        "a background thread's own CPU time is counted in ticks of about 15 ms".to_owned(),
    ];
    let (_, all) = process_affinity().unwrap_or((0, 0));
    let unseen: Vec<String> = (0..usize::BITS)
        .filter(|number| all >> number & 1 == 1 && !soaked.contains(number))
        .map(|number| number.to_string())
        .collect();
    if !unseen.is_empty() {
        let list = unseen.join(", ");
        doubts
            .push(format!("work on CPUs outside this process's affinity is not counted ({list})"));
    }
    doubts
}

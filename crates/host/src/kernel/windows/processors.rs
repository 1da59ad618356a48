//! The processors: how many are ours, how fast they tick, and what makes their time unsure.

use crate::kernel::read::Roots;
use crate::kernel::windows::unsafe_calls::{
    local_machine_number, process_affinity, system_times_100ns,
};
use record::CpuClock;
use std::collections::BTreeSet;

/// Where the registry describes the first processor.
pub(crate) const FIRST_PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";

/// Processors of this process's group that it may run on; none where the system does not tell.
pub(crate) fn allowed() -> BTreeSet<u32> {
    let (ours, _) = process_affinity().unwrap_or((0, 0));
    (0..usize::BITS).filter(|number| ours >> number & 1 == 1).collect()
}

/// Processors that this process may use, and a soaker with it.
pub(crate) fn soakable(_roots: &Roots) -> BTreeSet<u32> {
    allowed()
}

/// How many processors' worth of time this process may use, 0 where that is not known.
pub(crate) fn usable() -> f64 {
    allowed().len() as f64
}

/// The nominal clock, as the system found it when it started.
pub(crate) fn clock() -> Option<CpuClock> {
    let mhz = local_machine_number(FIRST_PROCESSOR, "~MHz").filter(|&mhz| mhz > 0)?;
    Some(CpuClock { hz: f64::from(mhz) * 1e6, source: "registry".to_owned() })
}

/// Time of all processors since the system started, in 100 ns: user, nice, system, idle, iowait, irq,
/// softirq and steal, of which Windows tells three.
pub(crate) fn cpu_ticks(_roots: &Roots) -> Option<[u64; 8]> {
    let (idle, kernel, user) = system_times_100ns()?;
    // The time of the kernel holds the idle time.
    Some([user, 0, kernel.saturating_sub(idle), idle, 0, 0, 0, 0])
}

/// What makes a comparison of CPU time unsure here, each a clause.
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

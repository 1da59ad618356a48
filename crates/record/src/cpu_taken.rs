//! CPU time that halfpower did not get, because the hypervisor or other programs used it.

use crate::{Finding, FindingCode, Trial, format_share};

/// Share of all CPU time from which steal is reported.
const STEAL_SHARE: f64 = 0.05;
/// Share of all CPU time from which the time of other programs is reported, if no CPU is free.
const OTHERS_SHARE: f64 = 0.2;
/// Share of all CPU time that must be idle for a thread to find a free CPU at once.
const IDLE_SHARE: f64 = 0.1;

/// The warning that trials lost CPU time; `None` if they lost little, or if the system does not report it.
/// The shares are those of all trials together.
#[must_use]
pub fn cpu_taken<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<Finding> {
    let (mut all_ms, mut steal_ms, mut others_ms, mut idle_ms) = (0.0, 0.0, 0.0, 0.0);
    for cpu in trials.into_iter().filter_map(|trial| trial.cpu.value()) {
        let Some(of_trial_ms) = cpu.all_cpus_ms else { continue };
        all_ms += of_trial_ms;
        steal_ms += cpu.steal_ms.unwrap_or(0.0);
        others_ms += cpu.others_user_ms.unwrap_or(0.0);
        idle_ms += cpu.idle_ms.unwrap_or(of_trial_ms);
    }
    let share = |ms: f64| ms / f64::max(all_ms, 1e-9);
    let (mut takers, mut remedies) = (Vec::new(), Vec::new());
    if share(steal_ms) > STEAL_SHARE {
        let taken = format_share(share(steal_ms));
        takers.push(format!("The hypervisor took {taken} of the CPU time."));
        remedies.push("run again when the host is quiet");
    }
    if share(others_ms) > OTHERS_SHARE && share(idle_ms) < IDLE_SHARE {
        let (used, idle) = (format_share(share(others_ms)), format_share(share(idle_ms)));
        takers.push(format!("Other programs used {used} of the CPU time, and {idle} was idle."));
        remedies.push("stop other programs, or run again when they need less CPU time");
    }
    if takers.is_empty() {
        return None;
    }
    let claim = format!("{} Latencies may include a wait for a CPU.", takers.join(" "));
    let remedy = format!("To see the disk alone, {}.", remedies.join(", and "));
    Some(
        Finding::warning(FindingCode::CpuTaken, claim, remedy)
            .with("steal", steal_ms, "ms")
            .with("other programs in user mode", others_ms, "ms")
            .with("idle", idle_ms, "ms")
            .with("all CPU time", all_ms, "ms"),
    )
}

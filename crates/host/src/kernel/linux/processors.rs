//! The processors: how many are ours, how fast they tick, and what makes their time unsure.
//!
//! Frequency scaling, a second hardware thread on the same core, a host that takes time away and a
//! quota all change what a processor's time is worth, so each of them is read here as a clause. The
//! clock is the one in use (cpufreq), else the one of /proc/cpuinfo, which in a virtual machine is
//! the nominal one. Rejected: the rate of the time-stamp counter and CPUID leaf 0x16 (nominal too).

use crate::kernel::linux::cgroup::cpu_quota;
pub(crate) use crate::kernel::read::cpu_ticks;
use crate::kernel::read::{Roots, cpu_list, field, names, text};
use record::CpuClock;
use std::collections::BTreeSet;

const CPUS: &str = "devices/system/cpu";

/// Processors that this process may run on; none where the kernel does not tell.
pub(crate) fn allowed(roots: &Roots) -> BTreeSet<u32> {
    let status = text(&roots.proc.join("self/status")).unwrap_or_default();
    cpu_list(field(&status, "Cpus_allowed_list").unwrap_or_default())
}

/// The processors of a list of the kernel (`online`, `isolated`, `nohz_full`); none where it does
/// not tell.
pub(crate) fn listed(roots: &Roots, list: &str) -> BTreeSet<u32> {
    cpu_list(&text(&roots.sys.join(CPUS).join(list)).unwrap_or_default())
}

/// Processors that run and that this process may use.
pub(crate) fn soakable(roots: &Roots) -> BTreeSet<u32> {
    let (allowed, online) = (allowed(roots), listed(roots, "online"));
    if online.is_empty() { allowed } else { &allowed & &online }
}

/// How many processors' worth of time this process may use, 0 where that is not known.
pub(crate) fn usable(roots: &Roots) -> f64 {
    let allowed = allowed(roots).len() as f64;
    cpu_quota(roots).map_or(allowed, |quota| quota.min(allowed))
}

/// The fastest clock among the processors at this moment: that of whoever was working.
pub(crate) fn clock(roots: &Roots) -> Option<CpuClock> {
    let in_use = each_cpu(roots, "cpufreq/scaling_cur_freq");
    let fastest_khz = in_use.iter().filter_map(|khz| khz.parse::<u64>().ok()).max();
    if let Some(khz) = fastest_khz.filter(|&khz| khz > 0) {
        return Some(CpuClock { hz: khz as f64 * 1e3, source: "cpufreq".to_owned() });
    }
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let mhz: f64 = field(&cpuinfo, "cpu MHz")?.parse().ok()?;
    (mhz > 0.0).then(|| CpuClock { hz: mhz * 1e6, source: "cpuinfo".to_owned() })
}

pub(crate) fn governors(roots: &Roots) -> BTreeSet<String> {
    each_cpu(roots, "cpufreq/scaling_governor").into_iter().collect()
}

/// What each processor's directory says in one of its files, where it has it.
fn each_cpu(roots: &Roots, file: &str) -> Vec<String> {
    let cpus = roots.sys.join(CPUS);
    let is_cpu =
        |name: &String| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok());
    names(&cpus)
        .iter()
        .filter(|name| is_cpu(name))
        .filter_map(|name| text(&cpus.join(name).join(file)))
        .collect()
}

/// What makes a comparison of CPU time unsure here, each a clause; `soaked` are the
/// processors that are watched.
pub(crate) fn doubts(roots: &Roots, soaked: &BTreeSet<u32>) -> Vec<String> {
    let mut doubts = Vec::new();
    let cpus = roots.sys.join(CPUS);
    if let Some(governor) = governors(roots).iter().find(|governor| *governor != "performance") {
        doubts.push(format!(
            "the frequency governor is {governor}: the CPU frequency follows the \
                             load"
        ));
    }
    let says = |file: &str, word: &str| text(&cpus.join(file)).is_some_and(|text| text == word);
    if says("cpufreq/boost", "1") || says("intel_pstate/no_turbo", "0") {
        doubts.push(
            "turbo boost is on: the CPU frequency depends on how many CPUs are busy".to_owned(),
        );
    }
    if says("smt/active", "1") {
        doubts.push(
            "hardware threads share cores (SMT): a background thread on the core of the load runs \
             slower, and the difference counts as load"
                .to_owned(),
        );
    }
    if let Some(quota) = cpu_quota(roots) {
        doubts.push(format!(
            "a control group's quota allows {quota:.2} CPUs: the background threads use it up"
        ));
    }
    let unseen: Vec<String> =
        listed(roots, "online").difference(soaked).map(ToString::to_string).collect();
    if !unseen.is_empty() {
        let list = unseen.join(", ");
        doubts
            .push(format!("work on CPUs outside this process's affinity is not counted ({list})"));
    }
    let isolated = text(&cpus.join("isolated")).unwrap_or_default();
    if !cpu_list(&isolated).is_empty() {
        doubts.push(format!("some CPUs are isolated from the scheduler ({isolated})"));
    }
    doubts
}

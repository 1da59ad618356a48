//! Describes the processors: how many are usable, their clock rate, and what makes CPU times uncertain.
//!
//! Frequency scaling, a second hardware thread on the same core, a host that takes time away, and a quota
//! all change the value of processor time, so each is reported here as a clause. The clock is the one in
//! use (cpufreq), otherwise the one in /proc/cpuinfo, which in a virtual machine is the nominal one.
//! Rejected: the rate of the time-stamp counter and CPUID leaf 0x16 (nominal too).

use crate::kernel::linux::cgroup::cpu_quota;
pub(crate) use crate::kernel::read::cpu_ticks;
use crate::kernel::read::{Roots, cpu_list, field, names, text};
use record::CpuClock;
use std::collections::BTreeSet;

const CPUS: &str = "devices/system/cpu";

/// Processors that this process may run on; empty if the kernel does not report them.
pub(crate) fn allowed(roots: &Roots) -> BTreeSet<u32> {
    let status = text(&roots.proc.join("self/status")).unwrap_or_default();
    cpu_list(field(&status, "Cpus_allowed_list").unwrap_or_default())
}

/// The processors in a list of the kernel (`online`, `isolated`, `nohz_full`); empty if not reported.
pub(crate) fn listed(roots: &Roots, list: &str) -> BTreeSet<u32> {
    cpu_list(&text(&roots.sys.join(CPUS).join(list)).unwrap_or_default())
}

/// Online processors that this process may use.
pub(crate) fn soakable(roots: &Roots) -> BTreeSet<u32> {
    let (allowed, online) = (allowed(roots), listed(roots, "online"));
    if online.is_empty() { allowed } else { &allowed & &online }
}

/// CPU time that this process may use, in processors; 0 if unknown.
pub(crate) fn usable(roots: &Roots) -> f64 {
    let allowed = allowed(roots).len() as f64;
    cpu_quota(roots).map_or(allowed, |quota| quota.min(allowed))
}

/// The fastest clock among the processors at this moment: that of a busy one.
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

/// The contents of one file in each processor's directory, where it exists.
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

/// What makes a comparison of CPU time uncertain, each as a clause; `soaked` are the watched processors.
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

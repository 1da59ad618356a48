//! Checks whether the load generator itself was the bottleneck: its own rate, its processor, its clock, or
//! resources that the kernel refused.

use super::{in_memory, traffic};
use record::{
    Arrival, Confidence, EngineName, Finding, FindingCode, Trial, format_iops, format_nanos,
    format_share,
};

/// Share of the harness's ceiling above which a job's rate may be the harness's own.
const CEILING_SHARE: f64 = 0.5;
/// Busy share of the jobs' processors from which they may be the bottleneck.
const BUSY_SHARE: f64 = 0.9;
/// Share of the mean latency that reading the clock may take.
const CLOCK_SHARE: f64 = 0.1;
/// Linux clock sources that are read in user space, within tens of nanoseconds. The others need a register
/// access over a bus, or only count timer ticks.
const FAST_SOURCES: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen"];

/// A job's rate is close to the limit of the program itself.
pub(super) fn ceiling(trial: &Trial) -> Option<Finding> {
    let harness = trial.harness.value()?;
    let per_job = trial.iops() / f64::from(trial.workload.numjobs.max(1));
    let near = per_job > CEILING_SHARE * harness.ceiling_iops;
    (trial.workload.engine != EngineName::Null && near).then(|| {
        Finding::warning(
            FindingCode::HarnessLimit,
            format!(
                "A job reached {}; the limit of halfpower on this machine is {}.",
                format_iops(per_job),
                format_iops(harness.ceiling_iops)
            ),
            "Increase --numjobs.",
        )
        .with("rate per job", per_job, "IOPS")
        .with("ceiling", harness.ceiling_iops, "IOPS")
    })
}

/// The jobs' processors were busy all the time, which does not happen while they wait for a device.
pub(super) fn processor(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let cpu = trial.cpu.value()?;
    // Polling keeps a processor busy whatever the device does; memory is limited by the processor anyway.
    let busy_anyway = workload.polled || workload.sqpoll || workload.arrival != Arrival::Closed;
    let served_above = traffic(trial).is_some_and(|traffic| traffic.less());
    let memory = in_memory(trial) || !workload.cache.direct() || served_above;
    let null = workload.engine == EngineName::Null;
    if busy_anyway || memory || null || ceiling(trial).is_some() {
        return None;
    }
    let cpus = trial.environment.as_ref().map_or(workload.numjobs, |it| it.cpus.max(1));
    let used = f64::from(workload.numjobs.min(cpus).max(1));
    let available_ms = used * trial.result.duration_ns.as_secs_f64() * 1e3;
    let spent_ms = (cpu.user_ms + cpu.system_ms - cpu.workers_ms).max(0.0);
    let share = spent_ms / available_ms.max(1e-9);
    (trial.completed() > 0 && share > BUSY_SHARE).then(|| {
        let (who, remedy) = if workload.numjobs < cpus {
            ("The jobs kept their CPUs", "Increase --numjobs: this machine has more CPUs.")
        } else {
            (
                "The jobs kept all CPUs",
                "This machine cannot drive the target any faster; larger requests (--bs) cost less \
                 CPU per byte.",
            )
        };
        Finding::warning(
            FindingCode::HarnessLimit,
            format!(
                "{who} busy {} of the time: the rate may be limited by the CPU, not by the device.",
                format_share(share.min(1.0))
            ),
            remedy,
        )
        .with("CPU time", spent_ms, "ms")
        .confidence(Confidence::Likely)
    })
}

/// A clock that is slow, or whose readings are a large part of the latencies.
pub(super) fn clock(trial: &Trial) -> Option<Finding> {
    let harness = trial.harness.value()?;
    let latency = trial.latency_ns();
    // A request is surrounded by two readings; half of each is within the measured time.
    let share = latency.map_or(0.0, |latency| harness.clock_cost_ns / latency.max(1.0));
    let source = trial.environment.as_ref().and_then(|it| it.clocksource.as_deref());
    let slow = source.is_some_and(|source| !FAST_SOURCES.contains(&source));
    let dear = share > CLOCK_SHARE && trial.workload.engine != EngineName::Null;
    if !slow && !dear {
        return None;
    }
    let reading = format_nanos(harness.clock_cost_ns);
    let claim = match source.filter(|_| slow) {
        Some(source) => format!(
            "The kernel does not trust the CPU's time-stamp counter and uses {source} instead; \
             reading this clock ({}) takes {reading}.",
            harness.clock
        ),
        None => format!(
            "Reading the clock ({}) takes {reading}, {} of the mean latency.",
            harness.clock,
            format_share(share)
        ),
    };
    Some(
        Finding::warning(
            FindingCode::ClockUnsound,
            claim,
            "dmesg shows why the kernel dropped the counter; available_clocksource, next to \
             current_clocksource in sysfs, lists the alternatives.",
        )
        .with("a reading", harness.clock_cost_ns, "ns")
        .with("mean latency", latency.unwrap_or_default(), "ns")
        .confidence(Confidence::Likely),
    )
}

/// Buffers or files that the kernel did not register, for want of lockable memory.
pub(super) fn locked_memory(trial: &Trial) -> Option<Finding> {
    let features = &trial.harness.value()?.engine_features;
    let line = features.iter().find(|feature| feature.contains("(ulimit -l)"))?;
    let workload = &trial.workload;
    let need = u64::from(workload.iodepth).saturating_mul(workload.max_bs().0);
    Some(
        Finding::note(
            FindingCode::LockedMemory,
            format!(
                "The kernel refused to pin memory, so each request costs more CPU time: {line}."
            ),
            "Raise the limit (ulimit -l, LimitMEMLOCK= of a service), or run as root.",
        )
        .with("buffers of a job", need as f64, "bytes"),
    )
}

pub(super) fn no_io(trial: &Trial) -> Option<Finding> {
    (trial.workload.engine == EngineName::Null).then(|| {
        Finding::warning(
            FindingCode::NoDevice,
            "The null engine does no I/O: the result is the limit of halfpower, not of the target.",
            "Use another --ioengine to measure the target.",
        )
    })
}

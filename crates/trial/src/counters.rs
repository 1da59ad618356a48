//! Reports the counters of the device and the processors over the steady part of a run.

use crate::cost::cpu_cost;
use crate::steady_window::SteadyWindow;
use crate::{Slice, TRIM};
use engine::{DeviceSample, ProbeSample};
use record::{
    ComponentUse, CpuCost, DeviceCounters, EndedBy, EngineName, Nanos, OpKind, PhaseUse, Workload,
    format_nanos,
};
use stats::Ordered;

/// Maximum lateness of a counter reading, as a part (one in 50) of the time between the boundaries, but at
/// least one millisecond. Beyond that, the counters do not match the jobs.
const LATENESS_PARTS: u64 = 50;

/// The readings at both ends of the steady part, and the time between them.
struct Readings<'a> {
    before: &'a ProbeSample,
    after: &'a ProbeSample,
    span_ns: f64,
}

/// The readings, or why they do not match the steady part: they were taken too far from its ends, as
/// happens when the jobs leave no processor to the thread that reads them. Once the jobs have finished all
/// of their requests, the system is idle, and the last reading may be taken at any time.
fn readings<'a>(steady: &SteadyWindow<'a>) -> Result<Readings<'a>, String> {
    let measurement = steady.measurement;
    let Some(before) = measurement.before.get(steady.cut) else {
        return Err("the counters were not read at the end of the warm-up".to_owned());
    };
    let after = &measurement.after;
    let (begin, end) = (steady.begin, measurement.end);
    let all_done =
        matches!(measurement.ended_by, Some(EndedBy::Bytes | EndedBy::Passes | EndedBy::Recording));
    let last = if all_done { after.at.min(end) } else { after.at };
    let late = before.at.since(begin).max(last.since(end));
    let allowed = Nanos((end.since(begin).0 / LATENESS_PARTS).max(1_000_000));
    if late > allowed {
        return Err(format!(
            "the counters were read {} late because the CPUs were busy with the jobs",
            format_nanos(late.0 as f64)
        ));
    }
    // If the first reading was taken early, no requests ran between it and the begin.
    let span_ns = last.since(before.at.max(begin)).0.max(1) as f64;
    Ok(Readings { before, after, span_ns })
}

/// Minimum steps of CPU time in a window; the error at the two ends is then at most 3 %.
const STEPS_MIN: f64 = 64.0;

pub(crate) fn cpu(steady: &SteadyWindow<'_>, ours: &Slice) -> Result<CpuCost, String> {
    let measurement = steady.measurement;
    let not_counted = || measurement.probe.no_cpu_reason.clone();
    let after = measurement.after.cpu.ok_or_else(not_counted)?;
    let readings = readings(steady)?;
    let before = readings.before.cpu.ok_or_else(not_counted)?;
    let step_ns = measurement.probe.cpu_step_ns as f64;
    if readings.span_ns < step_ns * STEPS_MIN {
        return Err(format!(
            "this system counts CPU time in steps of {}, which are too coarse for {}; measure \
             longer",
            format_nanos(step_ns),
            format_nanos(readings.span_ns)
        ));
    }
    let (split, processors) = (measurement.probe.cpu_split, &measurement.probe.processors);
    let (ios, bytes) = (ours.total_ios(), ours.total_bytes());
    Ok(cpu_cost(&before, &after, ios, bytes, ours.spin_ns, split, processors))
}

/// Maximum number of components of a kind that a document lists one by one.
const EACH_SHOWN: usize = 64;
/// Number of components listed one by one if a kind has more than that.
const BUSIEST_SHOWN: usize = 16;

/// Utilization of the components of a simulated device; empty on a real one.
pub(crate) fn components(steady: &SteadyWindow<'_>) -> Vec<ComponentUse> {
    let Ok(Readings { before, after, span_ns }) = readings(steady) else { return Vec::new() };
    let pairs = before.components.iter().zip(&after.components);
    let all: Vec<ComponentUse> = pairs
        .map(|(before, after)| {
            debug_assert_eq!(before.name, after.name, "the same components at every reading");
            let busy_ns = after.busy_ns.saturating_sub(before.busy_ns) as f64;
            // Matched by name: a phase that first occurs later is missing from the earlier readings.
            let phases = after.phases.iter().map(|phase| {
                let earlier = before.phases.iter().find(|earlier| earlier.name == phase.name);
                let earlier_ns = earlier.map_or(0, |earlier| earlier.busy_ns);
                let phase_ns = phase.busy_ns.saturating_sub(earlier_ns) as f64;
                PhaseUse { name: phase.name.to_owned(), share: phase_ns / busy_ns.max(1.0) }
            });
            ComponentUse {
                name: after.name.clone(),
                units: after.units,
                // Work is counted when it ends, so the sum may slightly exceed the window.
                busy_share: (busy_ns / (span_ns * f64::from(after.units.max(1)))).min(1.0),
                phases: phases.collect(),
            }
        })
        .collect();
    condensed(all)
}

/// The kind of a component: its name without digits.
fn kind_of(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The components; if a kind has very many, its busiest one by one and the rest as one entry. Otherwise a
/// document of a thousand drives would contain a megabyte of components.
fn condensed(all: Vec<ComponentUse>) -> Vec<ComponentUse> {
    if all.len() <= EACH_SHOWN {
        return all;
    }
    let kinds = stats::grouped(all.into_iter().map(|one| (kind_of(&one.name), one)));
    kinds.into_iter().flat_map(|(kind, members)| shown_of(&kind, members)).collect()
}

/// The busiest of many components of a kind, in their order, and the rest as one entry.
fn shown_of(kind: &str, members: Vec<ComponentUse>) -> Vec<ComponentUse> {
    if members.len() <= EACH_SHOWN {
        return members;
    }
    let mut by_share: Vec<usize> = (0..members.len()).collect();
    by_share.sort_by_cached_key(|&one| Ordered(-members[one].busy_share));
    let mut busiest = by_share[..BUSIEST_SHOWN].to_vec();
    busiest.sort_unstable();
    let mut shown: Vec<ComponentUse> = busiest.iter().map(|&one| members[one].clone()).collect();
    let others: Vec<&ComponentUse> =
        by_share[BUSIEST_SHOWN..].iter().map(|&one| &members[one]).collect();
    shown.push(others_as_one(kind, &others));
    shown
}

fn others_as_one(kind: &str, others: &[&ComponentUse]) -> ComponentUse {
    let units: u32 = others.iter().map(|other| other.units).sum();
    let busy = |other: &ComponentUse| other.busy_share * f64::from(other.units);
    let all_busy: f64 = others.iter().map(|other| busy(other)).sum();
    let mut phases: Vec<PhaseUse> = Vec::new();
    for other in others {
        for PhaseUse { name, share } in &other.phases {
            let part = if all_busy > 0.0 { share * busy(other) / all_busy } else { 0.0 };
            match phases.iter_mut().find(|phase| phase.name == *name) {
                Some(phase) => phase.share += part,
                None => phases.push(PhaseUse { name: name.clone(), share: part }),
            }
        }
    }
    let words: Vec<&str> = kind.split_whitespace().collect();
    let name = format!("other {}", words.join(" "));
    ComponentUse { name, units, busy_share: all_busy / f64::from(units.max(1)), phases }
}

/// The device's counters, or why they were not measured.
pub(crate) fn device_counters(
    workload: &Workload,
    steady: &SteadyWindow<'_>,
    ours: &Slice,
) -> Result<DeviceCounters, String> {
    let measurement = steady.measurement;
    let not_counted = || measurement.probe.no_device_reason.clone();
    let after = measurement.after.device.as_ref().ok_or_else(not_counted)?;
    if workload.engine == EngineName::Null {
        return Err("the null engine does no I/O".to_owned());
    }
    let Readings { before, span_ns, .. } = readings(steady)?;
    let before = before.device.as_ref().ok_or_else(not_counted)?;
    let trims = ours.ios[TRIM] > 0;
    let trimmed = after.ios[2].saturating_sub(before.ios[2]);
    // If there are other jobs too, the counters are still useful.
    let others = ours.ios[0] + ours.ios[1] > 0;
    if trims && trimmed == 0 && !others {
        return Err(
            "the device did not count any discards: unless it is mounted with discard, a file \
             system discards freed blocks later (fstrim) or never"
                .to_owned(),
        );
    }
    let delta = |field: fn(&DeviceSample) -> [u64; 3]| {
        let (before, after) = (field(before), field(after));
        // Only the requested directions: writes of other processes must not affect our reads.
        let read = if workload.read_percent > 0 { after[0].saturating_sub(before[0]) } else { 0 };
        let writes = workload.writes() && (ours.ios[1] > 0 || !trims);
        let write = if writes { after[1].saturating_sub(before[1]) } else { 0 };
        let trim = if trims { after[2].saturating_sub(before[2]) } else { 0 };
        read + write + trim
    };
    let (ios, bytes) = (delta(|sample| sample.ios), delta(|sample| sample.bytes));
    let only = workload.only_op().map(|op| usize::from(op == OpKind::Read));
    let other_bytes = only.map(|other| after.bytes[other].saturating_sub(before.bytes[other]));
    let merges = delta(|sample| sample.merges);
    let without = trims && trimmed == 0;
    let left_out = if without { (ours.ios[TRIM], ours.bytes[TRIM]) } else { (0, 0) };
    let (our_ios, our_bytes) = (ours.total_ios() - left_out.0, ours.total_bytes() - left_out.1);
    let ratio = |theirs: u64, ours: u64| (ours > 0).then(|| theirs as f64 / ours as f64);
    let ratio_bytes = ratio(bytes, our_bytes);
    // If all bytes are ours, the requests beyond ours, with merged ones added back, are splits.
    let ours_alone =
        workload.cache.direct() && ratio_bytes.is_some_and(|ratio| (0.98..=1.02).contains(&ratio));
    Ok(DeviceCounters {
        device: after.device.clone(),
        ios,
        bytes,
        other_bytes,
        mean_request_bytes: ratio(bytes, ios),
        merges,
        splits: ours_alone.then(|| (ios + merges).saturating_sub(our_ios)),
        busy_ms: after.busy_ns.saturating_sub(before.busy_ns) as f64 / 1e6,
        concurrency: after.weighted_ns.saturating_sub(before.weighted_ns) as f64 / span_ns,
        ratio_ios: ratio(ios, our_ios),
        ratio_bytes,
    })
}

//! Reports the cost of a trial and its limits: CPU time between its two bounds, the device's own
//! counters, the limits of the load generator.

use crate::number;
use record::{Batching, CpuCost, CpuSplit, DeviceCounters, Harness, format_bytes};

fn millis(value: f64) -> String {
    number::time(value * 1e6)
}

fn micros(value: f64) -> String {
    number::time(value * 1e3)
}

/// CPU time per request: both bounds, also in other units.
pub(super) fn per_request_text(cpu: &CpuCost) -> String {
    let mut text = match cpu.lower_us_per_io {
        Some(time) if cpu.split == CpuSplit::Modelled => format!("{} modelled", micros(time)),
        Some(lower) => format!("at least {}", micros(lower)),
        None => "none completed".to_owned(),
    };
    if let Some(upper) = &cpu.upper {
        let most = number::with_interval(&upper.us_per_io, micros);
        let change = number::change(1.0 + upper.rate_change_rel);
        let how = "the whole machine, with background threads that changed the rate by";
        text.push_str(&format!(", at most {most} ({how} {change})"));
    } else if let Some(upper) = cpu.upper_us_per_io {
        let method = cpu.upper_method.as_deref().unwrap_or("method not recorded");
        text.push_str(&format!(", at most {} ({method})", micros(upper)));
    }
    text.extend(cpu.ms_per_mib.map(|cost| format!("; {} per MiB", millis(cost))));
    let clocks = cpu.clocks_per_byte.map(number::digits);
    text.extend(clocks.map(|clocks| format!("; {clocks} clock cycles per byte")));
    let instructions = cpu.instructions_per_io.value();
    text.extend(instructions.map(|count| format!("; {} instructions", number::count(*count))));
    text
}

pub(super) fn total_text(cpu: &CpuCost) -> String {
    let [user, system, workers] = [cpu.user_ms, cpu.system_ms, cpu.workers_ms].map(millis);
    let measured = |split| {
        format!("user {user}, system {system} ({split}), including {workers} in kernel workers")
    };
    let mut text = match cpu.split {
        CpuSplit::Sampled => measured("split sampled"),
        CpuSplit::Exact => measured("split exact"),
        CpuSplit::Modelled => format!("system {system} (modelled)"),
    };
    text.extend(cpu.steal_ms.map(|steal| format!("; {} stolen by the hypervisor", millis(steal))));
    if let Some(rate) = cpu.saturation_iops {
        text.push_str(&format!("; all CPUs busy at {}", number::per_second(rate)));
        text.extend(cpu.saturation_bytes_per_s.map(|it| format!(" ({})", number::rate(it))));
    }
    text
}

/// The device's counters, compared with halfpower's.
pub(super) fn device_text(device: &DeviceCounters, window_ns: f64) -> String {
    let ratio = |value| number::or_none(value, number::digits);
    let count = |count: u64| number::count(count as f64);
    let mut text = format!("{} saw {} requests", device.device, count(device.ios));
    let size = device.mean_request_bytes.filter(|size| size.is_finite());
    text.extend(size.map(|size| format!(" of {}", number::size(size))));
    let (ios, bytes) = (ratio(device.ratio_ios), ratio(device.ratio_bytes));
    text.push_str(&format!(": {ios} of the submitted requests, {bytes} of the submitted bytes"));
    let others = device.other_bytes.filter(|bytes| *bytes > 0);
    text.extend(others.map(|bytes| format!("; others' {}", format_bytes(bytes))));
    let splits = device.splits.map_or("splits unknown".to_owned(), |it| count(it) + " splits");
    let busy = number::percent(device.busy_ms * 1e6 / window_ns);
    let (merges, depth) = (count(device.merges), number::digits(device.concurrency));
    text + &format!("; {merges} merges, {splits}; busy {busy}, queue depth {depth} on average")
}

/// The effect of batched submission on latencies.
pub(super) fn batching_text(batching: &Batching) -> String {
    let requests = number::digits(batching.requests_per_call);
    let [mean, max] = [batching.error_mean_ns, batching.error_max_ns as f64].map(number::time);
    let mut text = format!(
        "{requests} requests submitted at a time: latencies are too long by at most {mean} on \
         average, and by at most {max} for one request"
    );
    if let (Some(mean), Some(max)) = (batching.held_mean_ns, batching.held_max_ns) {
        let ([mean, max], many) = ([mean, max as f64].map(number::time), batching.complete_batch);
        text.push_str(&format!(
            "; {many} completions awaited at a time, because that is faster here: the first one is \
             delayed by {mean} on average, {max} at most"
        ));
    }
    text
}

pub(super) fn harness_text(harness: &Harness, iops_per_job: f64) -> String {
    let mut text = format!("{} per job", number::per_second(harness.ceiling_iops));
    let factor = harness.ceiling_iops / iops_per_job;
    let factor = Some(factor).filter(|factor| factor.is_finite() && iops_per_job > 0.0);
    text.extend(factor.map(|it| format!(", {} times the rate of a job here", number::count(it))));
    let cost = number::time(harness.clock_cost_ns);
    text.push_str(&format!("; clock {}, {cost} per reading", harness.clock));
    let features = harness.engine_features.join(", ");
    text.extend((!features.is_empty()).then(|| format!("; {features}")));
    text
}

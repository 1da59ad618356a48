//! What a trial cost and what it ran against: CPU time between its two bounds, the device's
//! own counters, the limits of the load generator.

use crate::number;
use record::{Batching, CpuCost, CpuSplit, DeviceCounters, Harness, format_bytes};

fn millis(value: f64) -> String {
    number::time(value * 1e6)
}

fn micros(value: f64) -> String {
    number::time(value * 1e3)
}

/// Per request: both bounds, and what they come to in other units.
pub(super) fn per_request_text(cpu: &CpuCost) -> String {
    let mut text = match cpu.lower_us_per_io {
        Some(time) if cpu.split == CpuSplit::Modelled => format!("{} modelled", micros(time)),
        Some(lower) => format!("{} at least", micros(lower)),
        None => "none completed".to_owned(),
    };
    if let Some(upper) = &cpu.upper {
        let estimate = &upper.us_per_io;
        text.push_str(&format!(
            ", {} at most (the whole machine, beside a soaker that changed the rate by {})",
            number::with_interval(estimate, micros),
            number::change(1.0 + upper.rate_change_rel)
        ));
    } else if let Some(upper) = cpu.upper_us_per_io {
        let method = cpu.upper_method.as_deref().unwrap_or("method not recorded");
        text.push_str(&format!(", {} at most ({method})", micros(upper)));
    }
    if let Some(per_mib) = cpu.ms_per_mib {
        text.push_str(&format!("; {} per MiB", millis(per_mib)));
    }
    if let Some(clocks) = cpu.clocks_per_byte {
        text.push_str(&format!("; {} clocks per byte", number::digits(clocks)));
    }
    if let Some(instructions) = cpu.instructions_per_io.value() {
        text.push_str(&format!("; {} instructions", number::count(*instructions)));
    }
    text
}

pub(super) fn total_text(cpu: &CpuCost) -> String {
    let (user, system, workers) =
        (millis(cpu.user_ms), millis(cpu.system_ms), millis(cpu.workers_ms));
    let measured =
        |split| format!("user {user}, system {system} ({split}), of it kernel workers {workers}");
    let mut text = match cpu.split {
        CpuSplit::Sampled => measured("split sampled"),
        CpuSplit::Exact => measured("split exact"),
        CpuSplit::Modelled => format!("system {system} (modelled)"),
    };
    if let Some(steal) = cpu.steal_ms {
        text.push_str(&format!("; stolen by the host {}", millis(steal)));
    }
    if let Some(rate) = cpu.saturation_iops {
        let throughput =
            cpu.saturation_bytes_per_s.map(|rate| format!(" ({})", number::rate(rate)));
        let (rate, throughput) = (number::per_second(rate), throughput.unwrap_or_default());
        text.push_str(&format!("; all processors busy at {rate}{throughput}"));
    }
    text
}

/// What the device counted, against ours.
pub(super) fn device_text(device: &DeviceCounters, window_ns: f64) -> String {
    let ratio = |value| number::or_none(value, number::digits);
    let size = device.mean_request_bytes.filter(|size| size.is_finite());
    let size = size.map(|size| format!(" of {}", number::size(size))).unwrap_or_default();
    let splits = match device.splits {
        Some(splits) => format!("{} splits", number::count(splits as f64)),
        None => "splits unknown".to_owned(),
    };
    let others = device.other_bytes.filter(|bytes| *bytes > 0);
    let others = others.map(|bytes| format!("; others' {}", format_bytes(bytes)));
    let others = others.unwrap_or_default();
    format!(
        "{} saw {} requests{size}: {} of our requests, {} of our bytes{others}; {} merges, \
         {splits}; busy {}, queue depth {} on average",
        device.device,
        number::count(device.ios as f64),
        ratio(device.ratio_ios),
        ratio(device.ratio_bytes),
        number::count(device.merges as f64),
        number::percent(device.busy_ms * 1e6 / window_ns),
        number::digits(device.concurrency),
    )
}

/// What handing over several requests at a time does to their times.
pub(super) fn batching_text(batching: &Batching) -> String {
    let handed_over = format!(
        "{} requests handed over at a time: times are too long by at most {} on average, {} for \
         one",
        number::digits(batching.requests_per_call),
        number::time(batching.error_mean_ns),
        number::time(batching.error_max_ns as f64)
    );
    match (batching.held_mean_ns, batching.held_max_ns) {
        (Some(mean), Some(max)) => format!(
            "{handed_over}; {} completions waited for at once, which is faster here: the first \
             was held back {} on average, {} at most",
            batching.complete_batch,
            number::time(mean),
            number::time(max as f64)
        ),
        _ => handed_over,
    }
}

pub(super) fn harness_text(harness: &Harness, iops_per_job: f64) -> String {
    let factor = harness.ceiling_iops / iops_per_job;
    let factor = if factor.is_finite() && iops_per_job > 0.0 {
        format!(", {} times what a job did here", number::count(factor))
    } else {
        String::new()
    };
    let mut text = format!(
        "{} per job{factor}; clock {}, {} a reading",
        number::per_second(harness.ceiling_iops),
        harness.clock,
        number::time(harness.clock_cost_ns)
    );
    if !harness.engine_features.is_empty() {
        text.push_str(&format!("; {}", harness.engine_features.join(", ")));
    }
    text
}

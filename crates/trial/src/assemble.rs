//! From the raw outcome of a run to the trial document.

use crate::{Measurement, Rig, SLICES, Tally, TrialError, validity};
use engine::{CpuSample, DeviceSample, ProbeSample};
use record::{
    CpuCost, DeviceCounters, DirectionResult, EngineName, Environment, ErrorCount, Finding,
    Measured, Nanos, Series, TRIAL_SCHEMA, Target, TimeSummary, Trial, TrialResult, Workload,
    format_nanos,
};
use std::sync::atomic::AtomicBool;

/// The counters may be read later than the window's edges by this part of its length, or by a
/// millisecond: more, and what they saw is not what the jobs did in the window.
const LATENESS_PARTS: u64 = 50;
/// Points of the time series that a document keeps.
const SERIES_POINTS: usize = 64;

/// What a document says beside the measurement.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339 in UTC; `None` for a simulated one.
    pub time: Option<String>,
    /// Version of the program.
    pub halfpower_version: String,
    /// What is read or written.
    pub target: Target,
    /// Conditions; `None` for a simulated one.
    pub environment: Option<Environment>,
    /// Findings from before the run (a fall-back, the state of the target).
    pub findings: Vec<Finding>,
}

/// Runs a workload and writes its document, findings included.
///
/// # Errors
/// If nothing could be measured.
pub fn conduct(
    rig: &mut dyn Rig,
    workload: &Workload,
    seed: u64,
    identity: Identity,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(f64),
) -> Result<Trial, TrialError> {
    let measurement = rig.measure(workload, seed, stop, tick)?;
    let mut trial = Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: identity.halfpower_version,
        id: identity.id,
        time: identity.time,
        seed,
        simulated: rig.simulated(),
        cell: workload.cell(),
        targets: vec![identity.target],
        workload: workload.clone(),
        result: result(workload, &measurement),
        cpu: cpu(&measurement),
        device_counters: device_counters(workload, &measurement),
        harness: match measurement.harness.clone() {
            Some(harness) => Measured::Value(harness),
            None => Measured::not("virtual time has no harness limit"),
        },
        findings: identity.findings,
        environment: identity.environment,
    };
    let found = validity::findings(&trial);
    trial.findings.extend(found);
    Ok(trial)
}

fn result(workload: &Workload, measurement: &Measurement) -> TrialResult {
    let duration = measurement.duration();
    let seconds = duration.as_secs_f64().max(1e-9);
    let tallies = &measurement.tally.directions;
    let direction =
        |index: usize, asked: bool| asked.then(|| direction_result(measurement, index, seconds));
    let response_ns: u64 = tallies.iter().map(|tally| tally.response_ns).sum();
    let totals: Vec<f64> =
        measurement.tally.slices.iter().map(|slice| (slice.ios[0] + slice.ios[1]) as f64).collect();
    TrialResult {
        duration_ns: duration,
        steady: stats::steadiness(&totals).map(|steadiness| steadiness.steady),
        read: direction(0, workload.read_percent > 0),
        write: direction(1, workload.read_percent < 100),
        concurrency: response_ns as f64 / (seconds * 1e9),
        series: series(measurement),
    }
}

fn direction_result(measurement: &Measurement, index: usize, seconds: f64) -> DirectionResult {
    let tally = &measurement.tally.directions[index];
    let slices = &measurement.tally.slices;
    let counts: Vec<f64> = slices.iter().map(|slice| slice.ios[index] as f64).collect();
    let times: Vec<f64> = slices.iter().map(|slice| slice.response_ns[index] as f64).collect();
    let relative = |estimate: Option<record::Estimate>| {
        estimate.map(|e| e.relative_half_width()).filter(|width| width.is_finite())
    };
    let response_ns = time_summary(tally, relative(stats::batch_ratio(&times, &counts)));
    DirectionResult {
        ios: tally.ios,
        bytes: tally.bytes,
        iops: tally.ios as f64 / seconds,
        bytes_per_s: tally.bytes as f64 / seconds,
        iops_ci95_rel: relative(stats::batch_means(&counts)),
        errors: tally.errors.values().sum(),
        error_kinds: tally
            .errors
            .iter()
            .map(|(&errno, &count)| ErrorCount { errno, message: error_text(errno), count })
            .collect(),
        short: tally.short,
        completion_ns: response_ns.clone(),
        response_ns,
        histogram: tally.histogram.snapshot(),
    }
}

/// What the system calls an error number.
fn error_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn time_summary(tally: &Tally, mean_ci95_rel: Option<f64>) -> Option<TimeSummary> {
    if tally.ios == 0 {
        return None;
    }
    let mean = tally.response_ns as f64 / tally.ios as f64;
    stats::summarise(&tally.histogram.snapshot(), mean, mean_ci95_rel)
}

/// The slices, several to a point.
fn series(measurement: &Measurement) -> Series {
    let per_point = SLICES / SERIES_POINTS;
    let window = measurement.window.end.since(measurement.window.begin);
    let mut series =
        Series { interval_ns: Nanos(window.0 / SERIES_POINTS as u64), ..Series::default() };
    for slices in measurement.tally.slices.chunks(per_point) {
        let ios: u64 = slices.iter().map(|slice| slice.ios[0] + slice.ios[1]).sum();
        let response: u64 =
            slices.iter().map(|slice| slice.response_ns[0] + slice.response_ns[1]).sum();
        series.ios.push(ios);
        series.response_mean_ns.push((ios > 0).then(|| response as f64 / ios as f64));
    }
    series
}

fn total_ios_and_bytes(measurement: &Measurement) -> (u64, u64) {
    let tallies = &measurement.tally.directions;
    (tallies.iter().map(|t| t.ios).sum(), tallies.iter().map(|t| t.bytes).sum())
}

/// Why the counters cannot be held against the window: read too far from its edges, as happens
/// when the jobs leave no processor to the thread that reads them.
fn untimely(measurement: &Measurement) -> Option<String> {
    let [before, after] = &measurement.samples;
    let window = measurement.window;
    let end = measurement.tally.gave_up.map_or(window.end, |at| at.min(window.end));
    let late = before.at.since(window.begin).max(after.at.since(end));
    let allowed = Nanos((window.end.since(window.begin).0 / LATENESS_PARTS).max(1_000_000));
    (late > allowed).then(|| {
        format!(
            "the counters were read {} late, the processors being busy with the jobs",
            format_nanos(late.0 as f64)
        )
    })
}

fn cpu(measurement: &Measurement) -> Measured<CpuCost> {
    let [before, after] = &measurement.samples;
    let (Some(before), Some(after)) = (before.cpu, after.cpu) else {
        return Measured::not(measurement.no_cpu_reason.clone());
    };
    if let Some(reason) = untimely(measurement) {
        return Measured::not(reason);
    }
    let (ios, bytes) = total_ios_and_bytes(measurement);
    let ms =
        |field: fn(&CpuSample) -> u64| field(&after).saturating_sub(field(&before)) as f64 / 1e6;
    let total_ms = ms(|sample| sample.user_ns + sample.system_ns);
    Measured::Value(CpuCost {
        user_ms: ms(|sample| sample.user_ns),
        system_ms: ms(|sample| sample.system_ns),
        workers_ms: ms(|sample| sample.workers_ns),
        lower_us_per_io: (ios > 0).then(|| total_ms * 1e3 / ios as f64),
        upper_us_per_io: None,
        upper_method: None,
        ms_per_mib: (bytes > 0).then(|| total_ms / (bytes as f64 / f64::from(1 << 20))),
        steal_ms: before
            .steal_ns
            .zip(after.steal_ns)
            .map(|(before, after)| after.saturating_sub(before) as f64 / 1e6),
        split: measurement.cpu_split,
    })
}

fn device_counters(workload: &Workload, measurement: &Measurement) -> Measured<DeviceCounters> {
    let [ProbeSample { device: Some(before), .. }, ProbeSample { device: Some(after), .. }] =
        &measurement.samples
    else {
        return Measured::not(measurement.no_device_reason.clone());
    };
    if workload.engine == EngineName::Null {
        return Measured::not("the null engine does no I/O");
    }
    if let Some(reason) = untimely(measurement) {
        return Measured::not(reason);
    }
    let delta = |field: fn(&DeviceSample) -> [u64; 2]| {
        let (before, after) = (field(before), field(after));
        // Only the directions that were asked for: others' writes do not blur our reads.
        let read = if workload.read_percent > 0 { after[0].saturating_sub(before[0]) } else { 0 };
        let write = if workload.writes() { after[1].saturating_sub(before[1]) } else { 0 };
        read + write
    };
    let (ios, bytes) = (delta(|sample| sample.ios), delta(|sample| sample.bytes));
    let merges = delta(|sample| sample.merges);
    let (our_ios, our_bytes) = total_ios_and_bytes(measurement);
    let span_ns = measurement.samples[1].at.since(measurement.samples[0].at).0.max(1) as f64;
    let ratio = |theirs: u64, ours: u64| (ours > 0).then(|| theirs as f64 / ours as f64);
    let ratio_bytes = ratio(bytes, our_bytes);
    // Splits are what is left over once merged requests are counted again, if all bytes are ours.
    let ours_alone =
        workload.cache.direct() && ratio_bytes.is_some_and(|ratio| (0.98..=1.02).contains(&ratio));
    Measured::Value(DeviceCounters {
        device: after.device.clone(),
        ios,
        bytes,
        mean_request_bytes: ratio(bytes, ios),
        merges,
        splits: ours_alone.then(|| (ios + merges).saturating_sub(our_ios)),
        busy_ms: after.busy_ns.saturating_sub(before.busy_ns) as f64 / 1e6,
        concurrency: after.weighted_ns.saturating_sub(before.weighted_ns) as f64 / span_ns,
        ratio_ios: ratio(ios, our_ios),
        ratio_bytes,
    })
}

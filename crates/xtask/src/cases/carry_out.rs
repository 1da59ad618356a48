//! Applies advice: simulates the same scenario again with the change that the advice proposes.
//!
//! The latency (or the rate, if the advice ranks by rate) over the advised episode is compared with the
//! prediction. An array consists of simulated devices, and none of its figures come from the formula that
//! predicted them. Advice that the simulator cannot apply (a new cache, another scheduler) is skipped and
//! not counted.

use crate::cases::case::{Case, Disk, Load};
use crate::cases::stage::{name, observed};
use anyhow::Result;
use plan::scenarios::Array;
use record::{
    Arrival, Change, DeviceDiagnosis, Episode, Estimate, Interval, Measured, Nanos, Observation,
    Strategy,
};
use simdisk::{SimKind, SimSpec};

const SECOND: u64 = 1_000_000_000;
/// Offset of the seed, so that the second run has other requests and other service times.
const ANOTHER: u64 = 1_000_003;

/// Result of applied advice.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The advice.
    pub strategy: Strategy,
    /// Whether it predicts the rate instead of the latency.
    pub by_rate: bool,
    /// The predicted value.
    pub predicted: Estimate,
    /// The simulated value.
    pub found: f64,
    /// Whether the simulated value is within the predicted interval.
    pub inside: bool,
}

/// Applies the first advice for the first disk; `None` if no advice has a prediction or the simulator
/// cannot apply it.
pub(crate) fn carry_out(case: &Case, diagnosis: &DeviceDiagnosis) -> Result<Option<Outcome>> {
    let Some(remedy) = diagnosis.first_remedy() else { return Ok(None) };
    let (Measured::Value(effect), Some(disk)) = (&remedy.effect, case.disks.first()) else {
        return Ok(None);
    };
    let Some(episode) = diagnosis.episodes.get(remedy.episode as usize) else { return Ok(None) };
    let Some(changed) = remedy.change.and_then(|change| changed(disk, change, episode)) else {
        return Ok(None);
    };
    let after = observed(case, 0, &changed, case.seed.wrapping_add(ANOTHER))?;
    let Some((latency_ns, iops)) = means(&after, episode) else { return Ok(None) };
    let by_rate = matches!(remedy.strategy, Strategy::DeeperQueue | Strategy::RaiseCap);
    let (predicted, found) = match by_rate {
        true => (effect.iops_after, iops),
        false => (effect.latency_after_ns, latency_ns),
    };
    let inside = (predicted.low..=predicted.high).contains(&found);
    Ok(Some(Outcome { strategy: remedy.strategy, by_rate, predicted, found, inside }))
}

/// Mean latency and requests per second of the first disk during an episode; `None` if no request completed.
fn means(observation: &Observation, episode: &Episode) -> Option<(f64, f64)> {
    let (begin, end) = (episode.begin_ns, episode.begin_ns + episode.duration_ns);
    let within = |interval: &&Interval| {
        interval.device == name(0)
            && interval.begin_ns >= begin
            && interval.begin_ns + interval.duration_ns <= end
    };
    let (mut requests, mut time, mut seconds) = (0.0, 0.0, 0.0);
    for interval in observation.intervals.iter().filter(within) {
        let length = interval.duration_ns as f64 / 1e9;
        let count = interval.all.per_s.map_or(0.0, |rate| rate.value * length);
        requests += count;
        time += count * interval.all.latency_ns.map_or(0.0, |figure| figure.value);
        seconds += length;
    }
    (requests > 0.0).then(|| (time / requests, requests / seconds))
}

/// The device with requests that take `factor` times as long; `None` unless it is a queueing model.
fn faster(device: &str, factor: f64) -> Option<String> {
    let SimKind::Queue(queue) = SimSpec::parse(device).ok()?.kind else { return None };
    let time = |nanos: Nanos| (nanos.0 as f64 * factor).round() as u64;
    let (service, hit) = (time(queue.service), time(queue.hit));
    let mut text = format!("{device},service={service}ns,hit={hit}ns");
    let rates = [
        ("rate", queue.rate_bytes_per_s, "B"),
        ("iops", queue.iops, ""),
        ("throughput", queue.throughput_bytes_per_s, "B"),
    ];
    for (key, rate, unit) in rates.into_iter().filter(|(_, rate, _)| *rate > 0) {
        text.push_str(&format!(",{key}={}{unit}", (rate as f64 / factor).round() as u64));
    }
    Some(text)
}

fn is_closed(load: &Load) -> bool {
    load.spec.arrival.is_none()
}

/// The disk and its loads after a change; `None` if the simulator cannot apply it.
fn changed(disk: &Disk, change: Change, episode: &Episode) -> Option<Disk> {
    let mut after = disk.clone();
    let there = |load: &Load| {
        load.from_s * SECOND < episode.begin_ns + episode.duration_ns
            && episode.begin_ns < load.to_s * SECOND
    };
    match change {
        Change::AsProfiled => {
            after.is = disk.device.text();
            for load in &mut after.loads {
                load.spec.asked.misalign_bytes = record::Bytes(0);
            }
        }
        Change::Uncapped => {
            if after.loads.iter().any(|load| !load.limits.is_empty()) {
                after.loads.iter_mut().for_each(|load| load.limits.clear());
            } else {
                after.is = disk.device.text();
            }
        }
        Change::Depth(depth) => {
            let load = after.loads.iter_mut().find(|load| is_closed(load) && there(load))?;
            load.spec.asked.iodepth = depth.round() as u32;
        }
        Change::Without { process, .. } => {
            let load = (process? as usize).checked_sub(1).filter(|at| *at < after.loads.len())?;
            after.loads.remove(load);
        }
        Change::Array { .. } => after.array = Some(Array::of(change)?),
        // Relative to the disk as profiled.
        Change::Faster(share) => after.is = faster(&disk.device.text(), 1.0 - share)?,
        Change::Independent => {
            let writes = 1.0 - episode.numbers.read_share?;
            let rate = (episode.numbers.iops? * writes).round() as u64;
            let load = after
                .loads
                .iter_mut()
                .find(|load| is_closed(load) && there(load) && load.spec.asked.read_percent == 0)?;
            load.spec.asked.rate_iops = Some(rate.max(1));
            load.spec.arrival = Some(Arrival::Poisson);
            load.spec.asked.iodepth = load.spec.asked.iodepth.max(128);
        }
        _ => return None,
    }
    Some(after)
}

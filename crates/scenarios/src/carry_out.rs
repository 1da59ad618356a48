//! Advice carried out: the scenario again, changed as the advice says.
//!
//! What the advice promises is held against what came: the response time, or the rate where that
//! is what the advice ranks by. Both are taken over the episode that the advice is for. What the
//! simulator has no counterpart for (a cache that is bought, another scheduler) is not carried out,
//! and not counted either.

use crate::ScenarioError;
use crate::case::{Case, Disk, Load};
use crate::stage::{name, observed};
use record::{
    Arrival, DeviceDiagnosis, Episode, Estimate, Interval, Measured, Observation, Remedy, Strategy,
};

const SECOND: u64 = 1_000_000_000;
/// The scenario again is no copy: other requests, other service times.
const ANOTHER: u64 = 1_000_003;
/// Friedman's 20 to 30 % in the middle.
const FASTER: f64 = 0.75;

/// What carrying out a piece of advice gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The advice.
    pub strategy: Strategy,
    /// Whether the rate, not the response time, is what it promises.
    pub by_rate: bool,
    /// What it promises.
    pub predicted: Estimate,
    /// What came.
    pub found: f64,
    /// Whether that lies within.
    pub inside: bool,
}

/// Carries out the first advice on the first disk; `None` where there is none with a prediction, or
/// none that can be carried out.
pub(crate) fn carry_out(
    case: &Case,
    diagnosis: &DeviceDiagnosis,
) -> Result<Option<Outcome>, ScenarioError> {
    let Some(remedy) = diagnosis.advice.first() else { return Ok(None) };
    let (Measured::Value(effect), Some(disk)) = (&remedy.effect, case.disks.first()) else {
        return Ok(None);
    };
    let Some(episode) = diagnosis.episodes.get(remedy.episode as usize) else { return Ok(None) };
    let Some(changed) = changed(disk, remedy, episode) else { return Ok(None) };
    let after = observed(case, 0, &changed, case.seed.wrapping_add(ANOTHER))?;
    let Some((latency, rate)) = over(&after, episode) else { return Ok(None) };
    let by_rate = matches!(remedy.strategy, Strategy::DeeperQueue | Strategy::RaiseCap);
    let (predicted, found) =
        if by_rate { (effect.iops_after, rate) } else { (effect.latency_after_ns, latency) };
    let inside = (predicted.low..=predicted.high).contains(&found);
    Ok(Some(Outcome { strategy: remedy.strategy, by_rate, predicted, found, inside }))
}

/// Mean response time and rate of the first disk during an episode.
fn over(observation: &Observation, episode: &Episode) -> Option<(f64, f64)> {
    let (begin, end) = (episode.begin_ns, episode.begin_ns + episode.duration_ns);
    let within = |interval: &&Interval| {
        interval.device == name(0)
            && interval.begin_ns >= begin
            && interval.begin_ns + interval.duration_ns <= end
    };
    let (mut requests, mut time, mut seconds) = (0.0, 0.0, 0.0);
    for interval in observation.intervals.iter().filter(within) {
        let length = interval.duration_ns as f64 / 1e9;
        let count = interval.all.per_s?.value * length;
        requests += count;
        time += count * interval.all.latency_ns.map_or(0.0, |figure| figure.value);
        seconds += length;
    }
    (requests > 0.0).then(|| (time / requests, requests / seconds))
}

fn is_closed(load: &Load) -> bool {
    load.spec.arrival.is_none()
}

/// The same load on one of several disks.
fn part(load: &mut Load, disks: f64) {
    match &mut load.spec.rate_iops {
        Some(rate) => *rate = ((*rate as f64 / disks).round() as u64).max(1),
        None => load.spec.iodepth = ((f64::from(load.spec.iodepth) / disks) as u32).max(1),
    }
}

/// The disk and its loads after the advice was followed.
fn changed(disk: &Disk, remedy: &Remedy, episode: &Episode) -> Option<Disk> {
    let mut after = disk.clone();
    let there = |load: &Load| {
        load.from_s * SECOND < episode.begin_ns + episode.duration_ns
            && episode.begin_ns < load.to_s * SECOND
    };
    match remedy.strategy {
        Strategy::Restore | Strategy::Alignment => {
            after.is = disk.device.text();
            for load in &mut after.loads {
                load.spec.misalign = record::Bytes(0);
            }
        }
        Strategy::RaiseCap => {
            if after.loads.iter().any(|load| !load.limits.is_empty()) {
                after.loads.iter_mut().for_each(|load| load.limits.clear());
            } else {
                after.is = disk.device.text();
            }
        }
        Strategy::ShallowerQueue | Strategy::DeeperQueue => {
            let depth: u32 = remedy.action.split_whitespace().nth(1)?.parse().ok()?;
            let load = after.loads.iter_mut().find(|load| is_closed(load) && there(load))?;
            load.spec.iodepth = depth;
        }
        Strategy::MoveNeighbour => {
            let id: usize = remedy.action.split_whitespace().nth(2)?.parse().ok()?;
            (1..=after.loads.len()).contains(&id).then(|| after.loads.remove(id - 1))?;
        }
        Strategy::MoreDisks | Strategy::LoadBalancing => {
            after.loads.iter_mut().for_each(|load| part(load, 2.0));
        }
        Strategy::DiskArray => {
            let writes = 1.0 - episode.numbers.read_share.unwrap_or(1.0);
            after.loads.iter_mut().for_each(|load| part(load, 4.0 / (1.0 + writes)));
        }
        Strategy::FasterDisks if disk.device.alike() => after.is = disk.device.slower(FASTER),
        Strategy::DirectIo => {
            let writes = 1.0 - episode.numbers.read_share?;
            let rate = (episode.numbers.iops * writes).round() as u64;
            let load = after
                .loads
                .iter_mut()
                .find(|load| is_closed(load) && there(load) && load.spec.read_percent == 0)?;
            load.spec.rate_iops = Some(rate.max(1));
            load.spec.arrival = Some(Arrival::Poisson);
            load.spec.iodepth = load.spec.iodepth.max(128);
        }
        _ => return None,
    }
    Some(after)
}

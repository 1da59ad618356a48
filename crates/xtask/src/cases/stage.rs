//! Produces the data of a case: the observation of its devices, and their profiles from a healthy time.

use crate::cases::case::{Case, Disk, Load};
use crate::cases::profiles::Profiles;
use anyhow::Result;
use diagnose::{DiagnoseOptions, FittedProfile, diagnose};
use plan::scenarios::{Scenario, ScenarioLoad, observe};
use record::{
    Diagnosis, HistogramSnapshot, Nanos, Observation, ObservedDevice, TracedOp, bucket_index,
    bucket_mid,
};
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use workload::derive_seed;

const SECOND: u64 = 1_000_000_000;

/// The input of a diagnosis.
#[derive(Debug)]
pub struct Staged {
    /// The counters.
    pub observation: Observation,
    /// Profiles; each target is the name of its device.
    pub profiles: Vec<FittedProfile>,
}

impl Staged {
    /// The diagnosis of this input.
    #[must_use]
    pub fn diagnosed(&self) -> Diagnosis {
        let options = DiagnoseOptions { moments_most: Some(0), ..DiagnoseOptions::default() };
        let of = |device: &ObservedDevice| {
            self.profiles.iter().find(|prepared| prepared.profile().target.path == device.name)
        };
        diagnose(&self.observation, &of, &options)
    }
}

/// Name of a disk of a case; it does not depend on the state of the device.
pub(crate) fn name(disk: usize) -> String {
    format!("sim:disk-{disk}")
}

/// Observes a case and finds its profiles, creating missing ones.
///
/// # Errors
/// If the case cannot be simulated.
pub fn stage(case: &Case, profiles: &mut Profiles) -> Result<Staged> {
    for disk in &case.disks {
        profiles.make(&disk.device)?;
    }
    staged(case, profiles)
}

/// The same with existing profiles.
pub(crate) fn staged(case: &Case, profiles: &Profiles) -> Result<Staged> {
    let mut observations = Vec::new();
    let mut fitting = Vec::new();
    for (index, disk) in case.disks.iter().enumerate() {
        observations.push(observed(case, index, disk, case.seed)?);
        if let Some(profile) = profiles.of(&disk.device).filter(|_| disk.profiled) {
            let mut profile = profile.clone();
            profile.target.path = name(index);
            profile.target.device = disk.facts.as_ref().map(|facts| facts[0].clone());
            fitting.push(FittedProfile::new(profile));
        }
    }
    let mut observation = together(observations);
    if case.bare {
        observation.contexts.clear();
    }
    if case.limits_unseen {
        observation.contexts.iter_mut().for_each(|context| context.cgroup_limits.clear());
    }
    let observation = case.source.read(observation)?;
    Ok(Staged { observation, profiles: fitting })
}

/// Observation of one disk of a case.
pub(crate) fn observed(case: &Case, index: usize, disk: &Disk, seed: u64) -> Result<Observation> {
    let device = SimSpec::parse(&disk.is)?;
    let loads =
        disk.loads.iter().map(|load| scenario_load(load, &device)).collect::<Result<Vec<_>>>()?;
    let scenario = Scenario {
        device: &device,
        array: disk.array,
        loads,
        duration: Nanos(case.seconds * SECOND),
        interval: Nanos(case.interval_s * SECOND),
        seed: derive_seed(seed, index as u64 + 1) >> 11,
        traced: case.traced,
        steal_share: 0.0,
    };
    let mut observation = observe(&scenario, "", &AtomicBool::new(false))?;
    for device in &mut observation.devices {
        device.name = name(index);
        device.facts = disk.facts.as_ref().map(|facts| facts[1].clone());
    }
    for interval in &mut observation.intervals {
        interval.device = name(index);
        for traced in interval.traced.iter_mut().filter(|_| disk.in_scheduler > 0.0) {
            hold(&mut traced.read, disk.in_scheduler);
            hold(&mut traced.write, disk.in_scheduler);
        }
    }
    Ok(observation)
}

/// Moves a share of each request's time to before its issue to the device.
fn hold(op: &mut TracedOp, share: f64) {
    let part = |share: f64| {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for &(bucket, count) in &op.device_ns.buckets {
            let part_ns = share * bucket_mid(bucket as usize);
            *counts.entry(bucket_index(part_ns as u64) as u32).or_default() += count;
        }
        HistogramSnapshot { buckets: counts.into_iter().collect() }
    };
    (op.queue_ns, op.device_ns) = (part(share), part(1.0 - share));
}

fn scenario_load(load: &Load, device: &SimSpec) -> Result<ScenarioLoad> {
    Ok(ScenarioLoad {
        name: load.name.clone(),
        workload: load.spec.build(device.size())?,
        begin: Nanos(load.from_s * SECOND),
        end: Nanos(load.to_s * SECOND),
        limits: load.limits.clone(),
        write_back: load.write_back,
        uncounted: load.uncounted,
    })
}

/// Combines the disks into one machine. Its context is that of the busiest moment of any disk.
fn together(observations: Vec<Observation>) -> Observation {
    let mut all = observations.into_iter();
    let mut whole = all.next().unwrap_or_default();
    for other in all {
        whole.devices.extend(other.devices);
        whole.intervals.extend(other.intervals);
        for (context, another) in whole.contexts.iter_mut().zip(other.contexts) {
            context.io_some_share =
                context.io_some_share.zip(another.io_some_share).map(|(one, other)| one.max(other));
            context.cgroup_limits.extend(another.cgroup_limits);
        }
    }
    whole.intervals.sort_by_cached_key(|interval| interval.begin_ns);
    whole
}

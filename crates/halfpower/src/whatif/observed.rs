//! The load of an observation, and the profiles of its devices.
//!
//! The diagnosis cuts an observation into stretches of like use and finds the share of sequential
//! requests where no tracer told it; what is asked "what if" about is the stretch in which the
//! device did the most. A rate at the device's limit, or a number outstanding that stands still, is
//! a closed loop: a faster disk would then be asked for more.

use super::{WhatIfArgs, usage};
use crate::profiles::Profiles;
use crate::recordings;
use crate::store_args::{LAST, newest_observation};
use anyhow::anyhow;
use model::whatif::{BalanceSide, Counted, Setup, balance, counted};
use record::{
    CauseCode, DeviceDiagnosis, Episode, Interval, Observation, ObservedLoad, Offered, Profile,
    WHATIF_SCHEMA, WhatIf,
};
use session::VERSION;
use std::path::Path;
use store::{Store, StoreError};

/// The word that stands for the newest observation.
const OBSERVED: &str = "observed";
/// From this share of the largest rate on the rate follows the device.
const AT_LIMIT: f64 = 0.97;

/// A load that was observed, with its profile.
pub(super) struct Seen {
    pub(super) observed: ObservedLoad,
    pub(super) setup: Setup,
    pub(super) profile: Profile,
}

/// The observation that the source names; `None` where it names a profile.
pub(super) fn observation(arguments: &WhatIfArgs) -> anyhow::Result<Option<Observation>> {
    let source = arguments.source.as_str();
    if Path::new(source).is_file() {
        let found = recordings::named(&[source.to_owned()], &arguments.keeping)?;
        return Ok(found.and_then(|found| found.into_iter().next()));
    }
    if source == LAST {
        return Ok(None);
    }
    let store = Store::open_existing(&arguments.keeping.file()?)?;
    if source == OBSERVED {
        return Ok(Some(newest_observation(&store)?));
    }
    // What is a profile is one; everything else has to be an observation.
    match store.profile(source) {
        Err(StoreError::NotFound { .. }) => Ok(Some(store.document(source)?)),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The stretch of time in which a device did the most.
fn busiest(device: &DeviceDiagnosis) -> Option<&Episode> {
    device.episodes.iter().max_by(|a, b| a.numbers.iops.total_cmp(&b.numbers.iops))
}

/// The intervals of an episode.
fn intervals<'a>(
    observation: &'a Observation,
    device: &str,
    episode: &Episode,
) -> Vec<&'a Interval> {
    let time = episode.begin_ns..episode.begin_ns.saturating_add(episode.duration_ns);
    let inside = |interval: &&Interval| {
        interval.device == device && time.contains(&interval.begin_ns) && interval.duration_ns > 0
    };
    observation.intervals.iter().filter(inside).collect()
}

/// The load of a device in its busiest stretch.
fn load<'a>(
    observation: &Observation,
    device: &'a DeviceDiagnosis,
) -> Result<(&'a Episode, Counted), String> {
    let episode = busiest(device).ok_or("it did nothing")?;
    let sequential = episode.calibrated.map_or(0.0, |split| split.sequential_share);
    let intervals = intervals(observation, &device.device, episode);
    let load = counted(intervals, sequential);
    let why = "the source does not tell reads from writes and their sizes, or there were none";
    Ok((episode, load.ok_or(why)?))
}

/// The load that is asked about.
pub(super) fn seen(
    observation: &Observation,
    profiles: &Profiles,
    arguments: &WhatIfArgs,
) -> anyhow::Result<Seen> {
    let devices = profiles.diagnose(observation, true).devices;
    let rate = |device: &DeviceDiagnosis| busiest(device).map_or(0.0, |one| one.numbers.iops);
    let device = match &arguments.device {
        Some(name) => devices.iter().find(|device| device.device == *name),
        None => devices.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))),
    };
    let device = device.ok_or_else(|| {
        let names: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
        usage(format!("the observation has no such device; it has {}", names.join(", ")))
    })?;
    let known = observation.devices.iter().find(|known| known.name == device.device);
    let profile = known
        .and_then(|known| profiles.of(known))
        .filter(|_| device.profile.value().is_some())
        .ok_or_else(|| {
            let why = device.profile.reason().unwrap_or("no profile fits");
            anyhow!("{}: {why}", device.device)
        })?;
    let (episode, load) =
        load(observation, device).map_err(|why| anyhow!("{}: {why}", device.device))?;
    let predictor = profile.predictor();
    let standing = episode
        .causes
        .iter()
        .any(|cause| matches!(cause.code, CauseCode::DepthBeyondKnee | CauseCode::OneAtATime));
    let max = predictor.max_rate(&load.mix).map_err(|error| anyhow!("{error}"))?.value;
    let offered = match load.concurrency {
        Some(present) if standing || load.rate_per_s >= AT_LIMIT * max => {
            let busy = episode.numbers.utilization.filter(|busy| *busy > 0.0).unwrap_or(1.0);
            Offered::Depth(predictor.outstanding(&load.mix, present / busy))
        }
        _ => Offered::PoissonPerS(load.rate_per_s),
    };
    let end = episode.begin_ns.saturating_add(episode.duration_ns);
    let memory = observation
        .contexts
        .iter()
        .filter(|context| context.begin_ns < end && context.begin_ns >= episode.begin_ns)
        .filter_map(|context| context.memory_available_bytes)
        .min();
    Ok(Seen {
        observed: ObservedLoad {
            observation_id: observation.id.clone(),
            device: device.device.clone(),
            begin_ns: episode.begin_ns,
            duration_ns: episode.duration_ns,
            latency_ns: load.latency_ns,
            sequential_traced: episode.calibrated.is_some_and(|split| split.sequential_traced),
            memory_available_bytes: memory,
        },
        setup: Setup::new(load.mix, offered),
        profile: profile.profile().clone(),
    })
}

/// The load of all devices, balanced.
pub(super) fn balanced(
    observation: &Observation,
    profiles: &Profiles,
    arguments: &WhatIfArgs,
) -> anyhow::Result<WhatIf> {
    if arguments.simulate {
        return Err(usage("--balance is not simulated: a simulated machine has one device"));
    }
    let devices = profiles.diagnose(observation, true).devices;
    let (mut models, mut loads, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for device in &devices {
        let known = observation.devices.iter().find(|known| known.name == device.device);
        let profile = known.and_then(|known| profiles.of(known));
        let profile = profile.filter(|_| device.profile.value().is_some());
        match (profile, load(observation, device)) {
            (Some(profile), Ok((_, load))) => {
                models.push(profile.predictor());
                loads.push((device.device.clone(), load));
            }
            (None, _) => {
                let why = device.profile.reason().unwrap_or("no profile fits");
                left_out.push(format!("{}: {why}", device.device));
            }
            (_, Err(why)) => left_out.push(format!("{}: {why}", device.device)),
        }
    }
    let sides: Vec<BalanceSide<'_>> = loads
        .iter()
        .zip(&models)
        .map(|((name, load), &predictor)| BalanceSide {
            name: name.clone(),
            predictor,
            mix: load.mix.clone(),
            rate: load.rate_per_s,
        })
        .collect();
    let mut found = balance(&sides).map_err(|error| {
        let reasons = if left_out.is_empty() { String::new() } else { left_out.join("; ") };
        anyhow!("{error}; {} of {} can take part. {reasons}", sides.len(), devices.len())
    })?;
    found.left_out = left_out;
    Ok(WhatIf {
        schema: WHATIF_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        profile_id: None,
        target: None,
        simulated: false,
        observed: None,
        before: None,
        before_simulated: None,
        extrapolated: Vec::new(),
        cases: Vec::new(),
        balance: Some(found),
    })
}

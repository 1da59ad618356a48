//! The load of an observation, and the profiles of its devices.
//!
//! The diagnosis cuts an observation into episodes of like use and finds the load of each; what is
//! asked "what if" about is the episode in which the device did the most.

use super::{WhatIfArgs, usage};
use crate::profiles::Profiles;
use crate::recordings;
use crate::store_args::{LAST, newest_observation};
use anyhow::anyhow;
use model::whatif::{BalanceSide, Setup, balance};
use record::{
    DeviceDiagnosis, Episode, EpisodeLoad, Observation, ObservedLoad, Profile, WHATIF_SCHEMA,
    WhatIf,
};
use session::VERSION;
use std::path::Path;
use store::{Store, StoreError};

/// The word that stands for the newest observation.
const OBSERVED: &str = "observed";

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

/// The load of a device in its busiest stretch.
fn load(device: &DeviceDiagnosis) -> Result<(&Episode, &EpisodeLoad), String> {
    let episode = busiest(device).ok_or("it did nothing")?;
    let why = "the source does not tell reads from writes and their sizes, or there were none";
    Ok((episode, episode.load.as_ref().ok_or(why)?))
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
    let (episode, load) = load(device).map_err(|why| anyhow!("{}: {why}", device.device))?;
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
            latency_ns: episode.numbers.latency_ns,
            sequential_traced: episode.calibrated.is_some_and(|split| split.sequential_traced),
            memory_available_bytes: memory,
        },
        setup: Setup::from(load),
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
        match (profile, load(device)) {
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
            rate: load.iops,
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

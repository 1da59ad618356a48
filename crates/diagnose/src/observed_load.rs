//! Selects the load for a what-if question on an observation: that of the episode in which a device
//! was busiest.

use crate::verdict::FittedProfile;
use model::whatif::{BalanceSide, Setup, balance};
use record::{
    Balance, DeviceDiagnosis, Diagnosis, Episode, EpisodeLoad, Observation, ObservedDevice,
    ObservedLoad,
};

fn rate(episode: &Episode) -> f64 {
    episode.numbers.iops.unwrap_or(0.0)
}

/// The episode with the most IOPS.
fn busiest(device: &DeviceDiagnosis) -> Option<&Episode> {
    device.episodes.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The load of that episode.
fn load(device: &DeviceDiagnosis) -> Result<(&Episode, &EpisodeLoad), String> {
    let named = |why: &str| format!("{}: {why}", device.device);
    let episode = busiest(device).ok_or_else(|| named("the device was idle"))?;
    let why = "the source does not report reads and writes separately or their sizes, or there \
               were no requests";
    Ok((episode, episode.load.as_ref().ok_or_else(|| named(why))?))
}

/// The profile used for the diagnosis of a device.
fn profile<'a>(
    device: &DeviceDiagnosis,
    observation: &Observation,
    profiles: &dyn Fn(&ObservedDevice) -> Option<&'a FittedProfile>,
) -> Result<&'a FittedProfile, String> {
    let known = observation.devices.iter().find(|known| known.name == device.device);
    let found = known.and_then(profiles).filter(|_| device.profile.value().is_some());
    let why = device.unused_profile.as_deref().or(device.profile.reason());
    let why = why.unwrap_or("no profile fits");
    found.ok_or_else(|| format!("{}: {why}", device.device))
}

/// The load of the named device, or of the one with the most IOPS, and its profile.
///
/// # Errors
/// If the device does not exist, or has no load or no profile.
pub fn observed_load<'a>(
    observation: &Observation,
    diagnosis: &Diagnosis,
    profiles: &dyn Fn(&ObservedDevice) -> Option<&'a FittedProfile>,
    device: Option<&str>,
) -> Result<(ObservedLoad, Setup, &'a FittedProfile), String> {
    let devices = &diagnosis.devices;
    let largest = |device: &DeviceDiagnosis| busiest(device).map_or(0.0, rate);
    let found = match device {
        Some(name) => devices.iter().find(|device| device.device == *name),
        None => devices.iter().max_by(|a, b| largest(a).total_cmp(&largest(b))),
    };
    let device = found.ok_or_else(|| {
        let names: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
        format!("the observation has no such device; it has {}", names.join(", "))
    })?;
    let profile = profile(device, observation, profiles)?;
    let (episode, load) = load(device)?;
    let end = episode.begin_ns.saturating_add(episode.duration_ns);
    let within = observation
        .contexts
        .iter()
        .filter(|context| context.begin_ns < end && context.begin_ns >= episode.begin_ns);
    let observed = ObservedLoad {
        observation_id: observation.id.clone(),
        device: device.device.clone(),
        begin_ns: episode.begin_ns,
        duration_ns: episode.duration_ns,
        latency_ns: episode.numbers.latency_ns,
        sequential_traced: episode.calibrated.is_some_and(|split| split.sequential_traced),
        memory_available_bytes: within.filter_map(|context| context.memory_available_bytes).min(),
    };
    Ok((observed, Setup::from(load), profile))
}

/// The load of all devices, moved between them until they are equally full.
///
/// # Errors
/// If fewer than two devices can take part.
pub fn balanced<'a>(
    observation: &Observation,
    diagnosis: &Diagnosis,
    profiles: &dyn Fn(&ObservedDevice) -> Option<&'a FittedProfile>,
) -> Result<Balance, String> {
    let (mut sides, mut left_out) = (Vec::new(), Vec::new());
    for device in &diagnosis.devices {
        let found = profile(device, observation, profiles);
        match found.and_then(|profile| Ok((profile, load(device)?.1))) {
            Ok((profile, load)) => sides.push(BalanceSide {
                name: device.device.clone(),
                predictor: profile.predictor(),
                mix: load.mix.clone(),
                rate: load.iops,
            }),
            Err(why) => left_out.push(why),
        }
    }
    let found = balance(&sides).map_err(|error| {
        let (number, all) = (sides.len(), diagnosis.devices.len());
        format!("{error}; only {number} of {all} devices can be included. {}", left_out.join("; "))
    })?;
    Ok(Balance { left_out, ..found })
}

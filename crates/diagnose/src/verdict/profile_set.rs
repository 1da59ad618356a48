//! The profiles that devices are compared with: the one that the user named, or the saved ones.

use super::fitted_profile::FittedProfile;
use super::matching::{best_fit, unused};
use super::{DiagnoseOptions, diagnose};
use record::{DeviceDiagnosis, Diagnosis, Observation, ObservedDevice, Profile};
use std::sync::Arc;

/// Profiles in order of time, or the one that the user named.
#[derive(Clone, Debug, Default)]
pub struct ProfileSet {
    profiles: Vec<Arc<FittedProfile>>,
    chosen: bool,
    past: Arc<[Observation]>,
}

impl ProfileSet {
    /// A single profile for every device that it does not contradict.
    #[must_use]
    pub fn chosen(profile: Profile) -> Self {
        Self {
            profiles: vec![Arc::new(FittedProfile::new(profile))],
            chosen: true,
            ..Self::default()
        }
    }

    /// Saved profiles, in order of time: each device gets the best match.
    #[must_use]
    pub fn saved(profiles: impl IntoIterator<Item = Profile>) -> Self {
        let fitted = |profile| Arc::new(FittedProfile::new(profile));
        Self { profiles: profiles.into_iter().map(fitted).collect(), ..Self::default() }
    }

    /// Adds earlier recordings of the devices, the latest first. They help to judge devices without
    /// a profile.
    #[must_use]
    pub fn remembering(self, past: Vec<Observation>) -> Self {
        Self { past: past.into(), ..self }
    }

    /// Whether the user named the profile.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// Whether one of the profiles is of a device with this serial number.
    #[must_use]
    pub fn has_serial(&self, serial: &str) -> bool {
        let of = |fitted: &Arc<FittedProfile>| {
            let device = fitted.profile().target.device.as_ref()?;
            Some(device.serial.as_ref()?.trim() == serial)
        };
        self.profiles.iter().any(|fitted| of(fitted) == Some(true))
    }

    /// Ids of the profiles, in order of time.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().map(|fitted| fitted.profile().id.as_str())
    }

    /// The profile of a device.
    #[must_use]
    pub fn of(&self, device: &ObservedDevice) -> Option<&Arc<FittedProfile>> {
        if self.chosen { self.profiles.first() } else { best_fit(device, &self.profiles) }
    }

    /// The diagnosis of all devices. `moments_most` limits the moments of each device; `None` keeps all.
    #[must_use]
    pub fn diagnose(
        &self,
        observation: &Observation,
        halfpower_version: &str,
        moments_most: Option<usize>,
    ) -> Diagnosis {
        let options = DiagnoseOptions {
            halfpower_version: halfpower_version.to_owned(),
            chosen: self.chosen,
            moments_most,
            past: Arc::clone(&self.past),
        };
        let profile_of = |device: &ObservedDevice| self.of(device).map(Arc::as_ref);
        let mut diagnosis = diagnose(observation, &profile_of, &options);
        let used = |found: &DeviceDiagnosis| Some(found.profile.value()?.profile_id.clone());
        let in_use: Vec<String> = diagnosis.devices.iter().filter_map(used).collect();
        for found in &mut diagnosis.devices {
            let device = observation.devices.iter().find(|device| device.name == found.device);
            let own = used(found);
            found.unused_profile = device.and_then(|device| {
                unused(device, &self.profiles, (own.as_deref(), &in_use), self.chosen)
            });
        }
        diagnosis
    }
}

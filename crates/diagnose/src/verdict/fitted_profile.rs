//! Holds a profile with its fitted models. Fitting takes up to a third of a second. It happens
//! once, on first use, because most saved profiles match no observed device.

use model::Predictor;
use record::Profile;
use std::sync::OnceLock;

/// A profile that devices can be compared with.
#[derive(Debug)]
pub struct FittedProfile {
    profile: Profile,
    predictor: OnceLock<Predictor>,
}

impl FittedProfile {
    /// Wraps a profile. Nothing is fitted yet.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, predictor: OnceLock::new() }
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The predictions for the device. The first call fits the models.
    pub fn predictor(&self) -> &Predictor {
        self.predictor.get_or_init(|| Predictor::new(&self.profile))
    }
}

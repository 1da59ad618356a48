//! A profile with the models that are fitted to it: up to a third of a second, once, when it is
//! first asked for, because most profiles of a database fit no device that is looked at.

use model::Predictor;
use record::Profile;
use std::sync::OnceLock;

/// A profile that devices can be held against.
#[derive(Debug)]
pub struct FittedProfile {
    profile: Profile,
    predictor: OnceLock<Predictor>,
}

impl FittedProfile {
    /// Of a profile; nothing is fitted yet.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, predictor: OnceLock::new() }
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What is predicted of the device; fitted when it is first asked for.
    pub fn predictor(&self) -> &Predictor {
        self.predictor.get_or_init(|| Predictor::new(&self.profile))
    }
}

//! Holds a profile with its fitted models. Fitting takes up to a third of a second. It happens
//! once, on first use, because most saved profiles match no observed device.

use model::Predictor;
use record::Profile;
use std::sync::OnceLock;

/// Relative half-width of an interval from which a device was unsteady: a rate uncertain by a
/// factor of 1.5 expects too little of a device.
const UNSTEADY: f64 = 0.4;

/// A profile that devices can be compared with.
#[derive(Debug)]
pub struct FittedProfile {
    profile: Profile,
    predictor: OnceLock<Predictor>,
    unsteady: OnceLock<bool>,
}

impl FittedProfile {
    /// Wraps a profile. Nothing is fitted yet.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, predictor: OnceLock::new(), unsteady: OnceLock::new() }
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

    /// Whether the device was unsteady when the profile was made. A short check visits each cell once
    /// and cannot show unsteadiness, but it has wide intervals.
    pub(super) fn is_unsteady(&self) -> bool {
        *self.unsteady.get_or_init(|| {
            let cells = self.profile.cells.iter();
            let widths = cells.map(|cell| cell.rerun_iops.relative_half_width());
            stats::median(widths.collect()) > UNSTEADY
        })
    }
}

//! What to conclude from a profile: findings on the device and on the measurement, and advice.
//!
//! Pure functions of recorded data, so that a conclusion can be drawn again from the store and
//! comes out the same. Nothing here measures, and nothing is said of what was not measured: a rule
//! without its evidence is silent. Advice follows the numbers; where they contradict the papers'
//! rules of thumb it says so instead of choosing between them in silence.
#![forbid(unsafe_code)]

mod advice;
mod drift;
mod findings;
mod observed_load;
mod rules;
mod settings;
mod trials;
mod verdict;
mod words;

pub use advice::advise;
pub use findings::{Omitted, profile_findings};
pub use observed_load::{balanced, observed_load};
pub use rules::{advise_experiment, advise_limits, advise_zones};
pub use settings::{Program, settings};
pub use trials::trial_findings;
pub use verdict::{DiagnoseOptions, Fit, FittedProfile, ProfileSet, diagnose, fit};

//! Draws conclusions from a profile, an experiment or an observation: findings, advice, verdicts.
//! Most are pure functions of recorded data. Nothing is concluded from what was not measured. If
//! numbers contradict a rule of thumb, the numbers win, and the output states that.
//!
//! [`causes`] also reads the facts that its table needs, and [`observe`] takes live samples. The
//! rest is pure.
#![forbid(unsafe_code)]

mod advice;
mod caps;
pub mod causes;
mod commits;
mod drift;
mod findings;
pub mod observe;
mod observed_load;
mod published_limits;
mod rules;
mod settings;
mod trials;
mod verdict;
mod words;

pub use advice::advise;
pub use caps::caps;
pub use commits::commit_verdicts;
pub use findings::{Omitted, profile_findings};
pub use observed_load::{balanced, observed_load};
pub use rules::advise_experiment;
pub use settings::{Program, settings};
pub use trials::trial_findings;
pub use verdict::{
    DiagnoseOptions, Fit, FittedProfile, ProfileSet, diagnose, first_date, fit, past_until,
};

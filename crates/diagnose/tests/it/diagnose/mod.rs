//! Tests that each rule fires on a profile of synthetic trials, and not if one condition changes.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod above_the_device;
mod advice;
mod built_devices;
mod busy_machine;
mod by_operation;
mod changed_conditions;
mod comes_and_goes;
mod counters;
mod findings;
mod flushes;
mod group_limits;
mod ladder;
mod layers;
mod layout;
mod neighbours;
mod provider_limits;
mod recorded;
mod rules;
mod settings;
mod staged;
#[path = "../../../../model/tests/it/model/synthetic.rs"]
mod synthetic;
mod system_facts;
mod tails;
mod trials;
mod unprofiled;
mod verdicts;

use record::{Nanos, Profile, Target, Trial};

/// A profile made like a real one, with a target precision of 5 %.
fn profile_of(target: Target, trials: &[Trial]) -> Profile {
    model::characterise(model::Characterise {
        halfpower_version: "0.0.0".to_owned(),
        id: "profile".to_owned(),
        time: None,
        seed: 1,
        simulated: false,
        target,
        environment: None,
        budget_ns: Nanos(60_000_000_000),
        target_rel: 0.05,
        trials,
        earlier: &[],
    })
}

fn profile(trials: &[Trial]) -> Profile {
    profile_of(synthetic::target(), trials)
}

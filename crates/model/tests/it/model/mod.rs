//! Tests the model against theory, known devices, and published tables.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod areas;
mod beyond;
mod bounds;
mod cells;
mod commits;
mod compare;
mod curves;
mod expect;
mod fits;
mod lone;
mod predict;
mod queueing;
mod stalls;
mod synthetic;
mod validation;
mod wander;
mod warm_up;
mod whatif;

use record::{Nanos, Profile, Trial};

/// The profile of these trials, on a real disk.
fn profile(trials: &[Trial], earlier: &[Profile]) -> Profile {
    model::characterise(model::Characterise {
        halfpower_version: "0.0.0".to_owned(),
        id: "p".to_owned(),
        time: None,
        seed: 1,
        simulated: false,
        target: synthetic::target(),
        environment: None,
        budget_ns: Nanos(1),
        target_rel: 0.05,
        trials,
        earlier,
    })
}

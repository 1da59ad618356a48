//! Tests the planners through the crate's public names.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod commits;
mod comparisons;
mod cost_fit;
mod drift_probe;
mod loads;
mod precondition;
mod sweep;
mod validate;

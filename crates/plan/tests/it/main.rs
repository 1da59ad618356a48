//! Planners on simulated devices.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod comparisons;
mod drift_probe;

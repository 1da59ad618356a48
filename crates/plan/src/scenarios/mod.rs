//! Simulates a device under several concurrent loads, as a kernel's counters would show it.
//!
//! A scenario is several loads that come and go on one simulated device. It needs no plan: the loads are
//! given. The diagnosis gets the same data as from a real device, so it can be tried and judged.
#![forbid(unsafe_code)]

mod load_words;
mod observe;
mod scenario;
mod tracer;

pub use load_words::LoadWords;
pub use observe::observe;
pub use scenario::{Array, GroupLimit, Scenario, ScenarioLoad};

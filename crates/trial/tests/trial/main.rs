//! Tests the same worker on real files and on simulated devices, up to the document.
#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions; what they call uses it too"
)]

mod closed;
mod common;
mod components;
mod cost;
mod counters;
mod coverage;
mod discipline;
#[cfg(target_os = "linux")]
mod faults;
#[expect(dead_code, reason = "the rest is for the tests of the engines")]
#[path = "../../../engine/tests/engine/faulty.rs"]
mod faulty;
mod flash;
mod flushed;
mod known_truth;
mod lying;
#[cfg(target_os = "linux")]
mod memory;
mod open;
#[cfg(target_os = "linux")]
#[path = "../../../engine/tests/engine/linux/scratch.rs"]
mod scratch;
#[cfg(windows)]
#[path = "../../../engine/tests/engine/windows/scratch.rs"]
mod scratch;
mod stop;
mod targets;
mod turns;
mod verify_log;
mod warm_up;
#[cfg(target_os = "linux")]
mod warm_up_search;

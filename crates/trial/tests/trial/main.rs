//! The same worker on real files and on simulated devices, up to the document.
#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions; what they call uses it too"
)]

mod closed;
mod common;
mod discipline;
mod faults;
mod lying;
mod open;
mod stop;
mod targets;
mod warm_up;

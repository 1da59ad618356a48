//! Reads the machine: devices and counters, the device of a path and its writers, and single requests.
//!
//! Each part has a folder for each system, and its `mod.rs` chooses between them. Nothing here uses
//! profiles or verdicts. Unsafe calls are in one module of each system.
#![deny(unsafe_code)]

pub mod kernel;
pub mod target;
pub mod tracer;

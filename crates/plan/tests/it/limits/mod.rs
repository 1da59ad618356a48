//! Tests the limits through the crate's public names.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bus;
mod components;
mod data_sheet;
mod line_rate;
mod memory_modules;
mod network;
mod path;
mod pcie;
mod plan;
mod stated;
mod zones;

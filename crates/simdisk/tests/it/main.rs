//! Tests whole simulated machines in closed loops: published curves, conservation, other arrangements.

mod any_machine;
mod arrangements;
mod arrays;
mod closed;
mod contract;
mod file_bench;
mod file_layer;
mod files;
mod flash_drive;
mod machines;
mod network;
mod parameters;
mod queue_device;
mod rebuilds;
mod specs;

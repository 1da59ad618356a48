//! Whole simulated machines in closed loops: published curves, conservation, other arrangements.

mod any_machine;
mod arrangements;
mod arrays;
mod closed;
mod contract;
mod curves;
mod machines;
mod parameters;

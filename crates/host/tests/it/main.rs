//! The crate through its public names, a folder for each of its parts.

mod kernel;
mod target;
mod tracer;

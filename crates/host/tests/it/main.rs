//! Tests of the crate's public interface, a folder for each of its parts.

mod kernel;
mod target;
mod tracer;

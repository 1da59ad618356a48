//! Tests the crate through its public names, with a folder for each of its parts.

mod limits;
mod plan;
mod scenarios;

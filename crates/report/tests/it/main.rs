//! Tests the crate through its public names.

mod report;

//! Tests the crate through its public items, with a folder for each part.

mod prometheus;

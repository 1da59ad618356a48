//! Tests the crate through its public names, with a folder for each part.

mod parquet;
mod report;

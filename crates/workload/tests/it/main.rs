//! Tests the crate through its public names, with a folder for each part.

mod fio;
mod replay;
mod volume;
mod workload;

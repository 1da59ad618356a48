//! The crate through its public names, a folder for each of its parts.

mod fio;
mod replay;
mod volume;
mod workload;

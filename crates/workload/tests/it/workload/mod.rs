//! Tests workloads and their request streams through the crate's public interface.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_imports,
    reason = "clippy.toml allows unwrap in test functions, and what they call uses it too; tests of \
              types of two crates name most of these"
)]

mod arrivals;
mod building;
mod designs;
mod jobs;
mod recordings;
mod rules;
mod streams;
mod values;

//! Tests the papers through the crate's public interface.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_imports,
    reason = "clippy.toml allows unwrap in test functions, and what they call uses it too; the rules \
              are tested together"
)]

mod data;
mod rules;

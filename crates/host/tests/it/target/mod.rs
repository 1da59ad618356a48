//! Tests of the crate's public interface, on files and devices of this machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod claim;
mod devices;
mod drop_cache;
mod layout;
mod open;
mod rounding;
mod testfile;

//! Tests of the crate's public interface, on machines made of files and on this machine.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod activity;
mod capabilities;
mod cgroup;
mod conditions;
mod context;
mod descriptors;
mod device;
mod filesystem;
mod live;
mod mounts;
mod probe;
mod process;
mod processors;
mod roots;
mod soaker;
mod steps;

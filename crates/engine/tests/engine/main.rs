//! Tests the engines on real files. One suite runs on every engine in the table that does I/O. Further tests
//! cover features of some engines or of one system.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrays;
mod buffers;
mod clock;
mod common;
mod conformance;
mod faults;
mod faulty;
#[cfg(target_os = "linux")]
mod linux;
mod stripe;
mod tags;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

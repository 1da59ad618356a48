//! The engines against real files. One suite runs over every engine of the table that does I/O;
//! beside it stands what only some of them can do, and what only one system has.

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

//! The engines against real files. One suite runs over every engine of the table that does I/O;
//! beside it stands what only some of them can do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrays;
mod buffers;
mod clock;
mod common;
mod conformance;
mod faults;
mod faulty;
mod limits;
mod mapping;
mod memory;
mod refusals;
mod stripe;
mod tags;
mod uring;

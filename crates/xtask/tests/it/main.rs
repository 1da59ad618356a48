//! Tests the developers' tool through its library.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cases;
mod pairs;
mod tidy;

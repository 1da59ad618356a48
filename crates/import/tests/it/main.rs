//! Real, documented and damaged files of other tools.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents;
mod damage;
mod forms;
mod texts;
mod tools;
mod values;
mod windows;

//! The model against theory, against devices whose truth is known, and against published tables.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

extern crate halfpower_model as model;

mod areas;
mod cells;
mod commits;
mod compare;
mod curves;
mod expect;
mod fits;
mod lone;
mod predict;
mod queueing;
mod stalls;
mod synthetic;
mod validation;
mod wander;
mod warm_up;
mod whatif;

//! Runs one load from several machines: agents run parts of a workload, and a coordinator combines them.
//!
//! To the driver of plans, the machines are remote targets ([`Clients`] is a [`plan::session::Opener`]) and
//! one backend of trials. An agent does what the program does on its own machine, step by step ([`serve`]).
//! Users choose how to launch agents: with anything that transports standard input and output, such as ssh,
//! srun or kubectl exec.
#![forbid(unsafe_code)]

mod agent;
mod backend;
mod fleet;
#[cfg(test)]
mod fleet_tests;
mod frame;
mod judge;
mod launch;
mod link;
mod protocol;
mod split;
mod targets;
mod waits;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use agent::serve;
pub use launch::{DEFAULT_LAUNCH, Launch};
pub use split::{Share, split};
pub use targets::Clients;

/// The content of a mutex. No thread leaves it in a state that others cannot use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

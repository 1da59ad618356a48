//! Runs one load from several machines: agents run parts of a workload, and a coordinator combines them.
//!
//! To the driver of plans, the machines are remote targets ([`Clients`] is a [`plan::session::Opener`]) and
//! one backend of trials. An agent does what the program does on its own machine, step by step ([`serve`]).
//! Users choose how to launch agents: with anything that transports standard input and output, such as ssh,
//! srun or kubectl exec, or as ranks that connect by themselves.
//!
//! [`mpi`] provides the barrier of MPI, if it is linked.
#![deny(unsafe_code)]

mod agent;
mod backend;
mod barrier;
mod fleet;
#[cfg(test)]
mod fleet_tests;
mod frame;
mod judge;
mod launch;
mod link;
mod meeting;
pub mod mpi;
mod protocol;
mod ranks;
mod split;
mod targets;
mod waits;

pub use agent::serve;
pub use barrier::Barrier;
pub use launch::{DEFAULT_LAUNCH, Joined, JoinedAgent, Launch};
pub use ranks::Rank;
pub use split::{Share, split};
pub use targets::Clients;

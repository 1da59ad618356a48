//! One load from several machines: agents carry out parts of a workload, a coordinator makes them one.
//!
//! To the driver of plans the machines are targets that are elsewhere ([`Clients`] is a
//! [`plan::session::Opener`]) and one backend of trials. What an agent does is what the program does on its own
//! machine, step by step ([`serve`]). Launching is left to what people have: anything that carries
//! standard input and output, as ssh, srun or kubectl exec, or ranks that come by themselves.
//!
//! [`mpi`] has the barrier of MPI, if it is linked.
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

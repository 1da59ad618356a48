//! One workload, run once: the loop of a job, the two ways to drive jobs, and what becomes of it.
//!
//! A job is a [`Worker`], a state machine that any driver can step. [`RealRig`] gives each job a
//! thread; [`SimRig`] steps all jobs on one thread in order of virtual time. Both end in the same
//! [`Measurement`], which [`conduct`] turns into the trial document with its findings. Whether the
//! numbers mean what they say is decided in [`validity`], from the document alone, so that it can
//! be decided again later.
#![forbid(unsafe_code)]

mod assemble;
mod error;
mod measurement;
mod real;
pub mod validity;
mod virtual_time;
mod worker;

pub use assemble::{Identity, conduct};
pub use error::TrialError;
pub use measurement::{JobTally, Measurement, SLICES, Slice, Tally, Window};
pub use real::{RealRig, ceiling_iops};
pub use virtual_time::SimRig;
pub use worker::{Step, Worker};

use record::Workload;
use std::sync::atomic::AtomicBool;

/// Something that can run workloads: a real target or a simulated one.
pub trait Rig {
    /// Runs a workload; `stop` ends it early with [`TrialError::Interrupted`]. `tick` is called a
    /// few times a second with the share of the run that is over (real runs only).
    ///
    /// # Errors
    /// If nothing could be measured.
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError>;

    /// Whether time is virtual.
    fn simulated(&self) -> bool;
}

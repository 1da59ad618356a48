//! One workload, run once: the loop of a job, the two ways to drive jobs, and what becomes of it.
//!
//! A job is a [`Worker`], a state machine that any driver can step. [`RealRig`] gives each job a
//! thread; [`SimRig`] steps all jobs on one thread in order of virtual time. Both end in the same
//! [`Measurement`], which [`conduct`] turns into the trial document with its findings. Whether the
//! numbers mean what they say is decided in [`validity`], from the document alone, so that it can
//! be decided again later.
#![forbid(unsafe_code)]

mod assemble;
mod board;
mod control;
mod cost;
mod counters;
mod discipline;
mod edges;
mod error;
mod gathering;
mod kept;
mod measurement;
mod pace;
mod read_back;
mod real;
mod scene;
mod threads;
pub mod validity;
pub mod verify;
mod virtual_time;
mod warm_up;
mod watch;
mod worker;

pub use assemble::{Identity, conduct};
pub use board::Board;
pub use control::Control;
pub use cost::cpu_findings;
pub use discipline::CALLBACK_DEPTH_MAX;
pub use error::TrialError;
pub use gathering::Gathering;
pub use measurement::{
    BatchTally, Failures, IntervalTally, JobTally, Measurement, OpenTally, SEGMENTS, SLICES,
    SLICES_PER_SEGMENT, Segment, Slice, Stuck, Window,
};
pub use read_back::{not_read_back, read_back};
pub use real::{RealRig, ceiling_iops};
pub use scene::{GroupLimit, Scene, SceneLoad, observe};
pub use threads::Opening;
pub use virtual_time::SimRig;
pub use worker::{JobPlan, Step, Worker};

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

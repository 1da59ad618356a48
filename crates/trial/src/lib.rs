//! Runs one workload once: the loop of a job, the drivers of jobs on real targets, and the trial document.
//!
//! A job is a [`Worker`], a state machine that any driver can step. [`RealBackend`] gives each job a
//! thread; the simulator's backend steps all jobs on one thread in virtual time. Both produce the same
//! [`Measurement`], which [`run_trial`] turns into the trial document. [`validity`] decides from the
//! document alone whether its numbers can be trusted.
#![forbid(unsafe_code)]

mod arrivals;
mod assemble;
mod batching;
mod control;
mod cost;
mod counters;
mod error;
mod job_counters;
mod legs;
mod measurement;
pub mod memory;
mod own_engine;
mod part;
mod precision;
mod read_back;
mod real;
mod rebuild;
mod run_plan;
mod steady_window;
mod threads;
mod together;
pub mod validity;
pub mod verify;
mod watch;
mod window_boundaries;
mod worker;

pub use assemble::{Identity, run_trial};
pub use batching::{Batch, BatchChoice, Ways};
pub use control::Control;
pub use cost::{cpu_cost, cpu_findings};
pub use error::TrialError;
pub use job_counters::JobCounters;
pub use measurement::{
    BatchTotals, FLUSH, Failures, IntervalTotals, JobTotals, KINDS, Measurement, OpenTotals,
    SEGMENTS, SLICES, SLICES_PER_SEGMENT, Segment, Slice, Stuck, TRIM, Times, Window,
};
pub use own_engine::{OwnEngine, add_own_engines};
pub use part::{AgreeOnBegin, Part, PartTotals, Ready, together};
pub use precision::{JudgeElsewhere, Precision};
pub use read_back::not_read_back;
pub use real::{RealBackend, try_engines};
pub use rebuild::rebuild_result;
pub use steady_window::segments_to_cut;
pub use threads::Opening;
pub use worker::{CALLBACK_DEPTH_MAX, JobPlan, Step, Worker};

use record::Workload;
use std::sync::atomic::AtomicBool;
use workload::derive_seed;

/// The seed of a workload after the first; it differs from the seeds of the first workload's jobs.
#[must_use]
pub fn seed_beside(seed: u64, number: u64) -> u64 {
    derive_seed(seed, (1 << 34) + number)
}

/// Runs workloads on a real target or a simulated one.
pub trait TrialBackend {
    /// Runs a workload. `stop` ends it early: before the window with [`TrialError::Interrupted`], within
    /// the window with a result that is marked as interrupted. `tick` is called a few times a second with
    /// the completed share of the run (real runs only).
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

    /// Makes the next run a part of a larger one.
    ///
    /// # Errors
    /// If this backend cannot, as in virtual time, where there is no begin to agree on.
    fn take_part(&mut self, _part: Part) -> Result<(), TrialError> {
        Err(TrialError::NoPart)
    }

    /// The clients of the last run with their own trials; `None` if a single program made it.
    fn clients(&mut self) -> Option<(record::Clients, Vec<record::Trial>)> {
        None
    }

    /// Whether time is virtual.
    fn simulated(&self) -> bool;
}

//! Defines targets on other machines: the same steps as for local targets, run there.
//!
//! An implementation must do everything that local targets do, on every machine that it represents, and
//! return a trial backend. Plans, driver, store and documents then work unchanged.

use crate::session::Result;
use record::{CacheMode, EngineName, Finding, Target, Workload};
use std::rc::Rc;
use trial::TrialBackend;

/// Targets that are open on other machines.
pub trait TargetsElsewhere {
    /// Facts of each target, from the first machine.
    fn facts(&self) -> &[Target];

    /// Offsets and sizes of direct I/O must be multiples of this, in bytes.
    fn alignment(&self) -> u64;

    /// Whether runs may write to them, on all machines.
    fn writable(&self) -> bool;

    /// Reads the extents of existing files in the workload's area.
    ///
    /// # Errors
    /// If the area contains data that must not be measured.
    fn look_at_area(&self, workload: &Workload) -> Result<()>;

    /// Opens them again with the flags of a cache mode.
    ///
    /// # Errors
    /// If a file system does not support them.
    fn open_mode(&self, cache: CacheMode, write: bool) -> Result<()>;

    /// Writes the test files of directories and prepares everything for trials.
    ///
    /// # Errors
    /// If a test file cannot be written, or the user interrupts it.
    fn prepare(&self, engine: EngineName, seed: u64) -> Result<PreparedElsewhere>;

    /// Flushes the data in the page caches; returns the longest duration, in milliseconds.
    ///
    /// # Errors
    /// If a flush fails on any machine.
    fn flush(&self) -> Result<f64>;
}

/// Targets on other machines, ready for trials.
pub struct PreparedElsewhere {
    /// Runs workloads on those machines.
    pub backend: Box<dyn TrialBackend>,
    /// The engine that works on all machines.
    pub engine: EngineName,
    /// Findings from before any trial.
    pub findings: Vec<Finding>,
}

/// A handle on targets elsewhere.
pub(crate) type Elsewhere = Rc<dyn TargetsElsewhere>;

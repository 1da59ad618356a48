//! Targets that are open on other machines: the same steps as here, carried out there.
//!
//! What stands behind them must do all that targets here do, on every machine that it speaks for, and hand
//! back a backend of trials: plans, driver, store and documents then do not know the difference.

use crate::session::Result;
use record::{CacheMode, EngineName, Finding, Target, Workload};
use std::rc::Rc;
use trial::TrialBackend;

/// Targets that are open on other machines.
pub trait TargetsElsewhere {
    /// What is known of each, on the first of the machines.
    fn facts(&self) -> &[Target];

    /// What offsets and sizes past the page cache must be multiples of, in bytes.
    fn alignment(&self) -> u64;

    /// Whether runs may write to them, everywhere.
    fn writable(&self) -> bool;

    /// What was found when they were opened.
    fn findings(&self) -> Vec<Finding>;

    /// Learns how existing files lie on their devices where the workload uses them.
    ///
    /// # Errors
    /// If the area holds what must not be measured.
    fn look_at_area(&self, workload: &Workload) -> Result<()>;

    /// Opens them once more with the flags of a cache mode.
    ///
    /// # Errors
    /// If a file system does not honour them.
    fn open_mode(&self, cache: CacheMode, write: bool) -> Result<()>;

    /// Writes the test files of directories, and makes everything ready for trials.
    ///
    /// # Errors
    /// If a test file cannot be written, or the user interrupts it.
    fn prepare(&self, engine: EngineName, seed: u64) -> Result<PreparedElsewhere>;

    /// Flushes what the page caches took; the longest time that it took, in milliseconds.
    ///
    /// # Errors
    /// If it fails anywhere.
    fn flush(&self) -> Result<f64>;
}

/// Targets elsewhere, ready for trials.
pub struct PreparedElsewhere {
    /// Runs workloads there.
    pub backend: Box<dyn TrialBackend>,
    /// The engine that can be used everywhere.
    pub engine: EngineName,
    /// What was found before any trial.
    pub findings: Vec<Finding>,
}

/// A handle on targets elsewhere.
pub(crate) type Elsewhere = Rc<dyn TargetsElsewhere>;

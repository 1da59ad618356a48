//! Targets that are open on other machines: the same steps as here, carried out there.
//!
//! Whoever opens targets does so through an [`Opener`]. [`Here`] is this machine. What stands behind another
//! one must do all that [`RealTargets`] does, on every machine that it speaks for, and hand back a backend
//! of trials: plans, driver, store and documents then do not know the difference.

use crate::{Display, RealTargets, Result, StopFlag};
use record::{Bytes, CacheMode, EngineName, Finding, Target, Workload};
use std::path::Path;
use std::rc::Rc;
use target::Access;
use trial::TrialBackend;
use workload::Spec;

/// Opens targets, on this machine or on others.
pub trait Opener {
    /// Opens what the paths mean, without writing anything. A target must hold `min_request` bytes.
    ///
    /// # Errors
    /// If one cannot be opened, is too small, named twice, or refused for safety.
    fn open(
        &self,
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> Result<RealTargets>;

    /// What a command line asks of each client, as one load: that of all of them.
    ///
    /// # Errors
    /// If something of it cannot be had on several machines.
    fn whole(&self, spec: Spec) -> Result<Spec> {
        Ok(spec)
    }

    /// The machines that make a load together, by name; none where it is this one alone.
    fn clients(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the machine has what a job asks of it beside its targets, as far as that can be known now.
    ///
    /// # Errors
    /// If it has not.
    fn check_machine(&self, asked: &Workload) -> Result<()> {
        crate::check_machine(asked)
    }

    /// Whether the engine that is used by default can be had where the targets are.
    fn has_default_engine(&self) -> bool {
        engine::probe_default_engine().is_ok()
    }
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl Opener for Here {
    fn open(
        &self,
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> Result<RealTargets> {
        RealTargets::open(paths, access, size, min_request)
    }
}

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
    fn prepare(
        &self,
        engine: EngineName,
        seed: u64,
        stop: &StopFlag,
        display: &mut dyn Display,
    ) -> Result<PreparedElsewhere>;

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

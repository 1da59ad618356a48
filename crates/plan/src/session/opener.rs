//! Defines how targets are opened: on this machine, or on several machines that make a load together.

use crate::session::machine::check_machine;
use crate::session::{RealTargets, Result};
use host::target::Access;
use record::{Bytes, Workload};
use std::path::Path;
use workload::Spec;

/// Opens targets, on this machine or on others.
pub trait Opener {
    /// Opens the targets at these paths without writing. A target must hold `min_request` bytes.
    ///
    /// # Errors
    /// If a target cannot be opened, is too small, is named twice, or is refused for safety.
    fn open(
        &self,
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> Result<RealTargets>;

    /// Converts the load that the command line requests per client into the load of all clients.
    ///
    /// # Errors
    /// If a part of it is not possible on several machines.
    fn whole(&self, spec: Spec) -> Result<Spec> {
        Ok(spec)
    }

    /// Names of the machines that make a load together; empty for this machine alone.
    fn clients(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks that the machine has what a job requires besides its targets, as far as known.
    ///
    /// # Errors
    /// If something is missing.
    fn check_machine(&self, asked: &Workload) -> Result<()> {
        check_machine(asked)
    }

    /// Whether the default engine works where the targets are.
    fn has_default_engine(&self) -> bool {
        engine::probe_default_engine().is_ok()
    }
}

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Opener for ThisMachine {
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

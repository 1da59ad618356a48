//! Who opens targets: this machine, or others that make a load together.

use crate::session::machine::check_machine;
use crate::session::{RealTargets, Result};
use host::target::Access;
use record::{Bytes, Workload};
use std::path::Path;
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
        check_machine(asked)
    }

    /// Whether the engine that is used by default can be had where the targets are.
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

//! The probe of a run on a real machine: its counters, and a soaker's counts at the same moments.

use crate::kernel::platform::probe::Counters;
use crate::kernel::read::Roots;
use crate::kernel::soaker::SoakTap;
use engine::{Probe, ProbeFacts, ProbeSample};
use record::DeviceFacts;

/// Reads the counters of this machine.
pub struct RealProbe {
    counters: Counters,
    tap: SoakTap,
}

impl RealProbe {
    /// A probe of this process and of the disks under its targets; each disk counts once.
    #[must_use]
    pub fn new(roots: Roots, disks: &[DeviceFacts]) -> Self {
        Self { counters: Counters::new(roots, disks), tap: SoakTap::default() }
    }

    /// Gives a soaker's counts at the moments of this probe's samples.
    #[must_use]
    pub fn soak_tap(&self) -> SoakTap {
        self.tap.clone()
    }
}

impl Probe for RealProbe {
    fn sample(&mut self) -> ProbeSample {
        self.tap.record();
        self.counters.sample()
    }

    fn facts(&self) -> ProbeFacts {
        self.counters.facts()
    }
}

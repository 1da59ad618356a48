//! What a judge may look at: pure documents.

use crate::causes::effect::{Effects, Load};
use record::{ComparedCondition, DeviceFacts, FilesystemFacts, Sustained, SystemFact};

/// A machine at one time, as far as one of its disks is concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine<'a> {
    /// All that the checks read.
    pub facts: &'a [SystemFact],
    /// What sysfs says of the disk.
    pub disk: Option<&'a DeviceFacts>,
    /// The file systems on the disk that were named.
    pub filesystem: Option<&'a FilesystemFacts>,
    /// Settings that are others than when the profile was made: first as profiled, then as observed.
    pub changed: &'a [ComparedCondition],
    /// Length of the recording, between whose ends facts rise, in seconds; 0 if unknown.
    pub recorded_s: f64,
    /// Loads of the profile that went on until the rate fell.
    pub sustained: &'a [Sustained],
}

impl<'a> Machine<'a> {
    /// The facts of the disk, of what lies on it, and of the machine as a whole.
    pub(crate) fn own_facts(&self) -> Vec<&'a SystemFact> {
        let own = |fact: &&SystemFact| {
            let Some(device) = &fact.device else { return true };
            self.disk.is_none_or(|disk| {
                *device == disk.disk || *device == disk.name || fact.disks.contains(&disk.disk)
            })
        };
        self.facts.iter().filter(own).collect()
    }
}

/// What the judge of one check looks at.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// What this check read of the disk, of what lies on it, and of the machine.
    pub facts: Vec<&'a SystemFact>,
    /// The machine.
    pub machine: Machine<'a>,
    /// The load.
    pub load: &'a Load,
    /// The volume that holds requests.
    holder: Option<&'a str>,
}

impl<'a> View<'a> {
    /// `own` are the machine's own facts: they are searched once for all checks.
    pub(crate) fn of(
        check: &str,
        machine: Machine<'a>,
        own: &[&'a SystemFact],
        effects: &'a Effects,
    ) -> Self {
        let facts = own.iter().copied().filter(|fact| fact.check == check).collect();
        Self { facts, machine, load: &effects.load, holder: effects.holder.as_deref() }
    }

    /// The fact, of a check that reads one of each disk or of the machine.
    #[must_use]
    pub fn fact(&self) -> Option<&'a SystemFact> {
        self.facts.first().copied()
    }

    /// The fact of the volume that holds requests. Where none does, the first.
    #[must_use]
    pub fn fact_of_holder(&self) -> Option<&'a SystemFact> {
        let Some(holder) = self.holder else { return self.fact() };
        self.facts.iter().copied().find(|fact| fact.device.as_deref() == Some(holder))
    }

    /// A rise between the ends of the recording, per second. A segment is shorter than that.
    #[must_use]
    pub fn per_s(&self, rise: f64) -> f64 {
        let recorded_s = Some(self.machine.recorded_s).filter(|seconds| *seconds > 0.0);
        rise / recorded_s.unwrap_or(self.load.seconds).max(1e-9)
    }

    /// What sysfs says of the disk.
    #[must_use]
    pub fn disk(&self) -> Option<&'a DeviceFacts> {
        self.machine.disk
    }

    /// Whether the device works enough of the time that what takes it can hold programs up. Pressure is that of the
    /// whole machine, whose programs may wait for another device.
    #[must_use]
    pub fn works(&self) -> bool {
        /// Share of the time.
        const WORKS: f64 = 0.1;
        self.load.busy.is_none_or(|busy| busy >= WORKS)
    }

    /// Whether the disk is flash, as far as can be believed.
    #[must_use]
    pub fn is_flash(&self) -> bool {
        let flash = |disk: &&DeviceFacts| disk.rotational == Some(false) && !disk.virtual_disk;
        self.disk().filter(flash).is_some()
    }

    /// A setting that is another now than when the profile was made.
    #[must_use]
    pub fn changed(&self, what: &str) -> Option<&'a ComparedCondition> {
        self.machine.changed.iter().find(|one| one.what == what)
    }
}

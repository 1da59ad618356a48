//! Defines what a judge may use: pure data.

use crate::causes::{Effects, Load};
use record::{ComparedCondition, DeviceFacts, FilesystemFacts, Sustained, SystemFact};

/// The state of a machine at one time, as far as one of its disks is concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine<'a> {
    /// Everything that the checks read.
    pub facts: &'a [SystemFact],
    /// sysfs facts of the disk.
    pub disk: Option<&'a DeviceFacts>,
    /// The file system on the disk that the user named.
    pub filesystem: Option<&'a FilesystemFacts>,
    /// Settings that differ from those of the profile: first as profiled, then as observed.
    pub changed: &'a [ComparedCondition],
    /// Length of the recording, between whose ends facts are compared, in seconds; 0 if unknown.
    pub recorded_s: f64,
    /// Loads of the profile that ran until the rate fell.
    pub sustained: &'a [Sustained],
}

impl<'a> Machine<'a> {
    /// Facts of the disk, of partitions and volumes on it, and of the machine as a whole.
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

/// The data for the judge of one check.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// Facts that this check read about the disk, about devices on it, and about the machine.
    pub facts: Vec<&'a SystemFact>,
    /// The machine at the time of the observation.
    pub machine: Machine<'a>,
    /// The load on the disk.
    pub load: &'a Load,
    /// The volume that holds requests.
    holder: Option<&'a str>,
}

impl<'a> View<'a> {
    /// `own` are the machine's own facts, searched once for all checks.
    pub(crate) fn of(
        check: &str,
        machine: Machine<'a>,
        own: &[&'a SystemFact],
        effects: &'a Effects,
    ) -> Self {
        let facts = own.iter().copied().filter(|fact| fact.check == check).collect();
        Self { facts, machine, load: &effects.load, holder: effects.holder.as_deref() }
    }

    /// The fact of a check that reads one per disk or per machine.
    #[must_use]
    pub fn fact(&self) -> Option<&'a SystemFact> {
        self.facts.first().copied()
    }

    /// The fact of the volume that holds requests, or the first fact if no volume does.
    #[must_use]
    pub fn fact_of_holder(&self) -> Option<&'a SystemFact> {
        let Some(holder) = self.holder else { return self.fact() };
        self.facts.iter().copied().find(|fact| fact.device.as_deref() == Some(holder))
    }

    /// Converts a rise between the ends of the recording to a rate per second. A segment is shorter
    /// than the recording.
    #[must_use]
    pub fn per_s(&self, rise: f64) -> f64 {
        let recorded_s = Some(self.machine.recorded_s).filter(|seconds| *seconds > 0.0);
        rise / recorded_s.unwrap_or(self.load.seconds).max(1e-9)
    }

    /// sysfs facts of the disk.
    #[must_use]
    pub fn disk(&self) -> Option<&'a DeviceFacts> {
        self.machine.disk
    }

    /// Whether the device is busy enough for its work to delay programs. Pressure covers the whole
    /// machine, whose programs may wait for another device.
    #[must_use]
    pub fn works(&self) -> bool {
        /// Least utilization.
        const WORKS: f64 = 0.1;
        self.load.busy.is_none_or(|busy| busy >= WORKS)
    }

    /// Whether the disk is flash, as far as the kernel's report is reliable.
    #[must_use]
    pub fn is_flash(&self) -> bool {
        let flash = |disk: &&DeviceFacts| disk.rotational == Some(false) && !disk.virtual_disk;
        self.disk().filter(flash).is_some()
    }

    /// A setting that differs from the one in the profile.
    #[must_use]
    pub fn changed(&self, what: &str) -> Option<&'a ComparedCondition> {
        self.machine.changed.iter().find(|one| one.what == what)
    }
}

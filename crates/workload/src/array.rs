//! Combines targets into one array: converts the level and chunk of a workload into a volume, and checks that
//! they are valid.

use crate::error::refuse;
use crate::volume::{Raid, Volume, VolumeSpec};
use crate::{BuildError, Spec};
use record::{Bytes, Data, EngineName, RaidLevel, Redundancy, Workload, format_bytes};

/// Chunks are whole sectors.
const SECTOR_BYTES: u64 = 512;
/// Minimum speed of a rebuild. A slower one is a typing error.
const MIN_REBUILD: Bytes = Bytes(64 << 10);

/// How the targets of a workload are combined into one with copies or parity; `None` if they are not.
#[must_use]
pub fn volume_spec(workload: &Workload) -> Option<VolumeSpec> {
    let array = workload.array?;
    let raid = match array.level {
        RaidLevel::Raid1 => Raid::Raid1,
        RaidLevel::Raid5 => Raid::Raid5,
        RaidLevel::Raid0 | RaidLevel::Raid6 | RaidLevel::Raid10 => return None,
    };
    let chunk_bytes = workload.stripe_bytes?.0;
    Some(VolumeSpec {
        raid,
        chunk_bytes,
        failed: array.failed,
        ordered: true,
        ..Default::default()
    })
}

impl Spec {
    /// Checks the rules for an array that do not depend on its targets.
    pub(crate) fn check_array(&self) -> Result<(), BuildError> {
        let (Some(array), asked) = (self.asked.array, &self.asked) else { return Ok(()) };
        let spec = volume_spec(asked);
        let levels = "must be 0, 1 or 5 for an array of several targets";
        refuse(spec.is_none(), "raid", levels)?;
        let least = if array.level == RaidLevel::Raid5 { 3 } else { 2 };
        let level = array.level.number();
        let why = format!(
            "{level} needs at least {least} targets; number of targets named: {}",
            asked.targets
        );
        refuse(asked.targets < least, "raid", &why)?;
        let chunk = asked.stripe_bytes.unwrap_or_default().0;
        let why = format!("{chunk} is not a multiple of {SECTOR_BYTES} bytes");
        refuse(!chunk.is_multiple_of(SECTOR_BYTES), "chunk", &why)?;
        let beyond = array.failed.is_some_and(|leg| leg >= asked.targets);
        let why = format!(
            "must be the number of a target, from 0 to {}",
            asked.targets.saturating_sub(1)
        );
        refuse(beyond, "failed", &why)?;
        let null = asked.engine == EngineName::Null;
        refuse(null, "raid", "does not work with --ioengine null, which does no I/O")?;
        let own = matches!(asked.engine, EngineName::Own(_));
        refuse(own, "raid", "1 and 5 work only with the built-in engines; omit --ioengine")?;
        let verifies = asked.data == Data::Tagged && asked.offset_bytes.0 > 0;
        let why = "does not work with --raid 1 or 5 together with --verify, because that check \
                   compares the targets over their full length; omit it";
        refuse(verifies, "offset", why)?;
        let Some(rebuild) = array.rebuild else { return Ok(()) };
        let why = "needs a failed target to rebuild; add, for example, --failed 1";
        refuse(array.failed.is_none(), "rebuild", why)?;
        let mapped = asked.engine == EngineName::Mmap;
        refuse(mapped, "rebuild", "does not work with --ioengine mmap; use another engine")?;
        match rebuild.bytes_per_s {
            Some(rate) if rate < MIN_REBUILD => {
                let range = format!("max, or at least {} per second", format_bytes(MIN_REBUILD.0));
                Err(BuildError::range("rebuild", &format_bytes(rate.0), &range))
            }
            _ => Ok(()),
        }
    }

    /// The requested array on targets of this size, with the used bytes of each leg, and the size of the
    /// whole array.
    pub(crate) fn array_on(&self, leg: Bytes) -> Option<(Redundancy, Bytes)> {
        let (array, spec) = (self.asked.array?, volume_spec(&self.asked)?);
        let leg_bytes = Bytes(leg.0 / spec.chunk_bytes * spec.chunk_bytes);
        let size = Volume::new(&spec, self.asked.targets, leg_bytes.0).size();
        Some((Redundancy { leg_bytes, ..array }, Bytes(size)))
    }
}

/// Checks that jobs on the same targets use them as the same array.
pub(crate) fn check_together(first: &Workload) -> Result<(), BuildError> {
    let of = |workload: &Workload| (workload.array, workload.stripe_bytes, workload.targets);
    for (set, workload) in first.by_targets() {
        for (other_set, other) in first.by_targets() {
            let array = workload.array.is_some() && set == other_set;
            let why = "combines targets for all jobs that use them; give these jobs the same \
                       --raid, --chunk, --failed and --size";
            refuse(array && of(workload) != of(other), "raid", why)?;
        }
    }
    Ok(())
}

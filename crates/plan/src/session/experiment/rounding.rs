//! Reports the allocation unit of a directory's file system, and the space that its files lose by rounding
//! to it.
//!
//! Large units allow large requests and few extents, but waste space with small files (Riedel 1997, section
//! 5.5). This cost needs no trial, so it is reported together with the trials about alignment: for the file
//! system's own unit, and for the 64 KiB that the paper recommends.

use host::target;
use record::{Finding, FindingCode, Target, TargetKind, format_bytes};
use std::path::Path;
use workload::{Design, Setting};

/// The key of a design about alignment.
const ALIGNMENT_KEY: &str = "misalign";
/// Maximum number of files that are inspected: about a second.
const FILES_MAX: usize = 100_000;
/// The unit that the 1997 paper recommends.
const ADVISED_BYTES: u64 = 64 << 10;

/// The rounding loss in each directory among the targets, for a design about alignment.
#[must_use]
pub fn rounding_findings(design: &Design, targets: &[Target]) -> Vec<Finding> {
    let key = |setting: &Setting| setting.key == ALIGNMENT_KEY;
    let mut levels = design.axes.iter().flat_map(|axis| &axis.levels);
    let asked = levels.any(|level| level.settings.iter().any(key));
    let directories = targets.iter().filter(|target| target.kind == TargetKind::Directory);
    directories.filter(|_| asked || design.constants.iter().any(key)).filter_map(finding).collect()
}

fn finding(target: &Target) -> Option<Finding> {
    let unit = target.filesystem.as_ref()?.block_bytes.0;
    let sizes = target::file_sizes(Path::new(&target.path), FILES_MAX).ok()?;
    let bytes: u64 = sizes.iter().sum();
    let share = |unit: u64| {
        let lost = target::rounding_loss(&sizes, unit);
        lost as f64 / (bytes + lost).max(1) as f64
    };
    if unit == 0 {
        return None;
    }
    let at_most = if sizes.len() == FILES_MAX { "the first " } else { "" };
    let files = match sizes.len() {
        0 => format!("no file below {} loses space to rounding", target.path),
        number => format!(
            "{at_most}{number} files below {1} ({0} in total) lose {2:.1} % of their space to \
             rounding, or {3:.1} % with a unit of {4}",
            format_bytes(bytes),
            target.path,
            share(unit) * 100.0,
            share(ADVISED_BYTES) * 100.0,
            format_bytes(ADVISED_BYTES)
        ),
    };
    // If the disk reports them.
    let device = target.device.as_ref();
    let blocks =
        device.and_then(|device| Some((device.logical_block_bytes?, device.physical_block_bytes?)));
    let blocks = blocks.map_or(String::new(), |(logical, physical)| {
        let (logical, physical) = (format_bytes(logical), format_bytes(physical));
        format!("; the disk's blocks are {logical} (logical) and {physical} (physical)")
    });
    let claim = format!("The allocation unit is {}{blocks}; {files}.", format_bytes(unit));
    Some(
        Finding::note(
            FindingCode::RoundingLoss,
            claim,
            "Use large units for large files; combine many small items in one file.",
        )
        .with("files", sizes.len() as f64, "")
        .with("total size", bytes as f64, "bytes")
        .with("allocation unit", unit as f64, "bytes")
        .with("lost at that unit", share(unit), "")
        .with("lost at 64 KiB", share(ADVISED_BYTES), ""),
    )
}

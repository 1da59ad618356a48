//! Findings on a target that affect its numbers.

use record::{Bytes, Extents, Finding, FindingCode, Severity, Target, format_bytes};

/// A file with shorter extents than this on average counts as scattered: a large sequential request then
/// needs several positions on the device.
const SCATTERED_BELOW_BYTES: u64 = 1 << 20;
/// Minimum number of extents: a few short ones at the ends of a file are normal.
const SCATTERED_MIN_COUNT: u64 = 16;

/// Effects of kind, file system and device on the numbers.
pub(crate) fn target_findings(facts: &Target) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(filesystem) = &facts.filesystem {
        if filesystem.in_memory {
            findings.push(Finding::warning(
                FindingCode::NoDevice,
                format!(
                    "The {} is in memory, not on a device, so these numbers measure memory.",
                    filesystem.kind
                ),
                "Name a directory on a disk.",
            ));
        }
        if filesystem.compresses {
            // The device's counters show the effect in a run; it is judged there.
            findings.push(Finding::note(
                FindingCode::CompressedFilesystem,
                format!(
                    "The {} file system compresses data (mount options {}); the random data of \
                     this test does not compress.",
                    filesystem.kind, filesystem.options
                ),
                "To measure without compression, name a directory that is not compressed.",
            ));
        }
    }
    if let Some(device) = &facts.device
        && let Some(rotational) = device.rotational
        && !device.rotational_trusted
    {
        findings.push(Finding::note(
            FindingCode::RotationalUntrusted,
            format!(
                "The kernel reports that {} is {}, but with {} this flag is unreliable.",
                device.disk,
                if rotational { "rotational" } else { "not rotational" },
                device.driver.as_deref().unwrap_or("an unknown driver"),
            ),
            "Rely on the measured times.",
        ));
    }
    findings
}

/// Findings on numbers that are read from the first `size` bytes, from their placement. `unwritten` is the
/// severity if the area is not completely on the device.
pub(crate) fn placement_findings(
    extents: &Extents,
    size: Bytes,
    unwritten: Severity,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let absent = extents.hole_bytes.0 + extents.unwritten_bytes.0;
    if absent > 0 {
        findings.push(
            Finding::new(
                FindingCode::UnwrittenExtents,
                unwritten,
                format!(
                    "{} of {} was never written: reads of this part return zeros without accessing \
                     the device.",
                    format_bytes(absent),
                    format_bytes(size.0)
                ),
                Extents::FILL,
            )
            .with("holes", extents.hole_bytes.0 as f64, "bytes")
            .with("unwritten extents", extents.unwritten_bytes.0 as f64, "bytes")
            .with("area", size.0 as f64, "bytes"),
        );
    }
    let mapped = size.0 - extents.hole_bytes.0.min(size.0);
    if extents.count >= SCATTERED_MIN_COUNT && mapped / extents.count < SCATTERED_BELOW_BYTES {
        findings.push(
            Finding::note(
                FindingCode::Fragmented,
                format!(
                    "The file has {} extents, {} each on average: sequential requests are not \
                     sequential on the device.",
                    extents.count,
                    format_bytes(mapped / extents.count)
                ),
                "To measure the device without fragmentation, use a file that was written in one \
                 go.",
            )
            .with("extents", extents.count as f64, ""),
        );
    }
    findings
}

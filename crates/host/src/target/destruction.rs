//! Reports after a run what data it has destroyed.

use record::{Bytes, Finding, FindingCode, Target, TargetKind, format_bytes};

/// The finding on destroyed data of a block device; `None` for other targets. The area is the range that
/// requests could write to.
#[must_use]
pub fn destruction(target: &Target, offset: Bytes, length: Bytes) -> Option<Finding> {
    if target.kind != TargetKind::BlockDevice {
        return None;
    }
    let device = target.device.as_ref().map_or("", |device| device.name.as_str());
    let serial = target.device.as_ref().and_then(|device| device.serial.as_ref());
    let serial = serial.map(|serial| format!(", serial number {serial}")).unwrap_or_default();
    let finding = Finding::note(
        FindingCode::DataDestroyed,
        format!(
            "The run destroyed data on {} ({device}{serial}), as --destroy-data-on allowed: it \
             wrote to {}, beginning at byte {}.",
            target.path,
            format_bytes(length.0),
            offset.0
        ),
        "",
    );
    let finding = finding.with("first byte", offset.0 as f64, "bytes");
    Some(finding.with("length", length.0 as f64, "bytes"))
}

//! Detects a nearly full file system: it searches long for free blocks and fragments new data.
//!
//! The observation has the size and free space of file systems that the user named.

use crate::causes::{Basis, Check, Claim, Effect, View, When};
use record::{LayerKind, format_bytes, format_share};

pub(super) const ROW: Check = Check {
    name: "file_system_full",
    causes: &[25],
    layer: LayerKind::FileSystem,
    reads: "size and free space of the named file system (statfs)",
    source: "https://docs.kernel.org/filesystems/ext4/allocators.html",
    // The data are in the observation's paths.
    basis: Basis::Facts { when: When::Begin, read: |_, _| {}, judge },
};

/// Share of free space that suffices: ext4 reserves 5 % against fragmentation.
const ENOUGH: f64 = 0.05;
/// Free space that suffices on any file system.
const PLENTY_BYTES: u64 = 64 << 30;

fn judge(view: &View<'_>) -> Option<Claim> {
    let system = view.machine.filesystem?;
    let free = system.free_bytes.0 as f64 / system.size_bytes.0.max(1) as f64;
    if free >= ENOUGH || system.free_bytes.0 >= PLENTY_BYTES || system.in_memory {
        return None;
    }
    let says = format!(
        "The file system at {} has {} free of {} ({}).",
        system.mount_point,
        format_bytes(system.free_bytes.0),
        format_bytes(system.size_bytes.0),
        format_share(free)
    );
    let action = "Free space, or grow the file system: with less than 5 % free, ext4, XFS and \
                  btrfs take longer to find free blocks and scatter their writes.";
    let explains = [Effect::WaitsAbove, Effect::SlowWrites, Effect::SteppedDown];
    let writes = view.load.writes_per_s > 0.0 && view.works();
    let claim = Claim::unusual(says, &explains, action).only_if(writes);
    Some(claim.with("free", free, "share").by(1.0 / free.max(1e-3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine};
    use record::{Bytes, FilesystemFacts};

    fn system(free: u64) -> FilesystemFacts {
        FilesystemFacts {
            kind: "ext4".to_owned(),
            mount_point: "/srv".to_owned(),
            options: "rw".to_owned(),
            source: "/dev/sda1".to_owned(),
            size_bytes: Bytes(100 << 30),
            free_bytes: Bytes(free),
            block_bytes: Bytes(4096),
            in_memory: false,
            compresses: false,
            direct_alignment_bytes: None,
        }
    }

    #[test]
    fn a_full_file_system_explains_slow_writes_and_a_half_full_one_does_not() {
        let sda = disk("sda", |_| {});
        let (full, half) = (system(1 << 30), system(50 << 30));
        let writes = Load { writes_per_s: 10.0, ..Load::default() };
        let now = Machine { disk: Some(&sda), filesystem: Some(&full), ..Machine::default() };
        let says = cause_only_with_effect("file_system_full", now, Effect::WaitsAbove, writes);
        assert!(says.contains("/srv") && says.contains("1.0 %") || says.contains("1 %"), "{says}");
        nothing("file_system_full", now, Load { reads_per_s: 10.0, ..Load::default() });
        nothing("file_system_full", Machine { filesystem: Some(&half), ..now }, writes);
    }
}

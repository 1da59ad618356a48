//! The table of causes. A row with facts is one file; a row for a rule of the diagnosis is one line.

mod alignment;
mod cache_mode;
mod dirty_limits;
mod discards;
mod dm_crypt;
mod drive_errors;
mod filesystem_room;
mod flash_cache;
mod heat;
mod interrupts;
mod journal;
mod kernel_log;
mod kernel_settings;
mod nfs_commits;
mod nvme_health;
mod nvme_power;
mod pcie_link;
mod sata_link;
mod shingled;
mod smart;
#[cfg(test)]
mod staging_tests;
mod swap;
mod thin_pool;
mod usb_bridge;
mod virtio_queues;
mod volatile_cache;
mod zfs;

use crate::causes::{Basis, Check};
use record::{CauseCode, LayerKind};

const fn rule(
    name: &'static str,
    causes: &'static [u8],
    layer: LayerKind,
    codes: &'static [CauseCode],
    reads: &'static str,
    source: &'static str,
) -> Check {
    Check { name, causes, layer, reads, source, basis: Basis::Rule(codes) }
}

/// All rows. Of two claims with equal weight the first wins.
pub static TABLE: [Check; 35] = [
    rule(
        "provider_cap",
        &[2],
        LayerKind::Below,
        &[CauseCode::ProviderLimit, CauseCode::PinnedRate],
        "rates compared with published limits; NVMe log page 0xD0 of Amazon's volumes",
        "https://docs.aws.amazon.com/ebs/latest/userguide/nvme-detailed-performance-stats.html",
    ),
    rule(
        "neighbour",
        &[3],
        LayerKind::Program,
        &[CauseCode::Neighbour, CauseCode::CgroupLimit],
        "requests of each process (tracer), io.stat, io.max and io.weight of control groups",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#io",
    ),
    rule(
        "memory_limit",
        &[4],
        LayerKind::PageCache,
        &[CauseCode::MemoryShort],
        "workingset_refault_file of /proc/vmstat and memory.stat, memory.events or memory.failcnt",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
    ),
    rule(
        "dirty_throttle",
        &[11],
        LayerKind::PageCache,
        &[CauseCode::WriteBackLimit, CauseCode::Bursts],
        "nr_dirty, nr_writeback and the two thresholds of /proc/vmstat, pressure",
        "https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-bytes",
    ),
    rule(
        "partial_blocks",
        &[12],
        LayerKind::FileSystem,
        &[CauseCode::PartialBlocks],
        "queue/physical_block_size compared with the size of writes",
        "https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-queue-physical-block-size",
    ),
    rule(
        "queue_full",
        &[15],
        LayerKind::Queue,
        &[CauseCode::TagsInUse, CauseCode::SchedulerHolds, CauseCode::ReadAheadOff],
        "queue/nr_requests, queue/scheduler, queue/read_ahead_kb, the tracer's waits",
        "https://docs.kernel.org/block/blk-mq.html",
    ),
    rule(
        "array_work",
        &[18],
        LayerKind::Volume,
        &[CauseCode::ArrayRebuilds, CauseCode::ArrayDegraded],
        "md/sync_action, md/degraded",
        "https://docs.kernel.org/admin-guide/md.html",
    ),
    rule(
        "fragments",
        &[25],
        LayerKind::File,
        &[CauseCode::ScatteredFiles, CauseCode::SplitRequests],
        "extents of the largest files (FIEMAP), split requests",
        "https://docs.kernel.org/filesystems/fiemap.html",
    ),
    rule(
        "stolen_time",
        &[9],
        LayerKind::Below,
        &[CauseCode::StolenTime],
        "steal of /proc/stat",
        "https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat",
    ),
    drive_errors::ROW,
    smart::ROW,
    nvme_health::ROW,
    kernel_log::ROW,
    heat::ROW,
    sata_link::ROW,
    pcie_link::ROW,
    usb_bridge::ROW,
    cache_mode::ROW,
    volatile_cache::ROW,
    journal::ROW,
    flash_cache::ROW,
    shingled::ROW,
    discards::ROW,
    swap::ROW,
    zfs::ROW,
    thin_pool::ROW,
    dm_crypt::ROW,
    nfs_commits::ROW,
    interrupts::ROW,
    alignment::ROW,
    filesystem_room::ROW,
    kernel_settings::ROW,
    dirty_limits::ROW,
    virtio_queues::ROW,
    nvme_power::ROW,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_has_a_row_and_every_row_a_name_of_its_own_and_a_source() {
        let numbers: BTreeSet<u8> = TABLE.iter().flat_map(|row| row.causes).copied().collect();
        assert_eq!(numbers, (1..=27).collect());
        let names: BTreeSet<&str> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for row in &TABLE {
            assert!(row.source.starts_with("https://"), "{row:?}");
            assert!(!row.reads.is_empty(), "{row:?}");
        }
    }
}

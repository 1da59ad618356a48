//! Detects partitions that begin inside a physical block: each block write becomes two writes, each
//! preceded by a read.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::{number, text};
use record::{LayerKind, format_bytes};

pub(super) const ROW: Check = Check {
    name: "alignment",
    causes: &[12],
    layer: LayerKind::FileSystem,
    reads: "start and alignment_offset of each partition, queue/physical_block_size, queue/logical_block_size",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html#abi-sys-block-disk-alignment-offset",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const SECTOR_BYTES: u64 = 512;
/// Fewest sectors of a partition that may hold data.
const DATA_SECTORS: f64 = 400_000.0;
const OFF: &str = "off the block";
const BLOCK: &str = "physical block";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for part in host.devices.iter().filter(|device| device.directory.join("partition").exists()) {
        let (Some(disk), Some(start)) =
            (part.directory.parent(), number(&part.directory.join("start")))
        else {
            continue;
        };
        let Some(block) = number(&disk.join("queue/physical_block_size")).filter(|it| *it > 0)
        else {
            continue;
        };
        // Smaller partitions are for booting, such as the first one of Proxmox, which begins at sector 34.
        if part.number("size").is_some_and(|sectors| sectors < DATA_SECTORS) {
            continue;
        }
        // On a disk with an alignment offset, partitions need the same offset.
        let own = text(&disk.join("alignment_offset")).and_then(|it| it.parse::<i64>().ok());
        let begins = start * SECTOR_BYTES + block - own.unwrap_or(0).clamp(0, block as i64) as u64;
        let fact = Fact::of(part).number(OFF, (begins % block) as f64, "B");
        reader.add(fact.number(BLOCK, block as f64, "B"));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let off = |fact: &&&record::SystemFact| fact.number(OFF).is_some_and(|bytes| bytes > 0.0);
    let fact = view.facts.iter().find(off)?;
    let block = fact.number(BLOCK)?;
    let says = format!(
        "The partition {} starts {} past a boundary of the disk's physical blocks ({}): a \
         one-block write touches two blocks, and the drive must read both first.",
        fact.device.as_deref().unwrap_or_default(),
        format_bytes(fact.number(OFF)? as u64),
        format_bytes(block as u64)
    );
    let action =
        "Recreate the partition on a 1 MiB boundary (parted -a optimal) and restore its data.";
    // Without writes there is no read before a write.
    let writes = view.load.writes_per_s > 0.0;
    Some(Claim::unusual(says, &[Effect::SlowWrites], action).only_if(writes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine(start: u64) -> Fake {
        let fake = Fake::new();
        let disk = "devices/pci0000:00/block/sda";
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.block("pci0000:00/block/sda/sda1", "8:1", 1 << 19);
        fake.sys(&format!("{disk}/queue/physical_block_size"), "4096\n");
        fake.sys(&format!("{disk}/alignment_offset"), "0\n");
        fake.sys(&format!("{disk}/sda1/partition"), "1\n");
        fake.sys(&format!("{disk}/sda1/start"), &format!("{start}\n"));
        fake
    }

    #[test]
    fn a_partition_off_the_blocks_explains_slow_writes_and_no_slow_reads() {
        let sda = disk("sda", |_| {});
        let writes = Load { writes_per_s: 100.0, ..Load::default() };
        let off = facts("alignment", &machine(63), &sda);
        let now = Machine { facts: &off, disk: Some(&sda), ..Machine::default() };
        let says = cause_only_with_effect("alignment", now, Effect::SlowWrites, writes);
        assert!(says.contains("sda1 starts"), "{says}");
        nothing("alignment", now, Load { reads_per_s: 100.0, ..Load::default() });
        let on = facts("alignment", &machine(2048), &sda);
        nothing("alignment", Machine { facts: &on, ..now }, writes);
    }
}

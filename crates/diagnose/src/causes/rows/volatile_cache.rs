//! Detects syncs on a drive without power-loss protection: each flush empties its cache.
//!
//! Drives do not report whether they have capacitors. A drive with capacitors completes a flush at
//! once. The ratio of flush time to write time therefore decides, and the cache mode shows whether
//! there is a cache to empty.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use record::{LayerKind, format_nanos};

pub(super) const ROW: Check = Check {
    name: "volatile_cache",
    causes: &[1],
    layer: LayerKind::Device,
    reads: "queue/fua, queue/write_cache, fields 19 and 20 of /proc/diskstats (flushes and their time)",
    source: "https://docs.kernel.org/block/writeback_cache_control.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const FUA: &str = "forced unit access";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    for disk in host.disks() {
        reader.add(Fact::of(disk).number(FUA, disk.number("queue/fua"), ""));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let disk = view.disk()?;
    let volatile = disk.write_cache.as_deref().is_some_and(|mode| mode.starts_with("write back"));
    if !volatile || disk.is_export() || disk.loop_file.is_some() {
        return None;
    }
    let twice = view.fact().is_some_and(|fact| fact.number(FUA) == Some(0.0));
    let fua = if twice {
        " and does not support forced unit access (fua 0), so each journal commit flushes twice"
    } else {
        ""
    };
    let each = view.load.flush_ns.map(|ns| format!("; a flush takes {}", format_nanos(ns)));
    let says = format!("The disk has a volatile write cache{fua}{}.", each.unwrap_or_default());
    let action = "Move synced data (a database log, etcd, a ZFS log device) to a drive with \
                  power-loss protection, or let more writes share a sync (group commit, fewer \
                  fsyncs).";
    Some(Claim::usual(says, &[Effect::SlowFlushes], action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    #[test]
    fn a_volatile_cache_explains_slow_flushes_and_one_with_capacitors_flushes_at_once() {
        let fake = Fake::new();
        fake.block("pci0000:00/nvme/nvme0/nvme0n1", "259:0", 1 << 20);
        fake.sys("devices/pci0000:00/nvme/nvme0/nvme0n1/queue/fua", "0\n");
        let of = |mode: &str| disk("nvme0n1", |facts| facts.write_cache = Some(mode.to_owned()));
        let (volatile, safe) = (of("write back"), of("write through"));
        let read = facts("volatile_cache", &fake, &volatile);
        let now = Machine { facts: &read, disk: Some(&volatile), ..Machine::default() };
        let load = Load { flush_ns: Some(4e6), ..Load::default() };
        let says = cause_only_with_effect("volatile_cache", now, Effect::SlowFlushes, load);
        assert!(says.contains("fua 0") && says.contains("4.00 ms"), "{says}");
        nothing("volatile_cache", Machine { disk: Some(&safe), ..now }, load);
    }
}

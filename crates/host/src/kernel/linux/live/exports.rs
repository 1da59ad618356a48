//! Presents NFS mounts as devices: the client's counters of calls to the server, in the form of a line of
//! /proc/diskstats.
//!
//! A call is counted when it has ended, with the time since it was ready to be sent. That time includes the
//! client's own queue, the network, the server and its disks. The client does not count the time with a
//! call in flight. Bytes cover only the data; a commit asks the server to flush. Mounts with the same
//! device number share their counters, which the kernel prints for each of them. Format: net/sunrpc/stats.c
//! and fs/nfs/super.c of the kernel. Rejected: the round-trip time instead of the whole time, which
//! excludes the wait on this machine for a free slot.

use crate::kernel::linux::diskstats::{DiskstatsLine, SECTOR_BYTES, TransferCounters};
use crate::kernel::linux::mounts::{Mount, is_export, unescape};

/// Columns of a call's line, after its name: calls ended, and their total time in ms.
const CALLS: usize = 0;
const WHOLE_MS: usize = 7;
/// Columns of the line of bytes: read from the server, and written to it.
const SERVER_READ: usize = 4;
const SERVER_WRITTEN: usize = 5;

/// The NFS mounts in /proc/self/mountstats, one device per export; calls `mounts` only if there are any.
pub(super) fn lines(text: &str, mounts: impl FnOnce() -> Vec<Mount>) -> Vec<DiskstatsLine> {
    let mut read: Vec<(DiskstatsLine, String)> = Vec::new();
    let mut open: Option<(DiskstatsLine, String)> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let ["device", source, "mounted", "on", point, "with", "fstype", kind, ..] = words[..] {
            read.extend(open.take());
            let text = |word: &str| unescape(word.as_bytes()).to_string_lossy().into_owned();
            let export =
                DiskstatsLine { device: text(source), remote: true, ..DiskstatsLine::default() };
            open = is_export(kind).then(|| (export, text(point)));
            continue;
        }
        let (Some((export, _)), Some((name, counts))) = (&mut open, words.split_first()) else {
            continue;
        };
        let count = |place: usize| counts.get(place).and_then(|word| word.parse::<u64>().ok());
        match *name {
            "bytes:" => {
                export.reads.sectors = count(SERVER_READ).unwrap_or(0) / SECTOR_BYTES;
                export.writes.sectors = count(SERVER_WRITTEN).unwrap_or(0) / SECTOR_BYTES;
            }
            // Newer servers skip holes by another call.
            "READ:" | "READ_PLUS:" => calls(&mut export.reads, count),
            "WRITE:" => calls(&mut export.writes, count),
            "COMMIT:" => export.flushes = count(CALLS).zip(count(WHOLE_MS)),
            _ => {}
        }
    }
    read.extend(open);
    read.retain(|(export, _)| export.reads.time_ms.is_some() && export.writes.time_ms.is_some());
    if read.is_empty() {
        return Vec::new();
    }
    let mounts = mounts();
    let (mut found, mut known): (Vec<DiskstatsLine>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    for (mut export, point) in read {
        let mount = mounts.iter().rfind(|mount| mount.point.as_os_str() == point.as_str());
        if let Some(number) = mount.map(|mount| mount.device) {
            if known.contains(&number) {
                continue;
            }
            known.push(number);
        }
        let flushes_ms = export.flushes.map_or(0, |(_, time_ms)| time_ms);
        let times = export.reads.time_ms.zip(export.writes.time_ms);
        export.weighted_ms = times.map(|(reads, writes)| reads + writes + flushes_ms);
        match found.iter_mut().find(|other| other.device == export.device) {
            // Mounted twice with different options, each with its own counters.
            Some(other) => add(other, &export),
            None => found.push(export),
        }
    }
    found
}

fn calls(direction: &mut TransferCounters, count: impl Fn(usize) -> Option<u64>) {
    direction.ios += count(CALLS).unwrap_or(0);
    direction.time_ms = sum(direction.time_ms, count(WHOLE_MS));
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).reduce(|a, b| a + b)
}

fn add(export: &mut DiskstatsLine, other: &DiskstatsLine) {
    for (own, more) in [(&mut export.reads, &other.reads), (&mut export.writes, &other.writes)] {
        own.ios += more.ios;
        own.sectors += more.sectors;
        own.time_ms = sum(own.time_ms, more.time_ms);
    }
    export.weighted_ms = sum(export.weighted_ms, other.weighted_ms);
    let flushes = export.flushes.into_iter().chain(other.flushes);
    export.flushes = flushes.reduce(|a, b| (a.0 + b.0, a.1 + b.1));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "device rootfs mounted on / with fstype rootfs
device srv:/data\\040base mounted on /srv/db with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t7
\tbytes:\t0 0 4096000 8192 4096000 8192 1000 2
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 3 1010 1010 0 1010 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 1000 1000 0 152000 4200000 250 3000 3400 0
\t       WRITE: 2 2 0 8500 300 0 20 21 0
\t      COMMIT: 1 1 0 200 100 0 4 5 0
device srv:/data\\040base mounted on /srv/again with fstype nfs4 statvers=1.1
\tbytes:\t0 0 4096000 8192 4096000 8192 1000 2
\t        READ: 1000 1000 0 152000 4200000 250 3000 3400 0
\t       WRITE: 2 2 0 8500 300 0 20 21 0
device tmpfs mounted on /run with fstype tmpfs
device old:/export mounted on /mnt with fstype nfs
\tbytes:\tnot a count
";

    fn mount(point: &str, minor: u32) -> Mount {
        Mount {
            id: minor,
            device: (0, minor),
            root: "/".into(),
            point: point.into(),
            options: String::new(),
            kind: "nfs4".to_owned(),
            source: String::new(),
        }
    }

    fn of(direction: TransferCounters) -> (u64, u64, Option<u64>, Option<u64>) {
        (direction.ios, direction.sectors, direction.merges, direction.time_ms)
    }

    #[test]
    fn an_export_is_counted_once_by_its_calls_and_the_bytes_of_its_data() {
        let shared = || vec![mount("/srv/db", 46), mount("/srv/again", 46)];
        let found = lines(TWO, shared);
        let [export] = &found[..] else { panic!("{found:?}") };
        assert_eq!((export.device.as_str(), export.remote), ("srv:/data base", true));
        assert_eq!(of(export.reads), (1_000, 8_000, None, Some(3_400)));
        assert_eq!(of(export.writes), (2, 16, None, Some(21)));
        assert_eq!((export.flushes, export.weighted_ms), (Some((1, 5)), Some(3_426)));
        assert_eq!((export.busy_ms, export.in_flight), (None, None));
    }

    #[test]
    fn mounts_with_counters_of_their_own_are_added_up() {
        let apart = || vec![mount("/srv/db", 46), mount("/srv/again", 47)];
        let found = lines(TWO, apart);
        let [export] = &found[..] else { panic!("{found:?}") };
        assert_eq!(of(export.reads), (2_000, 16_000, None, Some(6_800)));
        assert_eq!((export.flushes, export.weighted_ms), (Some((1, 5)), Some(6_847)));
        let none = lines("device rootfs mounted on / with fstype rootfs\n", || panic!("no mount"));
        assert!(none.is_empty());
    }

    #[test]
    fn reads_that_leave_out_holes_are_reads() {
        let plus = TWO.replace("NULL: 1 1 0 44 24 0 0 0 0", "READ_PLUS: 500 500 0 1 1 1 1 600 0");
        let found = lines(&plus, || vec![mount("/srv/db", 46), mount("/srv/again", 46)]);
        assert_eq!(of(found[0].reads), (1_500, 8_000, None, Some(4_000)));
    }
}

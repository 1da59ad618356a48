//! Remedies for the device or a layer above it, and for arrays.

use super::{Case, Fixes, Proposal, Row, row};
use crate::verdict::judgement::RestsOn;
use crate::words::{limit_values, percent};
use record::{Cause, CauseCode, Change, OpKind, Strategy, format_bytes};

/// Proposed dirty limit if the current one is lower: a second of a fast disk's writes.
const DIRTY_BYTES: u64 = 512 << 20;
/// Share of limited requests from which a limit applies to the whole load.
const ALL_LIMITED: f64 = 0.9;
/// Words of the remedies that raise a limit.
const BEHIND_LIMIT: &str =
    "the profile was made behind the same limit, or programs outside the group use the disk";
const MORE_THAN_LIMIT: &str = "programs need more than the limit allows";
const ABOVE_OLD_LIMIT: &str = "watch the rate: it should rise above the old limit";

pub(super) static ROWS: [Row; 15] = [
    row(
        Strategy::Restore,
        &[CauseCode::ServiceSlower, CauseCode::ReadsSlower],
        Fixes::Device,
        |_| {
            let action = "Find out what became slower: check SMART, the system log (retries, a \
                          rebuild or scrub), the firmware, and neighbours on shared storage. Run \
                          `halfpower check` on the quiet device: if the device itself is slow, \
                          replace it or move the data.";
            Some((action.to_owned(), Some(Change::AsProfiled)))
        },
    ),
    row(Strategy::Restore, &[CauseCode::WritesSlower], Fixes::Device, |case| {
        // Without a measured baseline, it is unknown whether they were ever faster.
        if case.segment.likely_slow_flushes().is_some_and(|it| it.is_by_class()) {
            let action = "Measure what a commit takes: run `halfpower check` on a directory of this \
                          disk while it is quiet. If commits are as slow then, move what programs \
                          sync to a drive with power-loss protection, or let them sync less often.";
            return Some((action.to_owned(), None));
        }
        let action = "Find out why writes became slow: write cache off, partial writes, a drive \
                      without free blocks (trim), a rebuilding array. `halfpower check` on the \
                      quiet device shows whether the device or the load is the cause. If it is \
                      the device, replace it.";
        Some((action.to_owned(), Some(Change::AsProfiled)))
    }),
    Row {
        unpredicted: "no counter shows what a volume does to a request",
        words: [
            "the volume does more than pass requests on",
            "time to investigate",
            "compare latencies: the volume's should fall to that of its devices",
        ],
        ..row(Strategy::Restore, &[CauseCode::VolumeHolds], Fixes::Device, |case| {
            let action = case.segment.by_system(
                "Find out what delays requests between the volume and its disk: encryption \
                     (`manage-bde -status`), a virus scanner or another filter driver (`fltmc`), a \
                     shadow copy (`vssadmin list shadows`).",
                "Find out what the volume does to requests (`dmsetup table`, `dmsetup status`, \
                     /proc/mdstat): encryption on saturated CPUs, a thin pool or snapshot that \
                     copies, a cache, a rebuild, a path failover, a delay.",
            );
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "no counter shows how the array's own requests mix with those of programs",
        words: [
            "the programs wait for the array's own work",
            "the array lacks redundancy for longer",
            "watch latency, which should fall within seconds; /proc/mdstat or `btrfs balance \
             status` shows the slower pace",
        ],
        ..row(Strategy::Restore, &[CauseCode::ArrayRebuilds], Fixes::Array, |_| {
            let action = "Let the array finish, or slow down its own work while programs need the \
                          disks: /sys/block/mdX/md/sync_speed_max (KiB per second), `btrfs \
                          balance pause`.";
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "the share that the missing member would serve depends on where the data is",
        words: [
            "the member is lost for good, not just until a reboot",
            "a disk, and hours of rebuilding that slow the other disks",
            "check that /proc/mdstat or `btrfs device usage` shows all members",
        ],
        ..row(Strategy::Restore, &[CauseCode::ArrayDegraded], Fixes::Array, |case| {
            // An array that rebuilds has its new member already.
            let rebuilds = |cause: &Cause| cause.code == CauseCode::ArrayRebuilds;
            if case.judged.causes.iter().any(rebuilds) {
                return None;
            }
            let action = "Replace the missing member first: another failure may lose data (`mdadm \
                          --manage /dev/mdX --add`, `btrfs replace`).";
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "no model explains when or how long a device stalls",
        words: [
            "the device, or a layer below it, stalls by itself",
            "time to investigate",
            "compare the tail under this load with the profile",
        ],
        ..row(Strategy::Restore, &[CauseCode::StandsStill], Fixes::Device, |_| {
            let action = "Find the cause of the stalls: resets and time-outs in the system log, \
                          discards (fstrim, mount option discard), garbage collection in a full \
                          SSD, a limit whose credit is used up, a snapshot or a neighbour below a \
                          virtual disk. `halfpower watch`, run as root, shows when the device \
                          stalls.";
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "this member has no profile that could predict its latency",
        words: [
            "this member can be as fast as its siblings",
            "time to investigate, or a new device",
            "compare its latency with its siblings': it should match, and the total rate should \
             grow",
        ],
        ..row(Strategy::Restore, &[CauseCode::SlowestMember], Fixes::Device, |case| {
            let action = case.segment.by_system(
                "Find out why this member is slower than its siblings: check the system log, \
                     SMART, a provider's limit on this member alone, or its path. If the member \
                     itself is slow, replace it.",
                "Find out why this member is slower than its siblings: check the system log, \
                     SMART, a limit on this member alone (control group, provider), its path, or \
                     the device that holds its file. If the member itself is slow, replace it.",
            );
            Some((action.to_owned(), None))
        })
    },
    Row {
        words: [
            "read-modify-write causes all of the slowness",
            "a change to the program's record size, or new partitions",
            "write whole blocks and compare the latency",
        ],
        ..row(Strategy::Alignment, &[CauseCode::PartialBlocks], Fixes::Device, |case| {
            let block = case.segment.facts?.physical_block_bytes?;
            let action = format!(
                "Write whole, aligned blocks of {} (partition start, record size).",
                format_bytes(block)
            );
            Some((action, Some(Change::AsProfiled)))
        })
    },
    Row {
        unpredicted: BEHIND_LIMIT,
        words: [
            MORE_THAN_LIMIT,
            "other programs on the device get a smaller share of it",
            ABOVE_OLD_LIMIT,
        ],
        by_rate: true,
        ..row(Strategy::RaiseCap, &[CauseCode::CgroupLimit], Fixes::Device, raise_cap)
    },
    Row {
        unpredicted: BEHIND_LIMIT,
        words: [MORE_THAN_LIMIT, "a larger or faster volume costs more", ABOVE_OLD_LIMIT],
        by_rate: true,
        ..row(
            Strategy::RaiseCap,
            &[CauseCode::ProviderLimit, CauseCode::WaitsAbove, CauseCode::PinnedRate],
            Fixes::Device,
            raise_cap,
        )
    },
    Row {
        unpredicted: "no counter shows how much the programs would write without the limit",
        words: [
            "the programs write more than the limit allows",
            "a crash loses more unwritten data",
            "watch the programs: they should write more per second and keep the device busier",
        ],
        ..row(Strategy::RaiseCap, &[CauseCode::WriteBackLimit], Fixes::Device, |case| {
            let RestsOn::WriteBack(limit) = case.judged.judgement.rests_on else { return None };
            let action = format!(
                "Allow more dirty data: sysctl vm.dirty_bytes={} and vm.dirty_background_bytes={} \
                 (programs now pause at {}).",
                DIRTY_BYTES,
                DIRTY_BYTES / 4,
                format_bytes(limit)
            );
            (limit < DIRTY_BYTES).then_some((action, None))
        })
    },
    Row {
        unpredicted: "no counter shows what a page cache of another size would serve",
        words: [
            "the data that is read again fits in the added memory",
            "memory, which other programs then lack",
            "check workingset_refault_file in /proc/vmstat or in the group's memory.stat: it \
             should stop growing",
        ],
        ..row(Strategy::HostCache, &[CauseCode::MemoryShort], Fixes::Device, |case| {
            let share = case.segment.read_again()?;
            let what = match case.segment.short_group() {
                Some(limit) => format!(
                    "Raise the memory of the control group {:?} (now {})",
                    limit.group,
                    format_bytes(limit.limit_bytes)
                ),
                None => "Give the page cache more memory".to_owned(),
            };
            Some((
                format!(
                    "{what}: {} of the bytes read had been evicted from the page cache and were \
                     read again.",
                    percent(share)
                ),
                None,
            ))
        })
    },
    Row {
        unpredicted: "no profile has reads of the resulting size",
        words: [
            "the program reads through the page cache",
            "memory, and wasted reads where access is random",
            "watch the reader: its requests and throughput should grow",
        ],
        ..row(Strategy::ReadAhead, &[CauseCode::ReadAheadOff], Fixes::Device, |case| {
            let disk = &case.segment.facts?.disk;
            let action = format!(
                "Enable read-ahead: echo 128 > /sys/block/{disk}/queue/read_ahead_kb (now \
                         0)."
            );
            Some((action, None))
        })
    },
    Row {
        unpredicted: "the device was not measured at a higher queue depth under this load",
        words: [
            "the device can serve more requests in parallel than it gets",
            "requests wait in the device, where the scheduler can no longer order them",
            "watch the rate: it should rise, and programs should wait less at the same queue \
             depth",
        ],
        ..row(Strategy::MoreTags, &[CauseCode::TagsInUse], Fixes::Device, |case| {
            let device = case.segment.facts?;
            let RestsOn::Tags(tags) = case.judged.judgement.rests_on else { return None };
            let action = format!(
                "Give the device more requests at once: echo 256 > /sys/block/{}/queue/nr_requests \
                 (now {tags}).",
                device.disk
            );
            Some((action, None))
        })
    },
    Row {
        unpredicted: "how the other programs then affect these requests is unknown",
        words: [
            "no program depends on its share in the scheduler",
            "the programs that the scheduler favours lose their priority",
            "check with the tracer: the wait before requests reach the device should disappear",
        ],
        ..row(Strategy::Scheduler, &[CauseCode::SchedulerHolds], Fixes::Device, |case| {
            let now = case.segment.facts?.scheduler.as_deref()?;
            let others = ["none", "mq-deadline"].into_iter().filter(|other| *other != now);
            let others = others.collect::<Vec<_>>().join(" or ");
            let action = format!(
                "Give the waiting program a larger share: a higher weight (io.bfq.weight), a \
                 higher I/O class (ionice; not idle), or the scheduler {others} instead of {now}."
            );
            Some((action, None))
        })
    },
];

/// Raises the limit that the verdict rests on.
fn raise_cap(case: &Case<'_>) -> Option<Proposal> {
    let action = match &case.judged.judgement.rests_on {
        RestsOn::Limits(limits) => {
            let (what, group) = (limit_values(limits), &limits.first()?.group);
            format!("Raise {what} of the control group {group:?}.")
        }
        RestsOn::VolumeLog => {
            let over = case.segment.around.over_limit?;
            format!(
                "Raise the provider's limit on the {} (another volume type, more \
                 provisioned performance, a larger machine).",
                over.largest().0
            )
        }
        _ if case.segment.of_windows => {
            "Find the cap (provider's volume type, hypervisor) and raise it.".to_owned()
        }
        _ => "Find the cap (control group, provider's volume type, hypervisor) and \
              raise it."
            .to_owned(),
    };
    // A profile made behind the same limit does not show what lies beyond it. The
    // effect on a load that belongs only partly to the group cannot be predicted.
    let known = !case.segment.is_at_cap();
    let beyond = known
        && match &case.judged.judgement.rests_on {
            RestsOn::Published => false,
            RestsOn::Limits(limits) => {
                let tally = &case.segment.tally;
                let is_limited = |op: &OpKind| limits.iter().any(|it| it.limited.op() == *op);
                let ops = [OpKind::Read, OpKind::Write].into_iter().filter(is_limited);
                let limited: f64 = ops.map(|op| tally.op(op).count()).sum();
                limited >= ALL_LIMITED * tally.all.count()
            }
            _ => true,
        };
    Some((action, beyond.then_some(Change::Uncapped)))
}

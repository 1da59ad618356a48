//! The table of remedies: the causes that each strategy addresses, the change it makes, and its text.
//!
//! An empty text means the text of the change ([`model::whatif::words`]). A row without a change states why
//! its effect is not predicted.

use super::device_users::NeighbourGroup;
use super::expected::Expectation;
use super::facts::Judged;
use super::fitted_profile::FittedProfile;
use super::judgement::RestsOn;
use super::load::load;
use super::outstanding::{ExcessQueue, LoopKind, Outstanding};
use crate::words::percent;
use record::{
    CachePoint, Cause, CauseCode, Change, Confidence, EpisodeLoad, RaidLevel, Strategy,
    enough_cache, format_bytes, format_count,
};

/// Latency reduction of the next better disk: the middle of Friedman's 20 to 30 %.
const FASTER: f64 = 0.25;
/// Share of the reads that a cache serves.
const CACHED: f64 = 0.5;
/// Share of reread data from which more memory is a remedy.
const REUSED_MIN: f64 = 0.05;
/// Largest queue depth proposed to a program that submits one request at a time.
const DEEPER_MAX: f64 = 32.0;
/// Ratio of requests in flight in programs to those at the device from which both are reported.
const ON_THE_WAY: f64 = 1.1;
/// Size of larger requests, and the least growth of the size that is worth it.
const LARGER_BYTES: u64 = 128 << 10;
const LARGER_MIN: f64 = 1.5;
/// Kernels split requests into smaller pieces than this only if max_sectors_kb was lowered.
const SMALL_PIECES: u64 = 64 << 10;
const READ_AHEAD_GROWS: u64 = 4;
const CHUNK_BYTES: u64 = 64 << 10;
/// Proposed dirty limit if the current one is lower: a second of a fast disk's writes.
const DIRTY_BYTES: u64 = 512 << 20;
/// Share of limited requests from which a limit applies to the whole load.
const ALL_LIMITED: f64 = 0.9;
/// Smallest share of reads that is worth a cache.
const READS_MIN: f64 = 0.3;
/// Least free memory that could serve as a cache, in bytes.
const MEMORY_MIN: f64 = 1e9;

/// What a strategy fixes, in the order of the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fixes {
    /// A degraded array, as the kernel reports it.
    Array,
    /// A finding of a system check.
    System,
    /// The device, or a layer above it.
    Device,
    /// The load.
    Load,
    /// The order of requests under an excessive load. It costs nothing: the setting can be reverted.
    Order,
    /// Capacity, by a purchase.
    Room,
}

/// A segment that needs advice.
pub(super) struct Case<'a> {
    pub(super) judged: &'a Judged<'a>,
    pub(super) reference: Option<&'a FittedProfile>,
    pub(super) look: Option<&'a Expectation>,
    pub(super) load: Option<EpisodeLoad>,
}

impl<'a> Case<'a> {
    pub(super) fn new(judged: &'a Judged<'a>, reference: Option<&'a FittedProfile>) -> Self {
        let look = judged.segment.best_look().map(|(look, _)| look);
        Self { judged, reference, look, load: load(judged, reference) }
    }
}

impl Case<'_> {
    /// The deep queue, if programs keep it up and could shorten it.
    fn queue_of_programs(&self) -> Option<ExcessQueue> {
        let segment = &self.judged.segment;
        let cut = segment.cut_to().is_some_and(|bytes| bytes < SMALL_PIECES);
        segment.deep.filter(|_| !cut && !segment.written_back())
    }

    fn neighbour(&self) -> Option<NeighbourGroup<'_>> {
        self.judged.segment.neighbour()
    }

    fn move_away(&self, neighbour: &NeighbourGroup<'_>) -> String {
        format!(
            "Move {} to another disk, or limit it (io.max, io.weight): it accounts for {} ({}).",
            neighbour.group.label(),
            neighbour.shares(),
            self.judged.segment.figures(neighbour.group)
        )
    }
}

/// An action in words, and as a change.
type Proposal = (String, Option<Change>);

pub(super) struct Row {
    pub(super) strategy: Strategy,
    pub(super) causes: &'static [CauseCode],
    pub(super) fixes: Fixes,
    /// Whether it promises a higher rate instead of a lower latency.
    pub(super) by_rate: bool,
    /// Returns `None` if it does not apply.
    pub(super) propose: fn(&Case<'_>) -> Option<Proposal>,
    /// Why its effect is not predicted, if it has no change.
    pub(super) unpredicted: &'static str,
    /// Assumption, cost and how to check. An empty text means that of the change.
    pub(super) words: [&'static str; 3],
}

const fn row(
    strategy: Strategy,
    causes: &'static [CauseCode],
    fixes: Fixes,
    propose: fn(&Case<'_>) -> Option<Proposal>,
) -> Row {
    Row { strategy, causes, fixes, by_rate: false, propose, unpredicted: "", words: ["", "", ""] }
}

pub(super) static ROWS: [Row; 34] = [
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
    row(Strategy::Restore, &[CauseCode::WritesSlower], Fixes::Device, |_| {
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
        ..row(Strategy::Restore, &[CauseCode::VolumeHolds], Fixes::Device, |_| {
            let action = "Find out what the volume does to requests (`dmsetup table`, `dmsetup \
                          status`, /proc/mdstat): encryption on saturated CPUs, a thin pool or \
                          snapshot that copies, a cache, a rebuild, a path failover, a delay.";
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
        unpredicted: "the mean hardly changes; no model explains the slowest requests",
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
        ..row(Strategy::Restore, &[CauseCode::SlowestMember], Fixes::Device, |_| {
            let action = "Find out why this member is slower than its siblings: check the system \
                          log, SMART, a limit on this member alone (control group, provider), its \
                          path, or the device that holds its file. If the member itself is slow, \
                          replace it.";
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
            let block = case.judged.segment.facts?.physical_block_bytes?;
            let action = format!(
                "Write whole, aligned blocks of {} (partition start, record size).",
                format_bytes(block)
            );
            Some((action, Some(Change::AsProfiled)))
        })
    },
    Row {
        unpredicted: "the profile was made behind the same limit, or programs outside the group \
                      use the disk",
        words: [
            "programs need more than the limit allows",
            "a larger or faster volume costs more",
            "watch the rate: it should rise above the old limit",
        ],
        by_rate: true,
        ..row(
            Strategy::RaiseCap,
            &[
                CauseCode::CgroupLimit,
                CauseCode::ProviderLimit,
                CauseCode::WaitsAbove,
                CauseCode::PinnedRate,
            ],
            Fixes::Device,
            |case| {
                let action = match &case.judged.judgement.rests_on {
                    RestsOn::Limit(limit) => {
                        let (what, per_s, group) =
                            (limit.limited.key(), limit.limit_per_s, &limit.group);
                        format!("Raise {what}={per_s} of the control group {group:?}.")
                    }
                    RestsOn::VolumeLog => {
                        let over = case.judged.segment.around.over_limit?;
                        format!(
                            "Raise the provider's limit on the {} (another volume type, more \
                             provisioned performance, a larger machine).",
                            over.largest().0
                        )
                    }
                    _ => "Find the cap (control group, provider's volume type, hypervisor) and \
                          raise it."
                        .to_owned(),
                };
                // A profile made behind the same limit does not show what lies beyond it. The
                // effect on a load that belongs only partly to the group cannot be predicted.
                let known = !case.judged.segment.is_at_cap();
                let beyond = known
                    && match &case.judged.judgement.rests_on {
                        RestsOn::Published => false,
                        RestsOn::Limit(limit) => {
                            let tally = &case.judged.segment.tally;
                            tally.op(limit.limited.op()).count() >= ALL_LIMITED * tally.all.count()
                        }
                        _ => true,
                    };
                Some((action, beyond.then_some(Change::Uncapped)))
            },
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
            let segment = &case.judged.segment;
            let share = segment.read_again()?;
            let what = match segment.short_group() {
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
            let disk = &case.judged.segment.facts?.disk;
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
            let device = case.judged.segment.facts?;
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
            let now = case.judged.segment.facts?.scheduler.as_deref()?;
            let others = ["none", "mq-deadline"].into_iter().filter(|other| *other != now);
            let others = others.collect::<Vec<_>>().join(" or ");
            let action = format!(
                "Give the waiting program a larger share: a higher weight (io.bfq.weight), a \
                 higher I/O class (ionice; not idle), or the scheduler {others} instead of {now}."
            );
            Some((action, None))
        })
    },
    Row {
        unpredicted: "the queue depth of the programs is unknown",
        words: [
            "only these programs keep requests in flight",
            "the remaining work waits in the program, which has to order it",
            "check with the tracer: requests should no longer wait before they start",
        ],
        ..row(Strategy::ShallowerQueue, &[CauseCode::DepthBeyondKnee], Fixes::Load, |case| {
            let queue = case.queue_of_programs()?;
            if !matches!(queue.upkeep, LoopKind::BeyondTags(_)) {
                return None;
            }
            let action = format!(
                "Use at most queue depth {:.0} in the program: it submits more requests than the \
                 device accepts at once, and the excess requests only wait for a free tag.",
                queue.enough.depth
            );
            Some((action, None))
        })
    },
    row(Strategy::ShallowerQueue, &[CauseCode::DepthBeyondKnee], Fixes::Load, |case| {
        let queue = case.queue_of_programs()?;
        if matches!(queue.upkeep, LoopKind::BeyondTags(_)) {
            return None;
        }
        let look = case.look?;
        if look.own.is_some() {
            return Some((half_as_many(queue.present.value()), None));
        }
        let reference = case.reference?;
        let (present, enough) = (queue.present, queue.enough.depth);
        let share = queue
            .enough
            .rate_share
            .map_or(String::new(), |share| format!(", for {} of the present rate", percent(share)));
        let kept = |counted: f64| reference.in_programs(&look.mix, present.with(counted));
        let depth = kept(enough).round();
        let at_device = if kept(enough) / enough < ON_THE_WAY {
            String::new()
        } else {
            format!(
                " (The queue depth at the device is then {enough:.0} instead of {}.)",
                format_count(present.value())
            )
        };
        let tags = case.judged.segment.facts.and_then(|facts| facts.nr_requests);
        let stopgap = if tags.is_some_and(|tags| tags as f64 <= enough) {
            ""
        } else {
            " Until then, lower nr_requests as a stopgap."
        };
        let action = format!(
            "Use queue depth {depth:.0} instead of {} in the program{share}.{at_device}{stopgap}",
            format_count(kept(present.value()))
        );
        Some((action, Some(Change::Depth(depth))))
    }),
    Row {
        by_rate: true,
        ..row(Strategy::DeeperQueue, &[CauseCode::OneAtATime], Fixes::Load, |case| {
            let (reference, look) = (case.reference?, case.look.filter(|look| look.own.is_none())?);
            let iops = case.judged.segment.tally.iops();
            let enough = reference.deep_enough(look, iops, Outstanding::AtDevice(DEEPER_MAX))?;
            let depth = reference.outstanding(&look.mix, enough.depth.max(2.0)).round();
            let share = enough.max_share.map_or(String::new(), |share| {
                format!(", for {} of the maximum rate of this mix", percent(share))
            });
            let action = format!(
                "Use queue depth {depth:.0} instead of 1{share} (io_uring, threads, a larger \
                 effective_io_concurrency). Requests must not depend on each other."
            );
            Some((action, Some(Change::Depth(depth))))
        })
    },
    Row {
        by_rate: true,
        words: [
            "the readers are sequential and buffered; the figures are for requests of the new size",
            "memory, and wasted reads where access is random",
            "watch the reader's throughput: it should rise",
        ],
        ..row(
            Strategy::ReadAhead,
            &[CauseCode::OneAtATime, CauseCode::SmallSequential],
            Fixes::Load,
            |case| {
                let segment = &case.judged.segment;
                let now = segment.facts?.read_ahead_bytes?;
                let sequential = segment.known.sequential? >= 0.6;
                let reads = segment.tally.read_share()? >= 0.8;
                // Only buffered reads use read-ahead; their requests are then as large as the window.
                if !sequential || !reads || segment.tally.all.request_bytes()? < 0.5 * now as f64 {
                    return None;
                }
                let larger = now * READ_AHEAD_GROWS;
                let action =
                    format!("Set read_ahead_kb={} instead of {}.", larger >> 10, now >> 10);
                Some((action, Some(Change::RequestBytes(larger))))
            },
        )
    },
    Row {
        unpredicted: "no counter shows the size of the programs' own requests",
        words: [
            "the programs submit larger requests than the kernel passes on",
            "nothing: the setting can be reverted",
            "watch the requests: they should become larger and fewer",
        ],
        ..row(Strategy::LargerRequests, &[CauseCode::DepthBeyondKnee], Fixes::Load, |case| {
            let cut = case.judged.segment.cut_to().filter(|bytes| *bytes < SMALL_PIECES)?;
            let name = case.judged.segment.facts.map_or("DEVICE", |facts| facts.disk.as_str());
            let action = format!(
                "Let the kernel pass on larger requests: it splits the programs' requests into \
                 pieces of {} (echo 1280 > /sys/block/{name}/queue/max_sectors_kb).",
                format_bytes(cut)
            );
            Some((action, None))
        })
    },
    row(Strategy::LargerRequests, &[CauseCode::SmallSequential], Fixes::Load, |case| {
        let factor = LARGER_BYTES as f64 / case.judged.segment.tally.all.request_bytes()?.max(1.0);
        let action = format!(
            "Request {} at a time: one request then does the work of {factor:.0}.",
            format_bytes(LARGER_BYTES)
        );
        (factor > LARGER_MIN).then_some((action, Some(Change::RequestBytes(LARGER_BYTES))))
    }),
    Row {
        words: [
            "only the splits go away; nothing else changes",
            "reading and rewriting these files once",
            "count extents: if files have few, the splits come from requests larger than the \
             device's maximum",
        ],
        ..row(Strategy::Defragmentation, &[CauseCode::SplitRequests], Fixes::Load, |case| {
            let totals = &case.judged.segment.tally;
            let splits = totals.split_share()?;
            let whole = (totals.all.request_bytes()? * (1.0 + splits)).round() as u64;
            let action = "Defragment the files that are read sequentially (filefrag and e4defrag, \
                          xfs_fsr); `halfpower run FILE` counts a file's extents.";
            Some((action.to_owned(), Some(Change::RequestBytes(whole))))
        })
    },
    Row {
        unpredicted: "these counters show neither how well the data compresses nor the program's \
                      demand",
        words: [
            "the data is used too often for compression to pay off",
            "space on the device, and rewriting these files once",
            "compare the program's throughput and the CPU time of the kernel workers",
        ],
        ..row(Strategy::Uncompressed, &[CauseCode::CompressedFiles], Fixes::Load, |_| {
            let action = "Store the most used files without compression (btrfs: `btrfs property \
                          set FILE compression none`), and rewrite them.";
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "these counters do not show the positions of requests in files",
        words: [
            "the files are read or written sequentially",
            "reading and rewriting these files once",
            "count extents: if files have few, fragmentation is not the cause",
        ],
        ..row(Strategy::Defragmentation, &[CauseCode::ScatteredFiles], Fixes::Load, |case| {
            case.judged.segment.scattered()?;
            let action = "Defragment the files that are read sequentially (filefrag and e4defrag, \
                          xfs_fsr, btrfs filesystem defragment).";
            Some((action.to_owned(), None))
        })
    },
    Row {
        unpredicted: "existing files do not change",
        words: [
            "only new files matter; existing ones do not change",
            "space that is allocated before it is used",
            "count extents: new files should have fewer than old ones",
        ],
        ..row(Strategy::Preallocation, &[CauseCode::SplitRequests], Fixes::Load, |_| {
            let action = "Allocate files at their full size before filling them (fallocate), so \
                          that they do not fragment.";
            Some((action.to_owned(), None))
        })
    },
    row(Strategy::DirectIo, &[CauseCode::Bursts], Fixes::Load, |case| {
        let writes = 1.0 - case.judged.segment.tally.read_share().unwrap_or(1.0);
        let action = "Spread writes evenly: smaller vm.dirty_background_bytes, or direct I/O for \
                      the writer.";
        (writes >= 0.5).then(|| (action.to_owned(), Some(Change::Independent)))
    }),
    row(Strategy::MoveNeighbour, &[CauseCode::Neighbour], Fixes::Load, |case| {
        let neighbour = case.neighbour().filter(NeighbourGroup::is_by_requests)?;
        let (share, process) = (neighbour.requests_share, neighbour.group.process);
        Some((case.move_away(&neighbour), Some(Change::Without { share, process })))
    }),
    Row {
        unpredicted: "no profile shows how one program's flushes or costly requests delay \
                      other programs",
        words: [
            "the other programs wait for this program's requests, not for the device itself",
            "the program gets a smaller share of the disk, moves to another disk, or flushes less \
             often (group commit)",
            "pause this program: the latency of the others should fall",
        ],
        ..row(Strategy::MoveNeighbour, &[CauseCode::Neighbour], Fixes::Load, |case| {
            let neighbour = case.neighbour().filter(|it| !it.is_by_requests())?;
            Some((case.move_away(&neighbour), None))
        })
    },
    Row {
        words: [
            "the other device is as fast as this one, and the data can be split",
            "moving data",
            "watch the other device: it should still have spare capacity",
        ],
        ..row(Strategy::LoadBalancing, &[CauseCode::HotDevice], Fixes::Load, |case| {
            let action = "Move half of this device's load to one with spare capacity.";
            let sure = case.judged.judgement.confidence() != Confidence::Possible;
            sure.then(|| (action.to_owned(), Some(array(2, RaidLevel::Raid0))))
        })
    },
    Row {
        unpredicted: "the benefit for reads depends on how many requests the device itself queues",
        words: [
            "the device serves requests in order of arrival",
            "writes wait longer",
            "watch read latency: if it does not fall, the queue is in the device",
        ],
        ..row(Strategy::Scheduler, &[CauseCode::WritesInFront], Fixes::Order, |case| {
            let facts = case.judged.segment.facts;
            let now = facts.and_then(|facts| facts.scheduler.as_deref()).unwrap_or("unknown");
            let action = format!(
                "Use a scheduler that prefers reads (mq-deadline or kyber; now {now}), or limit \
                 the writer (io.max)."
            );
            let passes = matches!(now, "mq-deadline" | "kyber" | "bfq");
            (!passes).then_some((action, None))
        })
    },
    row(Strategy::MoreDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = "Spread the load evenly over two such disks instead of one.";
        Some((action.to_owned(), Some(array(2, RaidLevel::Raid0))))
    }),
    row(Strategy::DiskArray, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = "Stripe over an array: with four disks as RAID 10, all four serve reads, and \
                      each write goes to two. Parity (RAID 5, 6) is cheaper but costs four or six \
                      requests per small write.";
        Some((action.to_owned(), Some(array(4, RaidLevel::Raid10))))
    }),
    row(Strategy::FasterDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = format!("Use a disk with {} lower latency.", percent(FASTER));
        Some((action, Some(Change::Faster(FASTER))))
    }),
    row(Strategy::CachedDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |case| {
        let reads = case.judged.segment.tally.read_share().filter(|share| *share >= READS_MIN);
        let action = format!(
            "Use a device or controller with a cache that serves {} of the random reads.",
            percent(CACHED)
        );
        reads.map(|_| (action, Some(Change::CacheHit { share: CACHED, hit_ns: None })))
    }),
    row(Strategy::HostCache, &[CauseCode::RateNearMaximum], Fixes::Room, |case| {
        let segment = &case.judged.segment;
        segment.tally.read_share().filter(|share| *share >= READS_MIN)?;
        if segment.known.constant {
            return None;
        }
        if let Some(enough) = enough_cache(segment.reuse) {
            return reused(&enough);
        }
        let memory = segment.around.memory_bytes.filter(|bytes| *bytes > MEMORY_MIN)?;
        let action = format!(
            "Let the host cache {} of the reads: {} of memory is available (a larger shared \
             buffer, or buffered instead of direct reads).",
            percent(CACHED),
            format_bytes(memory as u64)
        );
        Some((action, Some(Change::HostCache(CACHED))))
    }),
];

/// What to try without a profile: the rate stays, and the latency falls with the queue depth.
fn half_as_many(present: f64) -> String {
    format!(
        "Halve the program's queue depth (now {}). If requests wait in the queue, the rate stays \
         the same and the latency halves. Halve it again until the rate falls.",
        format_count(present)
    )
}

/// More memory, by the reuse of recorded requests; `None` if hardly any data is reread.
fn reused(enough: &CachePoint) -> Option<(String, Option<Change>)> {
    let CachePoint { bytes, read_hit_share: share } = *enough;
    let action = format!(
        "Give the host's cache {} more memory: for the recorded requests it would serve {} of the \
         reads.",
        format_bytes(bytes.0),
        percent(share)
    );
    let change = Change::Memory { bytes: bytes.0, share };
    (share >= REUSED_MIN).then_some((action, Some(change)))
}

fn array(disks: u32, raid: RaidLevel) -> Change {
    Change::Array { disks, raid, chunk_bytes: CHUNK_BYTES }
}

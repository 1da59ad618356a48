//! Remedies for the load, and for the order of its requests.

use super::{Case, Fixes, Row, array, row};
use crate::verdict::device_users::NeighbourGroup;
use crate::verdict::outstanding::{ExcessQueue, Outstanding};
use crate::verdict::upkeep::LoopKind;
use crate::words::percent;
use record::{CauseCode, Change, Confidence, RaidLevel, Strategy, format_bytes, format_count};

/// Largest queue depth proposed to a program that submits one request at a time.
const DEEPER_MAX: f64 = 32.0;
/// Size of larger requests, and the least growth of the size that is worth it.
const LARGER_BYTES: u64 = 128 << 10;
const LARGER_MIN: f64 = 1.5;
/// Kernels split requests into smaller pieces than this only if max_sectors_kb was lowered.
const SMALL_PIECES: u64 = 64 << 10;
const READ_AHEAD_GROWS: u64 = 4;

impl Case<'_> {
    /// The deep queue, if programs keep it up and could shorten it.
    fn queue_of_programs(&self) -> Option<ExcessQueue> {
        let cut = self.segment.cut_to().is_some_and(|bytes| bytes < SMALL_PIECES);
        self.segment.deep.filter(|_| !cut && !self.segment.written_back())
    }

    fn move_away(&self, neighbour: &NeighbourGroup<'_>) -> String {
        format!(
            "Move {} to another disk, or limit it (io.max, io.weight): it accounts for {} ({}).",
            neighbour.group.label(),
            neighbour.shares(),
            self.segment.figures(neighbour.group)
        )
    }
}

pub(super) static ROWS: [Row; 15] = [
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
            return Some((half_as_many(queue.present), None));
        }
        let reference = case.reference?;
        let (present, enough) = (queue.present, queue.enough.depth);
        let share = of_maximum(queue.enough.max_share);
        let depth = reference.in_programs(&look.mix, present.with(enough)).round();
        // Without a tracer, only the depth at the device is known.
        let place = match present {
            Outstanding::AtDevice(_) => "at the device",
            Outstanding::InPrograms(_) => "in the program",
        };
        let tags = case.segment.facts.and_then(|facts| facts.nr_requests);
        let is_low = tags.is_some_and(|tags| tags as f64 <= enough);
        let stopgap = if is_low || case.segment.of_windows {
            ""
        } else {
            " Until the program is changed, lower nr_requests."
        };
        let action = format!(
            "Use queue depth {enough:.0} instead of {} {place}{share}.{stopgap}",
            format_count(present.value())
        );
        Some((action, Some(Change::Depth(depth))))
    }),
    Row {
        by_rate: true,
        ..row(Strategy::DeeperQueue, &[CauseCode::OneAtATime], Fixes::Load, |case| {
            let (reference, look) = (case.reference?, case.look.filter(|look| look.own.is_none())?);
            let iops = case.segment.tally.iops();
            let enough = reference.deep_enough(look, iops, Outstanding::AtDevice(DEEPER_MAX))?;
            let depth = reference.outstanding(&look.mix, enough.depth.max(2.0)).round();
            let share = of_maximum(enough.max_share);
            let action = format!(
                "Use queue depth {depth:.0} instead of 1{share} (asynchronous I/O, threads; in \
                 PostgreSQL, effective_io_concurrency). Requests must not depend on each other."
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
                let now = case.segment.facts?.read_ahead_bytes?;
                let sequential = case.segment.known.sequential? >= 0.6;
                let reads = case.segment.tally.read_share()? >= 0.8;
                // Only buffered reads use read-ahead; their requests are then as large as the window.
                if !sequential
                    || !reads
                    || case.segment.tally.all.request_bytes()? < 0.5 * now as f64
                {
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
            let cut = case.segment.cut_to().filter(|bytes| *bytes < SMALL_PIECES)?;
            // On Windows, the size of the pieces is not a setting.
            if case.segment.of_windows {
                return None;
            }
            let name = case.segment.facts.map_or("DEVICE", |facts| facts.disk.as_str());
            let action = format!(
                "Let the kernel pass on larger requests: it splits the programs' requests into \
                 pieces of {} (echo 1280 > /sys/block/{name}/queue/max_sectors_kb).",
                format_bytes(cut)
            );
            Some((action, None))
        })
    },
    row(Strategy::LargerRequests, &[CauseCode::SmallSequential], Fixes::Load, |case| {
        let factor = LARGER_BYTES as f64 / case.segment.tally.all.request_bytes()?.max(1.0);
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
            let totals = &case.segment.tally;
            let splits = totals.split_share()?;
            let whole = (totals.all.request_bytes()? * (1.0 + splits)).round() as u64;
            let action = case.segment.by_system(
                "Defragment the files that are read sequentially (`defrag`); `halfpower run \
                     FILE` counts a file's extents.",
                "Defragment the files that are read sequentially (filefrag and e4defrag, \
                     xfs_fsr); `halfpower run FILE` counts a file's extents.",
            );
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
            case.segment.scattered()?;
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
        ..row(Strategy::Preallocation, &[CauseCode::SplitRequests], Fixes::Load, |case| {
            let call = case.segment.by_system("SetEndOfFile", "fallocate");
            let action = format!(
                "Allocate files at their full size before filling them ({call}), so that they do \
                 not fragment."
            );
            Some((action, None))
        })
    },
    row(Strategy::DirectIo, &[CauseCode::Bursts], Fixes::Load, |case| {
        let writes = 1.0 - case.segment.tally.read_share().unwrap_or(1.0);
        let action = case.segment.by_system(
            "Spread writes evenly, or use unbuffered I/O for the writer.",
            "Spread writes evenly: smaller vm.dirty_background_bytes, or direct I/O for the \
                 writer.",
        );
        (writes >= 0.5).then(|| (action.to_owned(), Some(Change::Independent)))
    }),
    row(Strategy::MoveNeighbour, &[CauseCode::Neighbour], Fixes::Load, |case| {
        let neighbour = case.segment.neighbour().filter(NeighbourGroup::is_by_requests)?;
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
            let neighbour = case.segment.neighbour().filter(|it| !it.is_by_requests())?;
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
            let action = "Move half of this device's load to a device with spare capacity.";
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
            if case.segment.of_windows {
                let action = "Limit the writing program: Windows has no choice of I/O schedulers.";
                return Some((action.to_owned(), None));
            }
            let facts = case.segment.facts;
            let now = facts.and_then(|facts| facts.scheduler.as_deref()).unwrap_or("unknown");
            let action = format!(
                "Use a scheduler that prefers reads (mq-deadline or kyber; now {now}), or limit \
                 the writer (io.max)."
            );
            let passes = matches!(now, "mq-deadline" | "kyber" | "bfq");
            (!passes).then_some((action, None))
        })
    },
];

/// The rate at a recommended depth.
fn of_maximum(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| {
        format!(", for {} of the maximum rate of this mix", percent(share))
    })
}

/// What to try without a profile: the rate stays, and the latency falls with the queue depth.
fn half_as_many(present: Outstanding) -> String {
    let place = match present {
        Outstanding::AtDevice(_) => " at the device",
        Outstanding::InPrograms(_) => "",
    };
    format!(
        "Halve the program's queue depth (now {}{place}). If requests wait in the queue, the rate \
         stays the same and the latency halves. Halve it again until the rate falls.",
        format_count(present.value())
    )
}

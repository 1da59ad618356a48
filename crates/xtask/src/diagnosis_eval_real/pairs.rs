//! Pairs of cases: the same fact once with harm and once without, on a disk with chosen latencies.
//!
//! The harm depends on the disk's latencies and on the load, not on CPUs. Each pair draws new figures.

use super::cases::{Case, Change, Draws, case};
use super::load::{FRAGMENTED, Load};
use super::medium::Medium;
use crate::judge::{ANY, CAPPED, FINE, HARMED, OVERLOADED};
use std::time::Duration;
use testkit::Throttle;

const SERVED: &[Medium] = &[Medium::Served];
const JOURNAL: &[Medium] = &[Medium::Journal];
/// Milliseconds that a flush or a discard blocks a loop device.
const LONG_MS: (f64, f64) = (8.0, 30.0);
const READS: &str = "randread";
const WRITES: &str = "randwrite";

/// All pairs of a round on a disk.
pub(super) fn pairs(draws: &mut Draws) -> Vec<Case> {
    let parts: [fn(&mut Draws) -> Vec<Case>; 5] = [flushes, limits, settings, memory, layout];
    parts.into_iter().flat_map(|part| part(draws)).collect()
}

fn harm(
    name: &'static str,
    load: Load,
    verdicts: &'static [&'static str],
    causes: &'static [&'static str],
) -> Case {
    case(name, load, verdicts, &[]).caused(causes).on(SERVED)
}

fn harmless(name: &'static str, load: Load, causes: &'static [&'static str]) -> Case {
    let mut case = case(name, load, FINE, &[]).on(SERVED);
    case.expect.harmless = causes;
    case
}

impl Draws {
    /// Open-loop reads at a share of the maximum rate.
    fn reads(&mut self, low: f64, high: f64) -> Load {
        Load::open(READS, self.of_most(low, high), "poisson")
    }

    /// A load that no disk here notices.
    fn light(&mut self) -> Load {
        self.reads(0.05, 0.3)
    }

    /// One program that reads at a share of its rate without a pause.
    fn paced(&mut self, low: f64, high: f64) -> Load {
        Load::sync(READS, &format!("--rate_iops={}", self.of_lone(low, high)))
    }

    fn deep(&mut self, low: f64, high: f64) -> Load {
        Load::closed(READS, self.of_knee((low, high)))
    }

    fn long(&mut self) -> Change {
        Change::FlushTakes(Duration::from_millis(self.between(LONG_MS.0, LONG_MS.1)))
    }
}

fn flushes(draws: &mut Draws) -> Vec<Case> {
    const NAMES: &[&str] = &["many_flushes", "volatile_cache", "journal"];
    const OF_NEIGHBOUR: &[&str] = &["neighbour", "many_flushes", "volatile_cache", "journal"];
    let syncing =
        |programs: u64| Load::buffered(WRITES, &format!("--fsync=1 --numjobs={programs}"));
    let few = |per_s: u64| Load::buffered(WRITES, &format!("--fsync=1 --rate_iops={per_s}"));
    vec![
        harm("flushes of a cache", syncing(draws.between(1.0, 4.0)), ANY, NAMES)
            .changed(&[draws.long()]),
        harmless("few long flushes", few(1), NAMES)
            .beside(draws.light())
            .changed(&[draws.long()]),
        harmless("many short flushes", few(draws.between(10.0, 60.0)), NAMES),
        harm("a neighbour flushes", Load::sync(READS, ""), ANY, OF_NEIGHBOUR)
            .beside(syncing(1))
            .changed(&[draws.long()]),
        harm("a sync mount", Load::buffered(WRITES, "--bs=16k"), ANY, NAMES)
            .changed(&[Change::MountedSync, draws.long()]),
        harmless("a sync mount that is read", draws.paced(0.05, 0.4), NAMES)
            .changed(&[Change::MountedSync, draws.long()]),
        harm("a slow journal device", syncing(draws.between(2.0, 6.0)), ANY, NAMES)
            .changed(&[draws.long()])
            .on(JOURNAL),
        harmless("a journal device at rest", draws.light(), NAMES)
            .beside(few(1))
            .changed(&[draws.long()])
            .on(JOURNAL),
    ]
}

fn limits(draws: &mut Draws) -> Vec<Case> {
    const NAMES: &[&str] = &["pinned_rate", "provider_limit"];
    vec![
        harm("a cap inside the disk", draws.deep(1.0, 3.0), HARMED, NAMES)
            .changed(&[Change::CapAt(draws.of_most(0.15, 0.5))]),
        harmless("a cap far above the load", draws.light(), NAMES)
            .changed(&[Change::CapAt(draws.of_most(1.0, 10.0))]),
        harm(
            "a deep neighbour",
            draws.paced(0.05, 0.2),
            OVERLOADED,
            &["neighbour", "depth_beyond_knee"],
        )
        .beside(draws.deep(4.0, 8.0)),
        harmless("a light neighbour", draws.paced(0.05, 0.2), &["neighbour"])
            .beside(draws.reads(0.02, 0.1)),
        harm(
            "limit of a group",
            draws.deep(1.0, 2.0).held(Throttle::ReadIops, draws.of_most(0.03, 0.3)),
            CAPPED,
            &["cgroup_limit"],
        ),
        harmless(
            "limit of a group far above",
            draws.light().held(Throttle::ReadIops, draws.of_most(2.0, 9.0)),
            &["cgroup_limit"],
        ),
        harm("long discards", Load::sync(READS, ""), ANY, &["discards"]).changed(&[
            Change::DiscardTakes(Duration::from_millis(draws.between(LONG_MS.0, 2.0 * LONG_MS.1))),
            Change::Discards,
        ]),
        harmless("short discards", draws.light(), &["discards"]).changed(&[Change::Discards]),
    ]
}

fn settings(draws: &mut Draws) -> Vec<Case> {
    const CUT: &[&str] = &["kernel_settings", "split_requests"];
    let most = &[Change::Queue("max_sectors_kb", 4 << draws.between(1.0, 3.9).ilog2())];
    let tags = &[Change::Scheduler("mq-deadline"), Change::Queue("nr_requests", 4)];
    let one = draws.paced(0.05, 0.4);
    let cached = Load::buffered(READS, &format!("--rate_iops={}", draws.of_lone(0.05, 0.4)));
    let large = Load::libaio("read", draws.between(1.0, 4.0), "--bs=256k");
    let in_order = Load::buffered("read", "--bs=64k");
    let bfq = &[Change::Scheduler("bfq")];
    vec![
        harm("requests cut small", large, ANY, CUT).changed(most),
        harmless("small requests that need no cut", draws.light(), CUT).changed(most),
        harm("few tags, served", Load::libaio(READS, 64, ""), CAPPED, &["tags_in_use"])
            .changed(tags),
        harmless("few tags, one reader", one, &["tags_in_use", "kernel_settings"]).changed(tags),
        harm("nothing read ahead, served", in_order, FINE, &["read_ahead_off"])
            .changed(&[Change::NoReadAhead]),
        harmless("nothing to read ahead", cached, &["read_ahead_off"])
            .changed(&[Change::NoReadAhead]),
        harm(
            "bfq and the idle class, served",
            Load::closed(READS, 8),
            HARMED,
            &["scheduler_holds"],
        )
        .beside(Load::closed(READS, 1).in_idle_class())
        .changed(bfq),
        harmless(
            "bfq, one program, served",
            draws.light(),
            &["scheduler_holds", "kernel_settings"],
        )
        .changed(bfq),
    ]
}

fn memory(draws: &mut Draws) -> Vec<Case> {
    const SWAP: &[&str] = &["swap", "memory_short"];
    let short = draws.between(24e6, 60e6);
    let dirty = Change::DirtyBytes(draws.between(1e6, 6e6));
    let again = Load::buffered(READS, "--bs=16k --norandommap --numjobs=4");
    let few = draws.paced(0.05, 0.2);
    let writes = format!("--fsync=16 --rate_iops={}", draws.of_lone(0.02, 0.08));
    let writes = Load::buffered(WRITES, &writes);
    vec![
        harm("a group short of memory", again.clone().in_memory(short), ANY, &["memory_short"]),
        harmless("a group with memory", again.in_memory(3 << 30), &["memory_short"]),
        harm("swapping on the disk", few.clone(), ANY, SWAP).changed(&[Change::Swaps]),
        harmless("swap at rest", few, SWAP).changed(&[Change::Swapped]),
        harmless("little is dirty", writes, &["write_back_limit", "dirty_limits"])
            .changed(&[dirty]),
    ]
}

fn layout(draws: &mut Draws) -> Vec<Case> {
    const NAMES: &[&str] = &["scattered_files", "split_requests"];
    let pieces = &[Change::Fragmented(4096 << draws.between(1.0, 4.0).ilog2())];
    let rate = format!("--rate_iops={}", draws.of_lone(0.05, 0.3));
    let large = Load::libaio("read", draws.between(1.0, 3.0), "--bs=256k").of_file(FRAGMENTED);
    let alone = Load::sync(READS, &rate).of_file(FRAGMENTED);
    vec![
        harm("a file in pieces", large, ANY, NAMES).changed(pieces).watched("pieces"),
        harmless("pieces that are read alone", alone, NAMES).changed(pieces).watched("pieces"),
        harmless("a full file system", Load::sync(WRITES, &rate), &["file_system_full"])
            .changed(&[Change::Full])
            .watched("."),
    ]
}

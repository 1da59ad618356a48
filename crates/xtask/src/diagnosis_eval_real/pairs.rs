//! Pairs of cases: the same fact once with harm and once without, on a disk with chosen latencies.
//!
//! The harm depends on the disk's latencies and on the load, not on CPUs. Each pair draws new figures.

use super::cases::{Case, Change, Known, case};
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
/// All pairs of a round on a disk.
pub(super) fn pairs(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    let mut all = flushes(known, between);
    all.extend(limits(known, between));
    all.extend(settings(known, between));
    all.extend(memory(known, between));
    all.extend(layout(known, between));
    all
}

fn harm(
    name: &'static str,
    loads: Vec<Load>,
    verdicts: &'static [&'static str],
    causes: &'static [&'static str],
) -> Case {
    case(name, loads, verdicts, &[]).caused(causes).on(SERVED)
}

fn harmless(name: &'static str, loads: Vec<Load>, causes: &'static [&'static str]) -> Case {
    let mut case = case(name, loads, FINE, &[]).on(SERVED);
    case.expect.harmless = causes;
    case
}

fn millis(per: u64) -> Duration {
    Duration::from_millis(per)
}

/// Open-loop reads at a share of the maximum rate.
fn reads(known: Known, between: &mut impl FnMut(f64, f64) -> u64, share: (f64, f64)) -> Load {
    Load::open(READS, between(share.0 * known.most, share.1 * known.most), "poisson")
}

const LIGHT: (f64, f64) = (0.05, 0.3);

fn flushes(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    const NAMES: &[&str] = &["many_flushes", "volatile_cache", "journal"];
    let long = |between: &mut dyn FnMut(f64, f64) -> u64| {
        Change::FlushTakes(millis(between(LONG_MS.0, LONG_MS.1)))
    };
    let syncing =
        |programs: u64| Load::buffered("randwrite", &format!("--fsync=1 --numjobs={programs}"));
    let few = Load::buffered("randwrite", "--fsync=1 --rate_iops=1");
    vec![
        harm("flushes of a cache", vec![syncing(between(1.0, 4.0))], ANY, NAMES)
            .changed(&[long(between)]),
        harmless("few long flushes", vec![few.clone(), reads(known, between, LIGHT)], NAMES)
            .changed(&[long(between)]),
        harmless(
            "many short flushes",
            vec![Load::buffered(
                "randwrite",
                &format!("--fsync=1 --rate_iops={}", between(10.0, 60.0)),
            )],
            NAMES,
        ),
        harm(
            "a neighbour flushes",
            vec![Load::sync(READS, 1, ""), syncing(1)],
            ANY,
            &["neighbour", "many_flushes", "volatile_cache", "journal"],
        )
        .changed(&[long(between)]),
        harm("a sync mount", vec![Load::buffered("randwrite", "--bs=16k")], ANY, NAMES)
            .changed(&[Change::MountedSync, long(between)]),
        harmless(
            "a sync mount that is read",
            vec![Load::sync(
                READS,
                1,
                &format!("--rate_iops={}", between(0.05 * known.lone, 0.4 * known.lone)),
            )],
            NAMES,
        )
        .changed(&[Change::MountedSync, long(between)]),
        harm("a slow journal device", vec![syncing(between(2.0, 6.0))], ANY, NAMES)
            .changed(&[long(between)])
            .on(JOURNAL),
        harmless("a journal device at rest", vec![reads(known, between, LIGHT), few], NAMES)
            .changed(&[long(between)])
            .on(JOURNAL),
    ]
}

fn limits(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    const NAMES: &[&str] = &["pinned_rate", "provider_limit"];
    let Known { most, lone, knee } = known;
    let deep = |low: f64, high: f64, between: &mut dyn FnMut(f64, f64) -> u64| {
        Load::closed(READS, between(low * knee, high * knee))
    };
    let few = |between: &mut dyn FnMut(f64, f64) -> u64| {
        Load::sync(READS, 1, &format!("--rate_iops={}", between(0.05 * lone, 0.2 * lone)))
    };
    vec![
        harm("a cap inside the disk", vec![deep(1.0, 3.0, between)], HARMED, NAMES)
            .changed(&[Change::CapAt(between(0.15 * most, 0.5 * most))]),
        harmless("a cap far above the load", vec![reads(known, between, LIGHT)], NAMES)
            .changed(&[Change::CapAt(between(1.0 * most, 10.0 * most))]),
        harm(
            "a deep neighbour",
            vec![few(between), deep(4.0, 8.0, between)],
            OVERLOADED,
            &["neighbour", "depth_beyond_knee"],
        ),
        harmless(
            "a light neighbour",
            vec![few(between), reads(known, between, (0.02, 0.1))],
            &["neighbour"],
        ),
        harm(
            "limit of a group",
            vec![
                deep(1.0, 2.0, between).held(Throttle::ReadIops, between(0.03 * most, 0.3 * most)),
            ],
            CAPPED,
            &["cgroup_limit"],
        ),
        harmless(
            "limit of a group far above",
            vec![
                reads(known, between, LIGHT)
                    .held(Throttle::ReadIops, between(2.0 * most, 9.0 * most)),
            ],
            &["cgroup_limit"],
        ),
        harm("long discards", vec![Load::sync(READS, 1, "")], ANY, &["discards"]).changed(&[
            Change::DiscardTakes(millis(between(LONG_MS.0, 2.0 * LONG_MS.1))),
            Change::Discards,
        ]),
        harmless("short discards", vec![reads(known, between, LIGHT)], &["discards"])
            .changed(&[Change::Discards]),
    ]
}

fn settings(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    const CUT: &[&str] = &["kernel_settings", "split_requests"];
    let most = Change::Queue("max_sectors_kb", 4 << between(1.0, 3.9).ilog2());
    let tags = &[Change::Scheduler("mq-deadline"), Change::Queue("nr_requests", 4)];
    let one = Load::sync(
        READS,
        1,
        &format!("--rate_iops={}", between(0.05 * known.lone, 0.4 * known.lone)),
    );
    let cached = Load::buffered(
        READS,
        &format!("--rate_iops={}", between(0.05 * known.lone, 0.4 * known.lone)),
    );
    let bfq = &[Change::Scheduler("bfq")];
    vec![
        harm(
            "requests cut small",
            vec![Load::libaio("read", between(1.0, 4.0), "--bs=256k")],
            ANY,
            CUT,
        )
        .changed(&[most]),
        harmless("small requests that need no cut", vec![reads(known, between, LIGHT)], CUT)
            .changed(&[most]),
        harm("few tags, served", vec![Load::libaio(READS, 64, "")], CAPPED, &["tags_in_use"])
            .changed(tags),
        harmless("few tags, one reader", vec![one], &["tags_in_use", "kernel_settings"])
            .changed(tags),
        harm(
            "nothing read ahead, served",
            vec![Load::buffered("read", "--bs=64k")],
            FINE,
            &["read_ahead_off"],
        )
        .changed(&[Change::NoReadAhead]),
        harmless("nothing to read ahead", vec![cached], &["read_ahead_off"])
            .changed(&[Change::NoReadAhead]),
        harm(
            "bfq and the idle class, served",
            vec![Load::closed(READS, 8), Load::closed(READS, 1).in_idle_class()],
            HARMED,
            &["scheduler_holds"],
        )
        .changed(bfq),
        harmless(
            "bfq, one program, served",
            vec![reads(known, between, LIGHT)],
            &["scheduler_holds", "kernel_settings"],
        )
        .changed(bfq),
    ]
}

fn memory(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    let short = between(24e6, 60e6);
    let dirty = Change::DirtyBytes(between(1e6, 6e6));
    let again = Load::buffered(READS, "--bs=16k --norandommap --numjobs=4");
    let few = Load::sync(
        READS,
        1,
        &format!("--rate_iops={}", between(0.05 * known.lone, 0.2 * known.lone)),
    );
    let writes =
        format!("--fsync=16 --rate_iops={}", between(0.02 * known.lone, 0.08 * known.lone));
    vec![
        harm(
            "a group short of memory",
            vec![again.clone().in_memory(short)],
            ANY,
            &["memory_short"],
        ),
        harmless("a group with memory", vec![again.in_memory(3 << 30)], &["memory_short"]),
        harm("swapping on the disk", vec![few.clone()], ANY, &["swap", "memory_short"])
            .changed(&[Change::Swaps]),
        harmless("swap at rest", vec![few], &["swap", "memory_short"]).changed(&[Change::Swapped]),
        harmless(
            "little is dirty",
            vec![Load::buffered("randwrite", &writes)],
            &["write_back_limit", "dirty_limits"],
        )
        .changed(&[dirty]),
    ]
}

fn layout(known: Known, between: &mut impl FnMut(f64, f64) -> u64) -> Vec<Case> {
    const NAMES: &[&str] = &["scattered_files", "split_requests"];
    let pieces = Change::Fragmented(4096 << between(1.0, 4.0).ilog2());
    let lone = between(0.05 * known.lone, 0.3 * known.lone);
    let of = |load: Load| load.of_file(FRAGMENTED);
    vec![
        harm(
            "a file in pieces",
            vec![of(Load::libaio("read", between(1.0, 3.0), "--bs=256k"))],
            ANY,
            NAMES,
        )
        .changed(&[pieces])
        .watched("pieces"),
        harmless(
            "pieces that are read alone",
            vec![of(Load::sync(READS, 1, &format!("--rate_iops={lone}")))],
            NAMES,
        )
        .changed(&[pieces])
        .watched("pieces"),
        harmless(
            "a full file system",
            vec![Load::sync("randwrite", 1, &format!("--rate_iops={lone}"))],
            &["file_system_full"],
        )
        .changed(&[Change::Full])
        .watched("."),
    ]
}

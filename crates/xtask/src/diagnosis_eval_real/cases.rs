//! The cases: what is started and changed, and what a diagnosis must find.

use super::load::{FLOODED, Load};
use super::medium::Medium;
use crate::judge::{CAPPED, Expect, FINE, OVERLOADED, RAISE, SILENCE, SILENT};
use std::time::Duration;
use testkit::Throttle;
use workload::Rng;

/// A limit in requests per second that no load here reaches.
const UNREACHED: u64 = 50_000_000;
/// Range of excessive queue depths, as multiples of the knee of the depth curve.
const DEEP: (f64, f64) = (3.0, 6.0);
/// Memory range of a cgroup that reads [`super::load::BUFFERED`] bytes through the page cache.
const MEMORY: (f64, f64) = (100e6, 200e6);

/// A change of the machine after the profile was made. It is reverted after the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Another I/O scheduler.
    Scheduler(&'static str),
    /// A setting of the device's queue.
    Queue(&'static str, u64),
    /// Limit of dirty bytes in the page cache.
    DirtyBytes(u64),
    /// No read-ahead.
    NoReadAhead,
    /// Programs that compute, on all CPUs.
    BusyProcessors,
    /// A program fills the page cache with writes.
    Flood,
    /// Files are created, removed and discarded.
    Discards,
    /// Duration of a flush of the served disk.
    FlushTakes(Duration),
    /// Duration of a discard of the served disk.
    DiscardTakes(Duration),
    /// Maximum requests per second of the served disk.
    CapAt(u64),
    /// The file system is mounted with `sync`.
    MountedSync,
    /// A program swaps to a file on the device.
    Swaps,
    /// A program has swapped and is now idle.
    Swapped,
    /// A file is fragmented into pieces of this many bytes.
    Fragmented(u64),
    /// The file system is almost full.
    Full,
    /// The limits of loads are active for the first duration and inactive for the second, alternately.
    ComeAndGo(Duration, Duration),
}

/// A case.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) media: &'static [Medium],
    pub(super) changes: Vec<Change>,
    pub(super) loads: Vec<Load>,
    /// Minimum requests per second of the loads. With less, the result is discarded.
    pub(super) asks: Option<u64>,
    /// Minimum number of requests at the busy device. With less, the result is discarded: a program may need
    /// more CPU time than the device needs for its requests.
    pub(super) fills: Option<f64>,
    pub(super) expect: Expect,
    /// The file or folder that is watched instead of the device.
    pub(super) watched: Option<&'static str>,
}

impl Change {
    /// Whether the change must precede the load: open files keep the old state, or the load needs the change.
    pub(super) fn comes_first(self) -> bool {
        matches!(self, Self::NoReadAhead | Self::Fragmented(_))
    }
}

impl Case {
    pub(super) fn changed(mut self, changes: &[Change]) -> Self {
        self.changes.extend(changes);
        self
    }

    pub(super) fn on(mut self, media: &'static [Medium]) -> Self {
        self.media = media;
        self
    }

    pub(super) fn beside(mut self, load: Load) -> Self {
        self.loads.push(load);
        self
    }

    fn asking(mut self, per_s: u64) -> Self {
        self.asks = Some(per_s);
        self
    }

    fn filling(mut self, present: f64) -> Self {
        self.fills = Some(present);
        self
    }

    pub(super) fn caused(mut self, causes: &'static [&'static str]) -> Self {
        self.expect.causes = causes;
        self
    }

    pub(super) fn watched(mut self, path: &'static str) -> Self {
        self.watched = Some(path);
        self
    }

    fn or(mut self, undecided: &'static [&'static str]) -> Self {
        self.expect.undecided = undecided;
        self
    }
}

/// Figures of the device's profile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Maximum IOPS of 4 KiB random reads, and their IOPS at queue depth 1.
    pub(super) most: f64,
    pub(super) lone: f64,
    /// The smallest depth that gives most of the maximum.
    pub(super) knee: f64,
}

/// The figures that a round draws for its cases.
pub(super) struct Draws {
    known: Known,
    rng: Rng,
}

impl Draws {
    pub(super) fn new(known: Known, seed: u64) -> Self {
        Self { known, rng: Rng::new(seed) }
    }

    /// A figure whose logarithm is uniform.
    pub(super) fn between(&mut self, low: f64, high: f64) -> u64 {
        (low * (high / low).powf(self.rng.unit())) as u64
    }

    /// A share of the maximum IOPS.
    pub(super) fn of_most(&mut self, low: f64, high: f64) -> u64 {
        self.between(low * self.known.most, high * self.known.most)
    }

    /// A share of the IOPS at queue depth 1.
    pub(super) fn of_lone(&mut self, low: f64, high: f64) -> u64 {
        self.between(low * self.known.lone, high * self.known.lone)
    }

    /// A multiple of the knee of the depth curve.
    pub(super) fn of_knee(&mut self, (low, high): (f64, f64)) -> u64 {
        self.between(low * self.known.knee, high * self.known.knee)
    }
}

const READS: &str = "randread";
const WRITES: &str = "randwrite";
const SHARE: &[&str] = &["shallower_queue", "move_neighbour", "scheduler", "direct_io"];
const ALL: &[Medium] = &[Medium::Loop, Medium::Zram, Medium::Disk];
/// The project's own devices, for cases that would disturb other users of the machine's disk.
const OURS: &[Medium] = &[Medium::Loop, Medium::Zram];
const LOOP: &[Medium] = &[Medium::Loop];

pub(super) fn case(
    name: &'static str,
    load: Load,
    verdicts: &'static [&'static str],
    advice: &'static [&'static str],
) -> Case {
    let expect = Expect { verdicts, undecided: &[], causes: &[], harmless: &[], advice };
    Case {
        name,
        media: OURS,
        changes: Vec::new(),
        loads: vec![load],
        asks: None,
        fills: None,
        expect,
        watched: None,
    }
}

/// All single cases of a round.
pub(super) fn cases(draws: &mut Draws) -> Vec<Case> {
    let parts: [fn(&mut Draws) -> Vec<Case>; 4] = [healthy, limits, crowds, above];
    parts.into_iter().flat_map(|part| part(draws)).collect()
}

/// Devices below their maximum: 1 to 60 % of what the loop of their program could reach.
fn healthy(draws: &mut Draws) -> Vec<Case> {
    let Known { most, lone, .. } = draws.known;
    let mut rate = |most: f64| draws.between(0.01 * most, 0.6 * most);
    let fine = |name, load| case(name, load, FINE, SILENT).on(ALL);
    let paced = |name, per_s: u64, process: &str| {
        fine(name, Load::sync(READS, &format!("--rate_iops={per_s} {process}"))).asking(per_s)
    };
    let many = |name, words: &str, per_s: u64| {
        let words = format!("--rate_iops={per_s} {words}");
        fine(name, Load::libaio(READS, 32, &words)).asking(per_s)
    };
    let ring = |name, arrival: &str, per_s: u64| {
        fine(name, Load::open(READS, per_s, arrival)).asking(per_s)
    };
    let (poisson, few) = ("--rate_process=poisson", rate(lone.min(5_000.0)));
    // Without fsync, the page cache would write only after half a minute.
    let writes = format!("--fsync=64 --rate_iops={}", rate(2_000.0));
    let log = format!("--fsync=1 --rate_iops={}", rate(400.0));
    let mixed = rate(most.min(20_000.0)) / 2;
    let both = Load::libaio("randrw", 16, &format!("--rate_iops={mixed},{mixed}"));
    vec![
        paced("paced, one at a time", rate(lone), ""),
        paced("by chance, one at a time", rate(0.5 * lone), poisson),
        many("paced, libaio", "", rate(most)),
        many("by chance, libaio", poisson, rate(most)),
        ring("paced, io_uring", "constant", rate(most)),
        ring("by chance, io_uring", "poisson", rate(most)),
        fine("reads and writes, libaio", both).asking(2 * mixed),
        fine("buffered reads", Load::buffered(READS, &format!("--rate_iops={few}"))),
        fine("buffered writes", Load::buffered(WRITES, &writes)),
        fine("a log with fsync", Load::buffered("write", &log)),
        case("one at a time", Load::closed(READS, 1), FINE, &["deeper_queue", SILENCE]).on(ALL),
        case("discards", Load::sync(READS, ""), FINE, &["deeper_queue", SILENCE])
            .changed(&[Change::Discards])
            .on(LOOP),
    ]
}

/// Limits of cgroups.
fn limits(draws: &mut Draws) -> Vec<Case> {
    use Throttle::{ReadBytes, ReadIops, WriteBytes, WriteIops};
    let rate = draws.of_most(0.01, 0.08);
    let few = draws.between(300.0, 3_000.0);
    let slow = draws.between(2e6, 2e7);
    let deep = |rw| Load::closed(rw, 8);
    let limited =
        |name, load: Load, limit, per_s| case(name, load.held(limit, per_s), CAPPED, RAISE);
    let unreached = Load::open(READS, rate, "poisson").held(ReadIops, UNREACHED);
    let comes_and_goes = Load::closed(READS, 2).held(ReadIops, few);
    let second = Duration::from_secs(1);
    vec![
        limited("limit of reads", deep(READS), ReadIops, few),
        limited("limit of reads, libaio", Load::libaio(READS, 16, ""), ReadIops, few),
        limited("limit of reads, one at a time", Load::sync(READS, ""), ReadIops, few),
        limited("limit of bytes read", Load::in_order("read"), ReadBytes, slow),
        limited("limit of writes", deep(WRITES), WriteIops, few),
        limited("limit of bytes written", Load::in_order("write"), WriteBytes, slow),
        limited("reads held, writes not", deep(READS), ReadIops, few)
            .beside(Load::open(WRITES, rate / 4, "poisson")),
        case("limit that is not reached", unreached, FINE, SILENT).asking(rate),
        case("limit that comes and goes", comes_and_goes, &["capped", "slow"], &[])
            .changed(&[Change::ComeAndGo(second * 2 / 5, second * 8 / 5)]),
        limited("one stop of two seconds", Load::sync(READS, ""), ReadIops, 1)
            .changed(&[Change::ComeAndGo(second * 2, second * 7)]),
    ]
}

/// More load than the device can carry, or several programs on it.
fn crowds(draws: &mut Draws) -> Vec<Case> {
    const THROUGH: &[&str] = &["overloaded", "slow_and_overloaded", "slow", "healthy"];
    // A higher rate would leave two CPUs no time for the sender, the loop device's worker and the recorder,
    // and would then be a different case.
    let few = draws.of_most(0.001, 0.01);
    // So deep that on any machine a shallower queue is the remedy.
    let deep = draws.of_knee(DEEP);
    let some = |rw| Load::open(rw, few, "poisson");
    let through = Load::run("--rw randwrite --bs 4k --iodepth 1 --numjobs 8 --cache none");
    vec![
        case("a deep queue", Load::closed(READS, deep), OVERLOADED, &["shallower_queue"]).on(LOOP),
        case("a deep queue, libaio", Load::libaio(READS, 256, ""), OVERLOADED, &["shallower_queue"])
            .filling(DEEP.0 * draws.known.knee)
            .on(LOOP),
        case("one writer", some(READS), OVERLOADED, SHARE)
            .beside(Load::closed(WRITES, deep))
            .on(LOOP),
        case("a writer among readers", some(READS), FINE, SILENT).beside(some(WRITES)),
        case("eight that write through", some(READS), THROUGH, &[]).beside(through).on(LOOP),
        case("a flood of writes beside reads", Load::sync(READS, ""), OVERLOADED, SHARE)
            .or(&["slow", "healthy"])
            .caused(&["neighbour", "writes_in_front"])
            .changed(&[Change::Flood])
            .on(LOOP),
        // The CPUs do the work of a loop device in memory, so it is slow as well.
        case("busy processors", some(READS), FINE, &[])
            .or(&["slow", "overloaded", "slow_and_overloaded"])
            .changed(&[Change::BusyProcessors]),
    ]
}

/// Causes between the program and the device.
fn above(draws: &mut Draws) -> Vec<Case> {
    let memory = draws.between(MEMORY.0, MEMORY.1);
    let dirty = draws.between(2e6, 8e6);
    let writers = Load::buffered(WRITES, "--numjobs=4");
    let cached = Load::buffered(READS, "--norandommap").in_memory(memory);
    vec![
        case("little may wait to be written", writers, CAPPED, RAISE)
            .caused(&["write_back_limit"])
            .changed(&[Change::DirtyBytes(dirty)]),
        case("little memory for the page cache", cached, FINE, &["host_cache"])
            .caused(&["memory_short"])
            .or(OVERLOADED)
            .on(ALL),
        // No other process waits here, so the cause is named but nothing is advised.
        case("O_SYNC", Load::buffered(WRITES, "--sync=1"), FINE, &[])
            .caused(&["many_flushes"])
            .or(&["slow", "overloaded"])
            // zram has no cache to flush.
            .on(LOOP),
    ]
}

/// The flooding program, as a shell script.
pub(super) fn flood() -> String {
    format!("while :; do dd if=/dev/zero of={FLOODED} bs=1M count=900 2> /dev/null; done")
}

/// The program that creates and discards files, as a shell script.
pub(super) fn discards() -> String {
    format!(
        "while :; do fallocate -l 200M {FLOODED} && sync {FLOODED} && rm {FLOODED} && fstrim .; done"
    )
}

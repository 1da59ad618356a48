//! Tests the log of writes with a disk in memory that can lie in each of the four ways.

use engine::tag::{Tags, stamp};
use record::{BlockFault, Bytes, Data, OpKind, Pattern, VerifyResult, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use trial::verify::{Checked, VerifyLog};
use workload::Request;

const BLOCK: u64 = 4_096;
const SEED: u64 = 11;
const EIO: i32 = 5;
const PAGE_BYTES: usize = 4_096;

fn workload() -> Workload {
    Workload {
        read_percent: 0,
        pattern: Pattern::Random,
        data: Data::Tagged,
        size_bytes: Bytes(64 * BLOCK),
        ..Workload::default()
    }
}

/// What a disk does with a write.
#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Dropped,
    To(u64),
    Half,
}

struct Bench {
    workload: Workload,
    disk: Vec<u8>,
    log: VerifyLog,
}

impl Bench {
    fn new(workload: Workload) -> Self {
        let disk = vec![0; workload.size_bytes.0 as usize];
        let log = VerifyLog::new(&workload, SEED, 0);
        Self { workload, disk, log }
    }

    fn request(block: u64, blocks: u64) -> Request {
        Request { offset: block * BLOCK, bytes: (blocks * BLOCK) as u32, op: OpKind::Write }
    }

    fn begin(&mut self, block: u64) -> u64 {
        self.log.begin(Self::request(block, 1))
    }

    fn end(&mut self, block: u64, generation: u64, completed: bool) {
        self.log.end(Self::request(block, 1), generation, completed);
    }

    /// Stores the contents of a write at its block, or as `fate` says.
    fn store(&mut self, block: u64, generation: u64, fate: Fate) {
        let tags = Tags::of(&self.workload, SEED, 0);
        let mut content = vec![generation as u8; BLOCK as usize];
        stamp(&mut content, block * BLOCK, generation, tags.seed);
        let (place, length) = match fate {
            Fate::Kept => (block, BLOCK),
            Fate::Dropped => return,
            Fate::To(other) => (other, BLOCK),
            Fate::Half => (block, BLOCK / 2),
        };
        let start = (place * BLOCK) as usize;
        self.disk[start..start + length as usize].copy_from_slice(&content[..length as usize]);
    }

    fn write(&mut self, block: u64, fate: Fate) -> u64 {
        let generation = self.begin(block);
        self.store(block, generation, fate);
        self.end(block, generation, true);
        generation
    }

    fn check(self) -> VerifyResult {
        check(self.log, &self.disk, &[]).result
    }
}

/// Reads back from `disk`; reads that touch the blocks in `broken` fail.
fn check(log: VerifyLog, disk: &[u8], broken: &[u64]) -> Checked {
    log.check(&AtomicBool::new(false), &mut |offset, memory| {
        assert_eq!(memory.as_ptr() as usize % PAGE_BYTES, 0, "memory for O_DIRECT");
        let end = offset + memory.len() as u64;
        if broken.iter().any(|block| (offset..end).contains(&(block * BLOCK))) {
            return Err(EIO);
        }
        let left = &disk[(offset as usize).min(disk.len())..];
        let length = left.len().min(memory.len());
        memory[..length].copy_from_slice(&left[..length]);
        Ok(length)
    })
}

fn faults(result: &VerifyResult) -> [u64; 5] {
    [result.good, result.lost, result.misplaced, result.torn, result.stale]
}

#[test]
fn what_was_written_last_is_good_and_only_that_is_looked_at() {
    let mut bench = Bench::new(workload());
    for block in [3, 4, 40, 3] {
        bench.write(block, Fate::Kept);
    }
    let result = bench.check();
    assert_eq!(faults(&result), [3, 0, 0, 0, 0]);
    assert_eq!((result.unchecked, result.block_bytes), (0, Bytes(BLOCK)));
}

#[test]
fn a_write_that_never_arrived_is_lost_or_leaves_an_older_one() {
    let mut bench = Bench::new(workload());
    bench.write(1, Fate::Kept);
    bench.write(5, Fate::Dropped);
    bench.write(6, Fate::Kept);
    bench.write(6, Fate::Dropped);
    let result = bench.check();
    assert_eq!(faults(&result), [1, 1, 0, 0, 1]);
    let said: Vec<(u64, BlockFault, &str)> = result
        .bad
        .iter()
        .map(|bad| (bad.offset_bytes / BLOCK, bad.fault, bad.detail.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (5, BlockFault::Lost, "lost at byte 20480: expected write 2, found only zeros"),
            (
                6,
                BlockFault::Stale,
                "stale at byte 24576: expected write 4, found the older write 3"
            ),
        ]
    );
}

#[test]
fn a_write_to_another_place_is_misplaced_there_and_missed_here() {
    let mut bench = Bench::new(workload());
    bench.write(8, Fate::Kept);
    bench.write(7, Fate::To(8));
    let result = bench.check();
    assert_eq!(faults(&result), [0, 1, 1, 0, 0]);
    let misplaced = result.bad.iter().find(|bad| bad.fault == BlockFault::Misplaced).unwrap();
    assert_eq!(misplaced.offset_bytes, 8 * BLOCK);
    let text = "misplaced at byte 32768: expected write 1, found write 2, which belongs at byte \
                28672";
    assert_eq!(misplaced.detail, text);
}

#[test]
fn half_a_write_is_torn() {
    let mut bench = Bench::new(workload());
    bench.write(2, Fate::Kept);
    bench.write(2, Fate::Half);
    let result = bench.check();
    assert_eq!(faults(&result), [0, 0, 0, 1, 0]);
    assert_eq!(
        result.bad[0].detail,
        "torn at byte 8192: expected write 2, found sectors 0 to 3 of write 2, \
         sectors 4 to 7 of write 1"
    );
}

#[test]
fn of_two_writes_in_flight_at_once_either_may_stay() {
    for order in [[0, 1], [1, 0]] {
        let mut bench = Bench::new(workload());
        let writes = [bench.begin(9), bench.begin(9)];
        for place in order {
            bench.store(9, writes[place], Fate::Kept);
        }
        bench.end(9, writes[0], true);
        bench.end(9, writes[1], true);
        assert_eq!(faults(&bench.check()), [1, 0, 0, 0, 0], "{order:?}");
    }
}

#[test]
fn a_write_that_ended_before_the_last_began_is_stale_also_beside_a_slow_one() {
    // The slow write began first and is still in flight when the last one begins. Both may remain; the one
    // in between may not.
    for (stays, good) in [(0, true), (1, false), (2, true)] {
        let mut bench = Bench::new(workload());
        let slow = bench.begin(9);
        let quick = bench.begin(9);
        bench.end(9, quick, true);
        let last = bench.begin(9);
        bench.store(9, [slow, quick, last][stays], Fate::Kept);
        bench.end(9, last, true);
        bench.end(9, slow, true);
        let result = bench.check();
        assert_eq!((result.good, result.stale), (u64::from(good), u64::from(!good)), "{stays}");
    }
}

#[test]
fn a_later_write_alone_ends_all_doubt() {
    let mut bench = Bench::new(workload());
    let (first, second) = (bench.begin(9), bench.begin(9));
    bench.end(9, second, true);
    bench.end(9, first, false);
    bench.write(9, Fate::Kept);
    bench.write(9, Fate::Dropped);
    assert_eq!(faults(&bench.check()), [0, 0, 0, 0, 1]);
}

#[test]
fn nothing_is_said_of_a_block_whose_write_failed_or_never_came_back() {
    let mut bench = Bench::new(workload());
    let failed = bench.begin(1);
    bench.end(1, failed, false);
    bench.begin(2);
    let result = bench.check();
    assert_eq!(faults(&result), [0; 5]);
    assert_eq!(result.unchecked, 2);
}

#[test]
fn a_block_that_cannot_be_read_is_counted_and_does_not_hide_its_neighbours() {
    let mut bench = Bench::new(workload());
    for block in 10..20 {
        bench.write(block, Fate::Kept);
    }
    let checked = check(bench.log, &bench.disk, &[13]);
    assert_eq!((checked.result.good, checked.result.unchecked), (9, 1));
    assert_eq!(checked.failures.errors, BTreeMap::from([(EIO, 1)]));
    let mut bench = Bench::new(workload());
    bench.write(62, Fate::Kept);
    bench.write(63, Fate::Kept);
    let cut = 63 * BLOCK as usize + 100;
    let checked = check(bench.log, &bench.disk[..cut], &[]);
    assert_eq!((checked.result.good, checked.failures.short), (1, 1), "a file that ends early");
}

#[test]
fn a_large_write_covers_all_of_its_blocks() {
    let mut bench = Bench::new(workload());
    let request = Bench::request(16, 32);
    let generation = bench.log.begin(request);
    for block in 16..48 {
        bench.store(block, generation, if block == 30 { Fate::Dropped } else { Fate::Kept });
    }
    bench.log.end(request, generation, true);
    let result = bench.check();
    assert_eq!(faults(&result), [31, 1, 0, 0, 0]);
    assert_eq!(result.bad[0].offset_bytes, 30 * BLOCK);
}

#[test]
fn a_run_of_reads_holds_all_blocks_against_the_tags_of_an_earlier_run() {
    let mut earlier = Bench::new(workload());
    for block in 0..64 {
        earlier.write(block, Fate::Kept);
    }
    earlier.store(20, 21, Fate::To(22));
    earlier.store(30, 99, Fate::Half);
    earlier.disk[40 * BLOCK as usize..41 * BLOCK as usize].fill(0xAA);
    let reads = Workload { read_percent: 100, ..workload() };
    let result = check(VerifyLog::new(&reads, SEED, 0), &earlier.disk, &[]).result;
    assert_eq!(faults(&result), [61, 1, 1, 1, 0]);
    let other_seed = check(VerifyLog::new(&reads, SEED + 1, 0), &earlier.disk, &[]).result;
    assert_eq!(other_seed.good, 0);
    assert!(other_seed.bad[0].detail.contains("another run"), "{}", other_seed.bad[0].detail);
}

#[test]
fn requests_of_a_sector_have_blocks_of_a_sector() {
    let bs = vec![record::SizeShare { bytes: Bytes(512), percent: 100 }];
    let small = Workload { bs, ..workload() };
    let mut log = VerifyLog::new(&small, SEED, 0);
    let request = Request { offset: 1_536, bytes: 512, op: OpKind::Write };
    let generation = log.begin(request);
    log.end(request, generation, true);
    let mut disk = vec![0; 4_096];
    stamp(&mut disk[1_536..2_048], 1_536, generation, Tags::of(&small, SEED, 0).seed);
    let result = check(log, &disk, &[]).result;
    assert_eq!((faults(&result), result.block_bytes), ([1, 0, 0, 0, 0], Bytes(512)));
}

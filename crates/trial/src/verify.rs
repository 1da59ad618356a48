//! Records what a job wrote, so that it can be read back and checked.
//!
//! A [`VerifyLog`] records for each block of a job's region which write it holds. Jobs that verify use
//! separate regions, so one log knows all writes to its blocks. Writes to one block that were in flight
//! together may reach the device in any order, so any of them is correct. After a write that failed, was
//! short or never completed, the contents of its blocks are unknown until a later write succeeds.
//!
//! The log takes four bytes per block, in pieces allocated when their part of the area is first written. A
//! write costs a load and a store for each of its blocks, at its begin and again at its end. Rejected: a
//! list of all writes (grows with the run), the newest generation alone (reports one of two racing writes
//! as stale), and checking each read during the run (adds to the latency).
//!
//! A read-only run compares its blocks with the tags that an earlier run with the same seed left.

use crate::Failures;
use engine::AlignedMemory;
use engine::tag::{Reading, Tag, Tags, read};
use record::{BadBlock, BlockFault, Bytes, VerifyResult, Workload};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use workload::{Region, Request};

const LEAF_BLOCKS: usize = 1_024;
/// Set in a block's word while a write to it is in flight.
const IN_FLIGHT: u32 = 1 << 31;
/// Set where [`VerifyLog::overlaps`] says what the block may hold.
const OVERLAP: u32 = 1 << 30;
/// The part of a generation that a word holds. Two writes to a block are confused only if about 2^30 (a
/// thousand million) writes lie between them, or a multiple.
const GENERATION: u64 = (1 << 30) - 1;
const BATCH_BYTES: usize = 256 << 10;
/// Maximum number of bad blocks that are described.
const DESCRIBED: usize = 16;

/// A block with overlapping writes, or with a failed write.
#[derive(Debug, Default)]
struct Overlap {
    in_flight: Vec<u32>,
    /// Generations that it may hold.
    acceptable: Vec<u32>,
    /// Whether it may hold anything.
    uncertain: bool,
}

/// Fills memory from an offset of the target: the bytes read, or the error number.
pub type ReadBlocks<'a> = dyn FnMut(u64, &mut [u8]) -> Result<usize, i32> + 'a;

/// Result of reading back.
#[derive(Debug, Default)]
pub struct Checked {
    /// The result for the document.
    pub result: VerifyResult,
    /// Reads that failed or ended early.
    pub failures: Failures,
}

impl Checked {
    /// Adds the result of another job.
    pub fn merge(&mut self, other: Self) {
        let (mine, theirs) = (&mut self.result, other.result);
        mine.good += theirs.good;
        mine.lost += theirs.lost;
        mine.misplaced += theirs.misplaced;
        mine.torn += theirs.torn;
        mine.stale += theirs.stale;
        mine.unchecked += theirs.unchecked;
        mine.block_bytes = mine.block_bytes.max(theirs.block_bytes);
        mine.bad.extend(theirs.bad);
        mine.bad.truncate(DESCRIBED);
        self.failures.merge(&other.failures);
    }

    fn bad(&mut self, offset: u64, fault: BlockFault, wanted: &str, found: &str) {
        let result = &mut self.result;
        *match fault {
            BlockFault::Lost => &mut result.lost,
            BlockFault::Misplaced => &mut result.misplaced,
            BlockFault::Torn => &mut result.torn,
            BlockFault::Stale => &mut result.stale,
        } += 1;
        if result.bad.len() < DESCRIBED {
            let name = fault_name(fault);
            let detail = format!("{name} at byte {offset}: {wanted}, found {found}");
            result.bad.push(BadBlock { offset_bytes: offset, fault, detail });
        }
    }
}

pub(crate) fn fault_name(fault: BlockFault) -> &'static str {
    match fault {
        BlockFault::Lost => "lost",
        BlockFault::Misplaced => "misplaced",
        BlockFault::Torn => "torn",
        BlockFault::Stale => "stale",
    }
}

/// The expected contents of a block.
enum Expected<'a> {
    /// Never written: not read back.
    Untouched,
    /// Any data.
    Unknown,
    /// One of these writes, by the stored part of their generations; the last one began last.
    OneOf(&'a [u32]),
    /// Any write of an earlier run.
    AnyWrite,
}

/// The blocks of one job and the writes that they hold.
#[derive(Debug)]
pub struct VerifyLog {
    tags: Tags,
    region: Region,
    /// The job that owns these blocks.
    pub(crate) job: u32,
    /// The run writes nothing: all blocks must already have tags.
    reads_only: bool,
    generation: u64,
    leaves: Vec<Option<Box<[u32; LEAF_BLOCKS]>>>,
    overlaps: HashMap<u64, Overlap>,
}

impl VerifyLog {
    /// The log of a job (0 to `numjobs - 1`) of a run with this seed.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64, job: u32) -> Self {
        Self {
            tags: Tags::of(workload, seed, job),
            region: Region::of(workload, job),
            job,
            reads_only: !workload.writes(),
            generation: 0,
            leaves: Vec::new(),
            overlaps: HashMap::new(),
        }
    }

    /// Records that a write is about to be handed over; returns its generation for [`engine::Submission`].
    #[inline]
    pub fn begin(&mut self, request: Request) -> u64 {
        self.generation += 1;
        if self.generation & GENERATION == 0 {
            // Zero in a word means never written.
            self.generation += 1;
        }
        let generation = (self.generation & GENERATION) as u32;
        for block in self.blocks(request) {
            let word = self.word(block);
            let before = *word;
            *word = generation | IN_FLIGHT | (before & OVERLAP);
            if before & (IN_FLIGHT | OVERLAP) != 0 {
                self.begin_overlap(block, before, generation);
            }
        }
        self.generation
    }

    /// Records that a write completed, in full or not.
    #[inline]
    pub fn end(&mut self, request: Request, generation: u64, completed: bool) {
        let generation = (generation & GENERATION) as u32;
        for block in self.blocks(request) {
            let word = self.word(block);
            if *word & OVERLAP == 0 && completed {
                *word &= !IN_FLIGHT;
            } else {
                self.end_overlap(block, generation, completed);
            }
        }
    }

    #[cold]
    fn begin_overlap(&mut self, block: u64, before: u32, generation: u32) {
        if before & IN_FLIGHT == 0 {
            // The other writes have ended: from here only this one counts.
            self.overlaps.remove(&block);
            *self.word(block) = generation | IN_FLIGHT;
            return;
        }
        let first = before & GENERATION as u32;
        let overlap = self
            .overlaps
            .entry(block)
            .or_insert_with(|| Overlap { in_flight: vec![first], ..Overlap::default() });
        overlap.in_flight.push(generation);
        overlap.acceptable.clone_from(&overlap.in_flight);
        *self.word(block) |= OVERLAP;
    }

    #[cold]
    fn end_overlap(&mut self, block: u64, generation: u32, completed: bool) {
        let overlap = self.overlaps.entry(block).or_default();
        overlap.in_flight.retain(|&other| other != generation);
        overlap.uncertain |= !completed;
        let over = overlap.in_flight.is_empty();
        let word = self.word(block);
        *word |= OVERLAP;
        if over {
            *word &= !IN_FLIGHT;
        }
    }

    /// Number of blocks that any write was started to.
    #[must_use]
    pub fn written(&self) -> u64 {
        let words = self.leaves.iter().flatten().flat_map(|leaf| leaf.iter());
        words.filter(|&&word| word != 0).count() as u64
    }

    /// The numbers of a request's blocks, from the region's start.
    #[inline]
    fn blocks(&self, request: Request) -> std::ops::Range<u64> {
        let block = u64::from(self.tags.block_bytes);
        let start = request.offset.saturating_sub(self.region.start);
        debug_assert!(
            request.offset >= self.region.start && start.is_multiple_of(block),
            "a request outside of its region's blocks"
        );
        start / block..(start + u64::from(request.bytes)) / block
    }

    #[inline]
    fn word(&mut self, block: u64) -> &mut u32 {
        let (leaf, place) = (block as usize / LEAF_BLOCKS, block as usize % LEAF_BLOCKS);
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        &mut self.leaves[leaf].get_or_insert_with(|| Box::new([0; LEAF_BLOCKS]))[place]
    }

    /// Reads back every written block by `read`, and checks it. Ends early when `stop` is set.
    #[must_use]
    pub fn check(self, stop: &AtomicBool, read: &mut ReadBlocks<'_>) -> Checked {
        let block = u64::from(self.tags.block_bytes);
        let mut checked = Checked::default();
        checked.result.block_bytes = Bytes(block);
        let mut memory = AlignedMemory::default();
        let memory = memory.get(BATCH_BYTES);
        let end = if self.reads_only {
            self.region.length / block
        } else {
            (self.leaves.len() * LEAF_BLOCKS) as u64
        };
        let mut next = 0;
        while next < end && !stop.load(Ordering::Relaxed) {
            let most = end.min(next + BATCH_BYTES as u64 / block);
            let looked_at = |number: &u64| !matches!(self.expected(*number), Expected::Untouched);
            let run = (next..most).take_while(looked_at).count() as u64;
            if run == 0 {
                // Skip a piece of the table that was never allocated.
                let leaf = next as usize / LEAF_BLOCKS;
                let made = self.leaves.get(leaf).is_some_and(Option::is_some);
                next = if made { next + 1 } else { ((leaf + 1) * LEAF_BLOCKS) as u64 };
                continue;
            }
            self.check_run(next..next + run, memory, read, &mut checked);
            next += run;
        }
        checked
    }

    /// Reads adjacent blocks in one call. If that fails, reads them one by one, so that a bad block does
    /// not hide its neighbours.
    fn check_run(
        &self,
        run: std::ops::Range<u64>,
        memory: &mut [u8],
        read: &mut ReadBlocks<'_>,
        checked: &mut Checked,
    ) {
        let block = self.tags.block_bytes as usize;
        let offset = |number: u64| self.region.start + number * block as u64;
        let length = (run.end - run.start) as usize * block;
        let whole = read(offset(run.start), &mut memory[..length]) == Ok(length);
        for number in run.clone() {
            let mut place = (number - run.start) as usize * block;
            if !whole {
                // A single block goes to the start of the memory, which is aligned.
                place = 0;
                match read(offset(number), &mut memory[..block]) {
                    Ok(bytes) if bytes == block => {}
                    outcome => {
                        checked.result.unchecked += 1;
                        checked.failures.add(outcome.map_or_else(|errno| -errno, |_| 0));
                        continue;
                    }
                }
            }
            self.judge(number, offset(number), &memory[place..place + block], checked);
        }
    }

    fn expected(&self, number: u64) -> Expected<'_> {
        if self.reads_only {
            return Expected::AnyWrite;
        }
        let (leaf, place) = (number as usize / LEAF_BLOCKS, number as usize % LEAF_BLOCKS);
        let Some(leaf) = self.leaves.get(leaf).and_then(Option::as_ref) else {
            return Expected::Untouched;
        };
        match leaf[place] {
            0 => Expected::Untouched,
            word if word & IN_FLIGHT != 0 => Expected::Unknown,
            word if word & OVERLAP != 0 => match self.overlaps.get(&number) {
                Some(overlap) if !overlap.uncertain => Expected::OneOf(&overlap.acceptable),
                _ => Expected::Unknown,
            },
            _ => Expected::OneOf(std::slice::from_ref(&leaf[place])),
        }
    }

    fn judge(&self, number: u64, offset: u64, content: &[u8], checked: &mut Checked) {
        let writes = match self.expected(number) {
            Expected::Untouched => return,
            Expected::Unknown => {
                checked.result.unchecked += 1;
                return;
            }
            Expected::AnyWrite => None,
            Expected::OneOf(writes) => Some(writes),
        };
        let acceptable = |generation: u64| {
            writes.is_none_or(|writes| writes.contains(&((generation & GENERATION) as u32)))
        };
        let (fault, found) = match read(content, offset, self.tags.seed) {
            Reading::Absent if content.iter().all(|&byte| byte == 0) => {
                (BlockFault::Lost, "only zeros".to_owned())
            }
            Reading::Absent => (BlockFault::Lost, "a block without a tag".to_owned()),
            Reading::Torn(parts) => (BlockFault::Torn, parts),
            Reading::Whole(tag) if tag.seed != self.tags.seed => {
                (BlockFault::Lost, "the tag of another run".to_owned())
            }
            Reading::Whole(Tag { offset: other, generation, .. }) if other != offset => (
                BlockFault::Misplaced,
                format!(
                    "write {generation}, which belongs at byte \
                                                 {other}"
                ),
            ),
            Reading::Whole(Tag { generation, .. }) if acceptable(generation) => {
                checked.result.good += 1;
                return;
            }
            Reading::Whole(Tag { generation, .. }) => {
                (BlockFault::Stale, format!("the older write {generation}"))
            }
        };
        let wanted = match writes.and_then(<[u32]>::last) {
            Some(last) => format!("expected write {last}"),
            None => "expected a tag from a run with this seed".to_owned(),
        };
        checked.bad(offset, fault, &wanted, &found);
    }
}

//! What a job wrote, kept so that it can be read back and judged.
//!
//! A [`VerifyLog`] keeps for each block of a job's region which write it holds. Jobs that verify keep to
//! regions of their own, so one log knows all writes to its blocks. Writes to one block that were in
//! flight together may have reached the device in any order: each of them is as right as the last. A
//! write that failed, came back short or never came back leaves blocks of which nothing can be said,
//! until a later one succeeds.
//!
//! Four bytes a block, in pieces that are made when their part of the area is first written; a write
//! costs a load and a store for each of its blocks at its begin and at its end. Rejected: a list of all
//! writes (grows with the run), the newest generation alone (calls one of two racing writes stale), and
//! checking each read during the run (the work would be in the latency).
//!
//! A run that only reads compares its blocks with the tags that an earlier run of the same seed left.

use crate::Failures;
use engine::tag::{Reading, Tag, Tags, read};
use record::{BadBlock, BlockFault, Bytes, VerifyResult, Workload};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use workload::{Region, Request};

/// Blocks of one piece of the table.
const LEAF_BLOCKS: usize = 1_024;
/// Set in a block's word while a write to it is in flight.
const IN_FLIGHT: u32 = 1 << 31;
/// Set where [`VerifyLog::overlaps`] says what the block may hold.
const OVERLAP: u32 = 1 << 30;
/// The part of a generation that a word holds. Two writes of one block that lie a thousand million
/// writes apart look alike, one in as many pairs.
const GENERATION: u64 = (1 << 30) - 1;
/// Longest piece that is read back at once.
const BATCH_BYTES: usize = 256 << 10;
/// What memory for reads past the page cache is aligned to.
const PAGE_BYTES: usize = 4_096;
/// Bad blocks that are described.
const DESCRIBED: usize = 16;

/// A block to which writes overlapped, or one of them failed.
#[derive(Debug, Default)]
struct Overlap {
    in_flight: Vec<u32>,
    /// What it may hold, any of them.
    acceptable: Vec<u32>,
    /// It may hold anything.
    uncertain: bool,
}

/// Fills memory from an offset of the target: the bytes read, or the error number.
pub type ReadBlocks<'a> = dyn FnMut(u64, &mut [u8]) -> Result<usize, i32> + 'a;

/// What reading back came to.
#[derive(Debug, Default)]
pub struct Checked {
    /// For the document.
    pub result: VerifyResult,
    /// Reads that failed or ended early.
    pub failures: Failures,
}

impl Checked {
    /// Adds what the blocks of another job came to.
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

/// What a block should hold.
enum Expected<'a> {
    /// Never written: not looked at.
    Untouched,
    /// Anything.
    Unknown,
    /// One of these writes, by the part of their generations that is kept; the last began last.
    OneOf(&'a [u32]),
    /// Some write of an earlier run.
    AnyWrite,
}

/// The blocks of one job and the writes that they hold.
#[derive(Debug)]
pub struct VerifyLog {
    tags: Tags,
    region: Region,
    /// The job whose blocks these are.
    pub(crate) job: u32,
    /// Nothing is written: all blocks are expected to be tagged already.
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

    /// A write is about to be handed over: its generation, for [`engine::Submission`].
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

    /// A write came back: in full, or not.
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
            // The others are over: only this one counts from now on.
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

    /// Blocks that writes were begun to.
    #[must_use]
    pub fn written(&self) -> u64 {
        let words = self.leaves.iter().flatten().flat_map(|leaf| leaf.iter());
        words.filter(|&&word| word != 0).count() as u64
    }

    /// The numbers, from the region's start, of a request's blocks.
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

    /// Reads every block back that was written, by `read`, and judges it. Ends early when `stop` is set.
    #[must_use]
    pub fn check(self, stop: &AtomicBool, read: &mut ReadBlocks<'_>) -> Checked {
        let block = u64::from(self.tags.block_bytes);
        let mut checked = Checked::default();
        checked.result.block_bytes = Bytes(block);
        let mut memory = vec![0u8; BATCH_BYTES + PAGE_BYTES];
        let aligned = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let memory = &mut memory[aligned..aligned + BATCH_BYTES];
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
                // A piece of the table that was never made is skipped whole.
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

    /// Reads adjacent blocks at once, and one by one where that fails, so that a bad one does not
    /// hide its neighbours.
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
                // Alone, it goes to the start of the memory, which is aligned.
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

//! Tags written blocks, so that a block that is read back shows which write it came from.
//!
//! A tagged block starts with a header (mark, offset, generation, seed, checksum). Each further sector starts
//! with a word that contains the generation, combined with offset and seed. Disks guarantee at most that a
//! sector is written atomically. In a torn block, those words show the generations of its parts. The checksum
//! covers everything else in the block: 64 bits of folded products.
//!
//! The checksum is computed from one hash per sector content. A writer whose content comes from a ring of
//! fixed random data knows these hashes in advance ([`crate::Buffers`]), so a tag costs about ten
//! multiplications for 4 KiB. Rejected: a checksum over the block as written (a pass over its memory), CRC32C
//! (32 bits; needs an instruction that a portable build cannot assume), and a full tag per sector (twelve
//! times as many non-random bytes per block).

use crate::Request;
use record::Workload;
use workload::{area_and_rank, derive_seed};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 40;
/// Maximum number of bytes that a disk writes atomically.
pub const SECTOR_BYTES: usize = 512;
/// Length of a tagged block if the request sizes allow it.
const BLOCK_BYTES: u32 = 4_096;
/// "halfpwr1": the first word of every header.
const MARK: u64 = u64::from_le_bytes(*b"halfpwr1");
/// Upper bound of a generation in a sector's word: more than any run writes. Of 2^24 sectors of other data,
/// only one looks valid by chance.
const GENERATIONS: u64 = 1 << 40;
/// Odd constants of the hash (wyhash's, by Wang Yi).
const KEYS: [u64; 4] =
    [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];
/// Separates these seeds from those of streams and data.
const TAG_SEEDS: u64 = 2 << 32;

/// Common part of the tags of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Length of a tagged block: 4096, or 512 if request sizes are not multiples of that.
    pub block_bytes: u32,
    /// Part of every header. It distinguishes runs, and targets with the same offsets.
    pub seed: u64,
}

/// Blocks of 4 KiB, and no run.
impl Default for Tags {
    fn default() -> Self {
        Self { block_bytes: BLOCK_BYTES, seed: 0 }
    }
}

impl Tags {
    /// The tags for a job of a run. Jobs that share a target share its tags, so that a run with another
    /// number of jobs can read them.
    #[must_use]
    pub fn of(workload: &Workload, seed: u64, job: u32) -> Self {
        let (target, _) = area_and_rank(workload, job);
        let strides = workload.stride_bytes.iter().map(|bytes| bytes.0);
        let mut lengths = workload.bs.iter().map(|share| share.bytes.0).chain(strides);
        let whole = lengths.all(|length| length.is_multiple_of(u64::from(BLOCK_BYTES)));
        Self {
            block_bytes: if whole { BLOCK_BYTES } else { SECTOR_BYTES as u32 },
            seed: derive_seed(seed, TAG_SEEDS + u64::from(target)),
        }
    }
}

/// Content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Intended position of the block, in bytes from the start of the target.
    pub offset: u64,
    /// Number of the write within its job, from 1.
    pub generation: u64,
    /// Seed of its run ([`Tags::seed`]).
    pub seed: u64,
}

/// What a block contained when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// No tag or part of one.
    Absent,
    /// A complete block from one write, possibly for another offset.
    Whole(Tag),
    /// Parts of several writes, or content that does not match its checksum; with a description.
    Torn(String),
}

/// Combines the high and the low half of a product.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The word at the start of sector `index` of a block, except the first sector.
#[inline]
fn sector_word(tag: &Tag, index: usize) -> u64 {
    let place = tag.offset.wrapping_add((index * SECTOR_BYTES) as u64);
    tag.generation ^ fold(place ^ KEYS[2], tag.seed ^ KEYS[3])
}

#[inline]
fn word(bytes: &[u8], start: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[start..start + 8]);
    u64::from_le_bytes(word)
}

/// Start of a sector's content, after the header or its word.
fn content_start(index: usize) -> usize {
    if index == 0 { HEADER_BYTES } else { 8 }
}

/// Hash of the content of sector `index`, after the header or its word.
pub(crate) fn sector_hash(sector: &[u8], index: usize) -> u64 {
    let content = &sector[content_start(index)..];
    let (mut sum, mut position) = (0u64, 0u64);
    let mut pairs = content.chunks_exact(16);
    for pair in &mut pairs {
        position = position.wrapping_add(KEYS[0]);
        let product = fold(word(pair, 0) ^ position ^ KEYS[1], word(pair, 8) ^ position ^ KEYS[2]);
        sum = sum.wrapping_add(product);
    }
    if pairs.remainder().len() >= 8 {
        sum = sum.wrapping_add(fold(word(pairs.remainder(), 0) ^ KEYS[3], KEYS[1]));
    }
    sum
}

/// The checksum of a block with this tag and these sector hashes.
#[inline]
fn checksum(tag: &Tag, hashes: &[u64]) -> u64 {
    let start = fold(tag.offset ^ KEYS[0], tag.generation ^ KEYS[1]) ^ fold(tag.seed, KEYS[2]);
    hashes.iter().fold(start, |sum, hash| fold(sum ^ hash, KEYS[3] ^ sum.rotate_left(32)))
}

/// Writes the tag into a block whose content has these hashes.
#[inline]
pub(crate) fn stamp_hashed(block: &mut [u8], tag: &Tag, hashes: &[u64]) {
    let header = [MARK, tag.offset, tag.generation, tag.seed, checksum(tag, hashes)];
    for (place, word) in block.chunks_exact_mut(8).zip(header) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    for (index, sector) in block.chunks_exact_mut(SECTOR_BYTES).enumerate().skip(1) {
        sector[..8].copy_from_slice(&sector_word(tag, index).to_le_bytes());
    }
}

fn hashes(block: &[u8]) -> Vec<u64> {
    let sectors = block.chunks_exact(SECTOR_BYTES).enumerate();
    sectors.map(|(index, sector)| sector_hash(sector, index)).collect()
}

/// Tags a block, whose length is a multiple of [`SECTOR_BYTES`]; overwrites 40 bytes at its start
/// and 8 at the start of each further sector.
pub fn stamp(block: &mut [u8], offset: u64, generation: u64, seed: u64) {
    debug_assert!(!block.is_empty() && block.len().is_multiple_of(SECTOR_BYTES));
    let hashes = hashes(block);
    stamp_hashed(block, &Tag { offset, generation, seed }, &hashes);
}

/// Tags every block of a write. `content` has the request's bytes, and `hashes` those of its sectors in
/// order.
pub(crate) fn stamp_request(
    content: &mut [u8],
    request: &Request,
    generation: u64,
    tags: Tags,
    hashes: &[u64],
) {
    let length = tags.block_bytes as usize;
    let sectors = length / SECTOR_BYTES;
    let blocks = content.chunks_exact_mut(length).zip(hashes.chunks_exact(sectors));
    for (index, (block, hashes)) in blocks.enumerate() {
        let offset = request.offset + (index * length) as u64;
        stamp_hashed(block, &Tag { offset, generation, seed: tags.seed }, hashes);
    }
}

/// Decodes a block that was read at `offset` and should belong to the run with this `seed`.
#[must_use]
pub fn read(block: &[u8], offset: u64, seed: u64) -> Reading {
    let header = (word(block, 0) == MARK).then(|| Tag {
        offset: word(block, 8),
        generation: word(block, 16),
        seed: word(block, 24),
    });
    if let Some(tag) = header {
        let sectors = block.chunks_exact(SECTOR_BYTES).enumerate().skip(1);
        let one = sectors.into_iter().all(|(i, sector)| word(sector, 0) == sector_word(&tag, i));
        if one && word(block, 32) == checksum(&tag, &hashes(block)) {
            return Reading::Whole(tag);
        }
    }
    let parts = parts(block, header, offset, seed);
    if parts.iter().all(Option::is_none) && header.is_none() {
        return Reading::Absent;
    }
    Reading::Torn(describe(&parts))
}

/// The write that each sector came from, as far as it is known.
fn parts(block: &[u8], header: Option<Tag>, offset: u64, seed: u64) -> Vec<Option<u64>> {
    let expected = Tag { offset, generation: 0, seed };
    let sectors = block.chunks_exact(SECTOR_BYTES).enumerate();
    let part = |(index, sector): (usize, &[u8])| {
        if index == 0 {
            let here = header.filter(|tag| tag.offset == offset && tag.seed == seed);
            return here.map(|tag| tag.generation);
        }
        let generation = word(sector, 0) ^ sector_word(&expected, index);
        (1..GENERATIONS).contains(&generation).then_some(generation)
    };
    sectors.map(part).collect()
}

/// Describes the parts: "sectors 0 to 3 are of write 7, 4 to 7 of write 5".
fn describe(parts: &[Option<u64>]) -> String {
    let name = |part: &Option<u64>| match part {
        Some(generation) => format!("of write {generation}"),
        None => "of an unknown write".to_owned(),
    };
    if let [first, rest @ ..] = parts
        && rest.iter().all(|part| part == first)
    {
        return format!("sectors {}, which do not match the checksum", name(first));
    }
    let mut texts = Vec::new();
    let mut start = 0;
    for run in parts.chunk_by(PartialEq::eq) {
        let end = start + run.len() - 1;
        let place = if start == end { start.to_string() } else { format!("{start} to {end}") };
        texts.push(format!("sectors {place} {}", name(&run[0])));
        start = end + 1;
    }
    texts.join(", ")
}

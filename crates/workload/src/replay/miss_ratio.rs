//! Computes the share of recorded reads that a page cache of each size would have served, if it keeps the
//! most recently used pages.
//!
//! A page is in such a cache if fewer other pages than the cache's capacity were used since the page's last
//! use. This number is counted for a sample of the pages: those whose hash is below a bound. Each sampled
//! page represents a fixed number of pages. When the sample exceeds its maximum size, the bound decreases and
//! pages leave it (SHARDS with a fixed size; Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC
//! Construction with SHARDS", FAST 2015). Writes fill the cache like reads, but the result counts only reads.
//! Rejected: a stack of all pages, which takes memory for every page ever used.

use record::{Bytes, CachePoint, OpKind, RecordedRequest};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const PAGE_BYTES: u64 = 4_096;
/// Maximum number of pages in the sample.
const SAMPLE: usize = 16_384;
/// Number of possible hashes.
const HASHES: u64 = 1 << 24;
/// Smallest size of the curve; the others are larger powers of two.
const SMALLEST: u64 = 1 << 20;

/// The curve up to the first size that holds all pages; empty without reads.
pub(crate) fn curve(requests: &[RecordedRequest]) -> Vec<CachePoint> {
    let mut sample = Sample::new();
    for request in requests {
        let first = request.offset / PAGE_BYTES;
        let last = (request.offset + u64::from(request.bytes)).div_ceil(PAGE_BYTES);
        for page in first..last.max(first + 1) {
            sample.use_page(u64::from(request.device) << 48 | page, request.op);
        }
    }
    sample.curve()
}

struct Sample {
    /// Pages with a smaller hash belong to the sample.
    bound: u64,
    /// Time of each page's last use, and its hash.
    last: HashMap<u64, (u64, u64)>,
    /// The times of the last uses, for counting from the newest.
    times: Fenwick,
    /// Hash and page of all sampled pages, for removing the largest hash.
    by_hash: BTreeSet<(u64, u64)>,
    now: u64,
    /// Reads by the number of pages used since the last use.
    distances: BTreeMap<u64, f64>,
    /// Number of page reads that the sample represents.
    reads: f64,
}

/// Counts at increasing times, with sums from a given time on.
struct Fenwick {
    sums: Vec<i32>,
}

impl Fenwick {
    fn add(&mut self, at: u64, change: i32) {
        let mut index = at as usize + 1;
        while index < self.sums.len() {
            self.sums[index] += change;
            index += index & index.wrapping_neg();
        }
    }

    fn up_to(&self, at: u64) -> i32 {
        let mut index = at as usize + 1;
        let mut sum = 0;
        while index > 0 {
            sum += self.sums[index];
            index -= index & index.wrapping_neg();
        }
        sum
    }
}

/// Number of times that fit before they are renumbered.
const TIMES: usize = 1 << 18;

impl Sample {
    fn new() -> Self {
        Self {
            bound: HASHES,
            last: HashMap::new(),
            times: Fenwick { sums: vec![0; TIMES + 1] },
            by_hash: BTreeSet::new(),
            now: 0,
            distances: BTreeMap::new(),
            reads: 0.0,
        }
    }

    fn use_page(&mut self, page: u64, op: OpKind) {
        let hash = mixed(page) % HASHES;
        if hash >= self.bound {
            return;
        }
        if self.now as usize >= TIMES {
            self.count_times_anew();
        }
        let weight = HASHES as f64 / self.bound as f64;
        let known = self.last.insert(page, (self.now, hash));
        if op == OpKind::Read {
            self.reads += weight;
            if let Some((then, _)) = known {
                let since = self.last.len() as i32 - self.times.up_to(then);
                let distance = f64::from(since.max(0)) * weight;
                *self.distances.entry(distance as u64).or_default() += weight;
            }
        }
        if let Some((then, _)) = known {
            self.times.add(then, -1);
        } else {
            self.by_hash.insert((hash, page));
        }
        self.times.add(self.now, 1);
        self.now += 1;
        while self.by_hash.len() > SAMPLE {
            let Some((hash, page)) = self.by_hash.pop_last() else { return };
            self.bound = hash;
            if let Some((then, _)) = self.last.remove(&page) {
                self.times.add(then, -1);
            }
        }
    }

    /// Renumbers the last uses from zero, in their order.
    fn count_times_anew(&mut self) {
        let mut pages: Vec<(u64, u64)> =
            self.last.iter().map(|(&page, &(then, _))| (then, page)).collect();
        pages.sort_unstable();
        self.times.sums.fill(0);
        for ((_, page), time) in pages.iter().zip(0..) {
            if let Some(entry) = self.last.get_mut(page) {
                entry.0 = time;
            }
            self.times.add(time, 1);
        }
        self.now = pages.len() as u64;
    }

    fn curve(self) -> Vec<CachePoint> {
        if self.reads == 0.0 {
            return Vec::new();
        }
        let largest = self.distances.keys().next_back().map_or(0, |pages| (pages + 1) * PAGE_BYTES);
        let mut points = Vec::new();
        let mut bytes = SMALLEST;
        loop {
            let pages = bytes / PAGE_BYTES;
            let hits: f64 = self.distances.range(..pages).map(|(_, count)| count).sum();
            points.push(CachePoint { bytes: Bytes(bytes), read_hit_share: hits / self.reads });
            if bytes >= largest {
                return points;
            }
            bytes *= 2;
        }
    }
}

/// A hash of a page number (the finaliser of SplitMix64).
fn mixed(page: u64) -> u64 {
    let mut z = page.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

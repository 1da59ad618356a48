//! The request stream of one job: an endless, seeded sequence of offsets, sizes and operations.
//!
//! A stream fills slices of descriptors ahead of the job's loop, so that patterns cost the loop
//! nothing and do not multiply its code. The sequence does not depend on the slice lengths.
//!
//! - Sequential: each job has a region of its own (the area in equal parts) and starts at a
//!   position drawn from the seed, so that repeats do not re-read the same first blocks out of
//!   some cache below; it wraps at the region's end. In a mix, reads and writes have a cursor
//!   each, as fio has.
//! - Random: uniform over all positions of the area aligned to the smallest request size.
//! - Hit: one sequential pass over the hit area at its start, so that it was just read, then
//!   random within it.

use crate::rng::{Rng, derive_seed};
use record::{OpKind, Pattern, Workload};

/// One read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Byte offset in the target.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Read or write.
    pub op: OpKind,
}

/// A request size with what drawing it needs.
#[derive(Clone, Copy, Debug)]
struct SizeClass {
    bytes: u32,
    /// Shares of this and all earlier classes, 1 to 100.
    percent_below: u64,
    /// Number of aligned positions at which a request of this size fits.
    positions: u64,
}

/// The requests of one job.
#[derive(Clone, Debug)]
pub struct RequestStream {
    rng: Rng,
    pattern: Pattern,
    read_percent: u64,
    sizes: Vec<SizeClass>,
    /// Distance between positions: the smallest request size.
    unit: u64,
    /// Start and end of the job's region.
    start: u64,
    end: u64,
    /// Next sequential offset per operation (reads, writes).
    cursors: [u64; 2],
    /// Bytes of the first pass over a hit area that are still to come.
    first_pass: u64,
}

impl RequestStream {
    /// The stream of job `job` (0 to `numjobs - 1`).
    ///
    /// # Panics
    /// If the workload was not built by this crate's rules (a region shorter than a request).
    #[must_use]
    pub fn new(workload: &Workload, seed: u64, job: u32) -> Self {
        let mut rng = Rng::new(derive_seed(seed, u64::from(job)));
        let unit = workload.bs.iter().map(|share| share.bytes.0).min().unwrap_or(0);
        let largest = workload.max_bs().0;
        let area = workload.size_bytes.0;
        let (start, length) = match workload.pattern {
            Pattern::Sequential => {
                let region = area / u64::from(workload.numjobs) / unit * unit;
                (workload.offset_bytes.0 + region * u64::from(job), region)
            }
            Pattern::Random => (workload.offset_bytes.0, area),
            Pattern::Hit => {
                (workload.offset_bytes.0, workload.hit_bytes.map_or(area, |bytes| bytes.0))
            }
        };
        assert!(unit > 0 && length >= largest, "a job's region holds at least one request");
        let mut percent_below = 0;
        let sizes = workload
            .bs
            .iter()
            .map(|share| {
                percent_below += u64::from(share.percent);
                let bytes = u32::try_from(share.bytes.0).unwrap_or(u32::MAX);
                let positions = (length - share.bytes.0) / unit + 1;
                SizeClass { bytes, percent_below, positions }
            })
            .collect();
        let cursor = match workload.pattern {
            Pattern::Sequential => start + rng.below((length - largest) / unit + 1) * unit,
            Pattern::Random | Pattern::Hit => start,
        };
        let first_pass = if workload.pattern == Pattern::Hit { length } else { 0 };
        Self {
            rng,
            pattern: workload.pattern,
            read_percent: u64::from(workload.read_percent),
            sizes,
            unit,
            start,
            end: start + length,
            cursors: [cursor; 2],
            first_pass,
        }
    }

    /// Replaces all of `batch` by the next requests.
    pub fn fill(&mut self, batch: &mut [Request]) {
        for request in batch {
            *request = self.next_request();
        }
    }

    fn next_request(&mut self) -> Request {
        let op = match self.read_percent {
            100 => OpKind::Read,
            0 => OpKind::Write,
            percent if self.rng.below(100) < percent => OpKind::Read,
            _ => OpKind::Write,
        };
        let size = self.draw_size();
        let offset = if self.pattern == Pattern::Sequential || self.first_pass > 0 {
            self.first_pass = self.first_pass.saturating_sub(u64::from(size.bytes));
            self.advance(op, u64::from(size.bytes))
        } else {
            self.start + self.rng.below(size.positions) * self.unit
        };
        Request { offset, bytes: size.bytes, op }
    }

    fn draw_size(&mut self) -> SizeClass {
        if self.sizes.len() == 1 {
            return self.sizes[0];
        }
        let draw = self.rng.below(100);
        let position = self.sizes.iter().position(|size| draw < size.percent_below);
        self.sizes[position.unwrap_or(self.sizes.len() - 1)]
    }

    /// The cursor's offset, and the cursor moved past `bytes`.
    fn advance(&mut self, op: OpKind, bytes: u64) -> u64 {
        let cursor = &mut self.cursors[op as usize];
        if *cursor + bytes > self.end {
            *cursor = self.start;
        }
        let offset = *cursor;
        *cursor += bytes;
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use record::{Bytes, SizeShare};

    fn requests(workload: &Workload, seed: u64, job: u32, count: usize) -> Vec<Request> {
        let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
        let mut batch = vec![empty; count];
        RequestStream::new(workload, seed, job).fill(&mut batch);
        batch
    }

    fn workload(change: impl FnOnce(&mut Spec)) -> Workload {
        let mut spec = Spec::default();
        change(&mut spec);
        spec.build(Bytes(1 << 20)).unwrap()
    }

    #[test]
    fn the_sequence_depends_on_seed_job_and_workload_alone() {
        let random = workload(|_| ());
        assert_eq!(requests(&random, 7, 0, 500), requests(&random, 7, 0, 500));
        assert_ne!(requests(&random, 7, 0, 500), requests(&random, 8, 0, 500));
        assert_ne!(requests(&random, 7, 0, 500), requests(&random, 7, 1, 500));
        let mut pieces = Vec::new();
        let mut stream = RequestStream::new(&random, 7, 0);
        for length in [1, 2, 3, 94, 400] {
            let mut piece =
                vec![pieces.first().copied().unwrap_or(requests(&random, 7, 0, 1)[0]); length];
            stream.fill(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces, requests(&random, 7, 0, 500));
    }

    #[test]
    fn these_first_requests_never_change_between_versions() {
        let offsets: Vec<u64> =
            requests(&workload(|_| ()), 1, 0, 4).iter().map(|r| r.offset / 4096).collect();
        assert_eq!(offsets, FIRST_RANDOM_BLOCKS);
    }
    const FIRST_RANDOM_BLOCKS: [u64; 4] = [20, 39, 68, 235];

    #[test]
    fn random_requests_cover_all_aligned_positions_evenly() {
        let blocks = 256;
        let draws = 256 * 400;
        let mut counts = vec![0u32; blocks];
        for request in requests(&workload(|_| ()), 3, 0, draws) {
            assert_eq!(request.offset % 4096, 0);
            counts[(request.offset / 4096) as usize] += 1;
        }
        let expected = draws as f64 / blocks as f64;
        let chi_square: f64 =
            counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6; 1 in 10,000 beyond 345.
        assert!((170.0..345.0).contains(&chi_square), "chi-square {chi_square}");
    }

    #[test]
    fn sequential_jobs_cover_their_own_region_once_per_pass() {
        let sequential = workload(|spec| {
            spec.pattern = Pattern::Sequential;
            spec.numjobs = 4;
        });
        let mut seen = std::collections::BTreeSet::new();
        for job in 0..4 {
            let pass = requests(&sequential, 5, job, 64);
            for pair in pass.windows(2) {
                let adjacent = pair[1].offset == pair[0].offset + 4096;
                let wrapped = pair[1].offset == u64::from(job) * (1 << 18);
                assert!(adjacent || wrapped, "{pair:?}");
            }
            seen.extend(pass.iter().map(|request| request.offset));
        }
        assert_eq!(seen.len(), 256, "every block of the area exactly once");
    }

    #[test]
    fn mix_shares_come_out_as_asked() {
        let mixed = workload(|spec| {
            spec.read_percent = 70;
            spec.bs = vec![
                SizeShare { bytes: Bytes(4096), percent: 60 },
                SizeShare { bytes: Bytes(65536), percent: 40 },
            ];
        });
        let draws = requests(&mixed, 9, 0, 100_000);
        let reads = draws.iter().filter(|request| request.op == OpKind::Read).count();
        let small = draws.iter().filter(|request| request.bytes == 4096).count();
        // Four standard deviations of a binomial of 100,000 draws are below 620.
        assert!(reads.abs_diff(70_000) < 620, "{reads}");
        assert!(small.abs_diff(60_000) < 620, "{small}");
        assert!(draws.iter().all(|r| r.offset + u64::from(r.bytes) <= 1 << 20));
    }

    #[test]
    fn a_hit_stream_reads_its_area_once_and_then_stays_in_it() {
        let hit = workload(|spec| {
            spec.pattern = Pattern::Hit;
            spec.hit_bytes = Some(Bytes(1 << 16));
        });
        let draws = requests(&hit, 2, 0, 2_000);
        let first: Vec<u64> = draws[..16].iter().map(|request| request.offset).collect();
        assert_eq!(first, (0..16).map(|block| block * 4096).collect::<Vec<u64>>());
        assert!(draws.iter().all(|request| request.offset < 1 << 16));
        assert_ne!(draws[16..32], draws[..16]);
    }
}

//! Summarises one device in one window: the kind of work of each interval, and its latency.

/// Requests of one direction between two readings of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Direction {
    /// Completed requests.
    pub requests: f64,
    /// Bytes of the completed requests.
    pub bytes: f64,
    /// Sum of their latencies, in seconds.
    pub seconds: f64,
}

/// Activity of a device between two readings of its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Reads.
    pub reads: Direction,
    /// Writes.
    pub writes: Direction,
    /// Seconds with at least one request in flight.
    pub busy_seconds: f64,
}

/// Counters of a device by their node_exporter names: reads, writes, and busy time.
pub const COUNTERS: [&str; 7] = [
    "node_disk_reads_completed_total",
    "node_disk_read_bytes_total",
    "node_disk_read_time_seconds_total",
    "node_disk_writes_completed_total",
    "node_disk_written_bytes_total",
    "node_disk_write_time_seconds_total",
    "node_disk_io_time_seconds_total",
];

impl Traffic {
    /// The difference of the [`COUNTERS`] between two readings; `None` if one decreased, as after a
    /// restart.
    #[must_use]
    pub fn between(before: &[f64; 7], after: &[f64; 7]) -> Option<Self> {
        let d = |counter: usize| after[counter] - before[counter];
        let direction = |first: usize| Direction {
            requests: d(first),
            bytes: d(first + 1),
            seconds: d(first + 2),
        };
        let forward = (0..COUNTERS.len()).all(|counter| d(counter) >= 0.0);
        forward.then(|| Self { reads: direction(0), writes: direction(3), busy_seconds: d(6) })
    }
}

/// With fewer requests of a direction than this, the mean latency is not used.
const REQUESTS_MIN: f64 = 10.0;
/// Intervals are merged until the requests of a direction took at least this long. Kernels count whole
/// milliseconds. Of intervals with one tick or none, those with none have no latency, and the mean of the
/// rest would be too long.
const SECONDS_MIN: f64 = 0.01;
/// Steps of the concurrency while busy per octave: from one step to the next, queueing changes the latency
/// by at most a fifth.
pub(crate) const DEPTH_STEPS_PER_OCTAVE: f64 = 4.0;
/// Steps of the read share.
const MIXES: f64 = 4.0;
/// Higher concurrencies share the last step.
const CONCURRENCY_STEPS: f64 = 63.0;

/// A kind of work: requests that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Work {
    /// 0 for reads, 1 for writes.
    pub(crate) direction: u8,
    /// Base-2 logarithm of the request size in bytes.
    pub(crate) octave: u8,
    /// Quarter of the read share, 0 to 3.
    pub(crate) mix: u8,
    /// Concurrency while busy, in steps of `DEPTH_STEPS_PER_OCTAVE`.
    pub(crate) depth: u8,
}

/// One direction of one interval: the kind of work, and the logarithm of its mean latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) work: Work,
    pub(crate) log: f32,
}

/// Samples of one device in one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    samples: Vec<Sample>,
    /// Traffic not yet sufficient for a sample of reads, and of writes.
    pending: [Traffic; 2],
}

impl Direction {
    fn add(&mut self, more: &Self) {
        self.requests += more.requests;
        self.bytes += more.bytes;
        self.seconds += more.seconds;
    }
}

impl Tally {
    /// Adds the activity of one interval. Intervals without requests, or with inconsistent counters, are
    /// ignored.
    pub fn add(&mut self, traffic: &Traffic) {
        let Traffic { reads, writes, busy_seconds } = traffic;
        let all = [reads.requests, reads.bytes, reads.seconds, *busy_seconds];
        let all = all.into_iter().chain([writes.requests, writes.bytes, writes.seconds]);
        if !all.sum::<f64>().is_finite() || reads.requests + writes.requests < 1.0 {
            return;
        }
        for direction in [0, 1] {
            let pending = &mut self.pending[direction as usize];
            pending.reads.add(reads);
            pending.writes.add(writes);
            pending.busy_seconds += busy_seconds;
            let one = if direction == 0 { pending.reads } else { pending.writes };
            if one.requests < REQUESTS_MIN || one.seconds < SECONDS_MIN {
                continue;
            }
            let whole = std::mem::take(pending);
            self.samples.extend(sample(direction, &one, &whole));
        }
    }

    /// All samples, ordered by kind of work.
    pub(crate) fn sorted(&mut self) -> &[Sample] {
        self.samples.sort_unstable_by_key(|sample| sample.work);
        &self.samples
    }

    /// Clears the tally for the next window.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.pending = Default::default();
    }
}

/// Latency of a direction, with the kind of work of the whole interval; `None` if the busy time is invalid.
fn sample(direction: u8, one: &Direction, whole: &Traffic) -> Option<Sample> {
    let requests = whole.reads.requests + whole.writes.requests;
    let concurrency = (whole.reads.seconds + whole.writes.seconds) / whole.busy_seconds;
    if !concurrency.is_finite() {
        return None;
    }
    // At least one: counter clocks have ticks and do not agree to the last tick.
    let depth = (DEPTH_STEPS_PER_OCTAVE * concurrency.max(1.0).log2()).min(CONCURRENCY_STEPS) as u8;
    let mix = (MIXES * whole.reads.requests / requests).min(MIXES - 1.0) as u8;
    let octave = (one.bytes / one.requests).max(1.0).log2().min(31.0) as u8;
    let work = Work { direction, octave, mix, depth };
    Some(Sample { work, log: (one.seconds / one.requests).ln() as f32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(requests: f64, latency: f64, busy: f64) -> Traffic {
        let reads = Direction { requests, bytes: requests * 4096.0, seconds: requests * latency };
        Traffic { reads, writes: Direction::default(), busy_seconds: busy }
    }

    #[test]
    fn work_of_one_kind_shares_a_cell_and_another_depth_or_size_has_its_own() {
        let mut tally = Tally::default();
        tally.add(&reads(1000.0, 1e-3, 1.0));
        tally.add(&reads(1000.0, 1e-3, 1.0));
        let one = tally.sorted().to_vec();
        assert_eq!(one.len(), 2);
        assert_eq!(one[0].work, one[1].work);
        assert!((f64::from(one[0].log) - (1e-3f64).ln()).abs() < 1e-6);
        tally.add(&reads(1000.0, 1e-3, 0.25));
        let all = tally.sorted();
        assert_eq!(all.len(), 3);
        assert!(all[2].work.depth > all[1].work.depth, "{all:?}");
    }

    #[test]
    fn what_has_no_latency_or_too_few_requests_leaves_no_trace() {
        for traffic in [
            Traffic::default(),
            reads(0.0, 1e-3, 1.0),
            reads(1000.0, 0.0, 1.0),
            reads(1000.0, 1e-3, 0.0),
            reads(f64::NAN, 1e-3, 1.0),
        ] {
            let mut tally = Tally::default();
            tally.add(&traffic);
            assert!(tally.sorted().is_empty(), "{tally:?}");
        }
    }

    /// A device that is hardly used: twelve requests of 60 us in each interval, counted in whole
    /// milliseconds.
    #[test]
    fn ticks_of_the_clock_make_no_latency_longer() {
        let (mut tally, mut true_s, mut told_s) = (Tally::default(), 0.0, 0.0f64);
        for _ in 0..400 {
            true_s += 12.0 * 60e-6;
            let told = (true_s * 1e3f64).floor() / 1e3;
            tally.add(&reads(12.0, (told - told_s) / 12.0, told - told_s));
            told_s = told;
        }
        let samples = tally.sorted();
        let mean = samples.iter().map(|one| f64::from(one.log)).sum::<f64>() / samples.len() as f64;
        assert!((mean.exp() / 60e-6 - 1.0).abs() < 0.1, "{}", mean.exp());
    }
}

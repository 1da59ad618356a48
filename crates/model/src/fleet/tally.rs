//! What one device did in one window: the kind of work of each interval, and how long it took.

/// Requests of one direction between two readings of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Direction {
    /// Completed requests.
    pub requests: f64,
    /// Bytes of them.
    pub bytes: f64,
    /// Sum of their times, in seconds.
    pub seconds: f64,
}

/// What a device did between two readings of its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Reads.
    pub reads: Direction,
    /// Writes.
    pub writes: Direction,
    /// Seconds in which at least one request was there.
    pub busy_seconds: f64,
}

/// Counters of a device in node_exporter's words: those of reads, those of writes, and its busy time.
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
    /// What the [`COUNTERS`] say between two readings; `None` where one went back, as after a restart.
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

/// Fewer requests of a direction than this have a mean that tells nothing.
const REQUESTS_MIN: f64 = 10.0;
/// Intervals are put together until the requests of a direction took as long as this. Kernels count whole
/// milliseconds: of intervals with one tick or none, those without have no latency, and a mean over the
/// others would be too long.
const SECONDS_MIN: f64 = 0.01;
/// Steps of the concurrency while busy per octave: between two of them a queue changes the latency by a
/// fifth at most.
pub(crate) const DEPTH_STEPS_PER_OCTAVE: f64 = 4.0;
/// Steps of the share of reads.
const MIXES: f64 = 4.0;
/// Concurrencies beyond the last step are one cell.
const CONCURRENCY_STEPS: f64 = 63.0;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Work {
    /// 0 for reads, 1 for writes.
    pub(crate) direction: u8,
    /// Base 2 logarithm of the bytes of a request.
    pub(crate) octave: u8,
    /// Quarter of the share of reads.
    pub(crate) mix: u8,
    /// Steps of the concurrency while busy.
    pub(crate) depth: u8,
}

/// One direction of one interval: the kind of work, and the logarithm of its mean latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) work: Work,
    pub(crate) log: f32,
}

/// What one device did in one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    samples: Vec<Sample>,
    /// What is too little yet to be a sample of reads, and of writes.
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
    /// Takes in what the device did in one interval. Intervals without requests, or whose counters do
    /// not fit together, leave no trace.
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

    /// All of them, kinds of work together.
    pub(crate) fn sorted(&mut self) -> &[Sample] {
        self.samples.sort_unstable_by_key(|sample| sample.work);
        &self.samples
    }

    /// Empties it for the next window.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.pending = Default::default();
    }
}

/// What requests of a direction took beside all others; `None` where the busy time does not fit.
fn sample(direction: u8, one: &Direction, whole: &Traffic) -> Option<Sample> {
    let requests = whole.reads.requests + whole.writes.requests;
    let concurrency = (whole.reads.seconds + whole.writes.seconds) / whole.busy_seconds;
    if !concurrency.is_finite() {
        return None;
    }
    // Below one request there is one: clocks of counters tick, and do not agree to the last tick.
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

    /// A device that is hardly used: twelve requests of 60 us in each interval, in whole milliseconds.
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

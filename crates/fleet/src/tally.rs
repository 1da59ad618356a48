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

/// Fewer requests of a direction than this have a mean that tells nothing.
const REQUESTS_MIN: f64 = 10.0;
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
}

impl Tally {
    /// Takes in what the device did in one interval. Intervals without requests, or whose counters do
    /// not fit together, leave no trace.
    pub fn add(&mut self, traffic: &Traffic) {
        let Traffic { reads, writes, busy_seconds } = traffic;
        let requests = reads.requests + writes.requests;
        let waited = reads.seconds + writes.seconds;
        let concurrency = waited / busy_seconds;
        if !concurrency.is_finite() || requests < REQUESTS_MIN || concurrency <= 0.0 {
            return;
        }
        // Below one request there is one: clocks of counters tick, and do not agree to the last tick.
        let depth =
            (DEPTH_STEPS_PER_OCTAVE * concurrency.max(1.0).log2()).min(CONCURRENCY_STEPS) as u8;
        let mix = (MIXES * reads.requests / requests).min(MIXES - 1.0) as u8;
        for (direction, one) in [(0, reads), (1, writes)] {
            let latency = one.seconds / one.requests;
            if one.requests < REQUESTS_MIN || !latency.is_finite() || latency <= 0.0 {
                continue;
            }
            let octave = (one.bytes / one.requests).max(1.0).log2().min(31.0) as u8;
            let work = Work { direction, octave, mix, depth };
            self.samples.push(Sample { work, log: latency.ln() as f32 });
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
    }
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
        let mut tally = Tally::default();
        for traffic in [
            Traffic::default(),
            reads(3.0, 1e-3, 1.0),
            reads(1000.0, 0.0, 1.0),
            reads(1000.0, 1e-3, 0.0),
            reads(f64::NAN, 1e-3, 1.0),
        ] {
            tally.add(&traffic);
        }
        assert_eq!(tally, Tally::default());
    }
}

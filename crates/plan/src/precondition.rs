//! Plans the preconditioning of a device by writing, and decides when it is in its steady state.
//!
//! After SNIA's Solid State Storage Performance Test Specification (v2.0, 2017): write the capacity twice,
//! in order, in requests of 128 KiB. Then run rounds of the load until the last five are within 20 % of
//! their mean and a line through them changes by at most 10 % of it. Stop after 25 rounds. For a load that
//! only reads, the rounds are SNIA's own: random writes of 4 KiB at queue depth 32. A round lasts as long
//! as the requested run, at most SNIA's minute. Rejected: looking at latencies as well (the standard's
//! limits are for the rate).

use crate::{Plan, PlannedTrial, Progress, Saved, describe};
use record::{
    Arrival, Bytes, CacheMode, Data, DropCache, EngineName, Nanos, Pattern, Preconditioning,
    Regions, SizeShare, StopRules, Trial, Workload, format_bytes,
};
use workload::derive_seed;

/// Number of times that the area is written first.
const FILL_PASSES: u32 = 2;
/// Number of last rounds that must agree.
pub(crate) const WINDOW_ROUNDS: usize = 5;
/// Maximum number of rounds.
const MAX_ROUNDS: usize = 25;
/// Largest distance between the extremes of the window, as a share of its mean.
const RANGE_MAX: f64 = 0.20;
/// Largest change of the line through the window, as a share of its mean.
const SLOPE_MAX: f64 = 0.10;
/// Request size of the fill.
const FILL_BYTES: u64 = 128 << 10;
/// Queue depth of the fill, and of rounds that do not use the requested workload.
const DEPTH: u32 = 32;
/// Request size of such rounds.
const ROUND_BYTES: u64 = 4 << 10;
/// Minimum and maximum length of a round.
const ROUND_MIN: Nanos = Nanos(100_000_000);
const ROUND_MAX: Nanos = Nanos(60_000_000_000);
/// Time limit of the fill: a large disk takes a day. The fill normally ends much earlier, with its passes.
const FILL_TIME: Nanos = Nanos(7 * 86_400 * 1_000_000_000);
/// Separate from the seeds of streams, data and tags.
const SEEDS: u64 = 3 << 32;

/// Whether the rates of the last rounds agree; `false` with fewer than five.
#[must_use]
pub fn steady(rounds: &[f64]) -> bool {
    let Some(window) = rounds.last_chunk::<WINDOW_ROUNDS>() else { return false };
    let mean = window.iter().sum::<f64>() / WINDOW_ROUNDS as f64;
    if mean <= 0.0 {
        return false;
    }
    let largest = window.iter().copied().fold(f64::MIN, f64::max);
    let smallest = window.iter().copied().fold(f64::MAX, f64::min);
    // Least squares over x = -2..2: the sum of x squared is 10, and the window is 4 rounds long.
    let slope: f64 = (-2..=2).zip(window).map(|(x, rate)| f64::from(x) * rate).sum::<f64>() / 10.0;
    let change = (slope * (WINDOW_ROUNDS - 1) as f64).abs();
    largest - smallest <= RANGE_MAX * mean && change <= SLOPE_MAX * mean
}

/// Whether direct writes would be aligned, so that opening the target for them is worthwhile.
#[must_use]
pub fn goes_past_cache(workload: &Workload, alignment: u64) -> bool {
    let start = workload.offset_bytes.0 + workload.misalign_bytes.0;
    workload.engine != EngineName::Mmap
        && start.is_multiple_of(alignment)
        && workload.max_bs().0.is_multiple_of(alignment)
}

/// Plans how one area is brought into its steady state.
#[derive(Clone, Debug)]
pub struct PreconditionPlan {
    fill: Workload,
    round: Workload,
    seed: u64,
    /// Bytes written by the fill; `None` until it ended.
    filled: Option<Bytes>,
    round_iops: Vec<f64>,
    /// Whether nothing completed in the last trial; a repetition would not help.
    dead: bool,
}

impl PreconditionPlan {
    /// A plan for a run of `asked`. Data in the page cache are not on the device yet, so the device is
    /// written with direct I/O if it is open for that, whatever cache the run uses.
    #[must_use]
    pub fn new(asked: &Workload, past_cache: bool, seed: u64) -> Self {
        let cache = match asked.cache {
            cache if cache.direct() || !past_cache => cache,
            _ => CacheMode::Device,
        };
        let data = if asked.data == Data::Tagged { Data::Random } else { asked.data };
        let plain = Workload {
            data,
            drop_cache: DropCache::None,
            ramp_ns: Nanos(0),
            stop: StopRules { io_timeout_ns: asked.stop.io_timeout_ns, ..StopRules::default() },
            ..asked.clone()
        };
        let writes = |bytes: u64, pattern: Pattern| Workload {
            read_percent: 0,
            pattern,
            hit_bytes: None,
            zipf_theta_milli: None,
            hot: None,
            stride_bytes: None,
            bs: vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
            iodepth: DEPTH,
            numjobs: asked.targets,
            depth: DEPTH * asked.targets,
            cache,
            discipline: record::Discipline::Any,
            arrival: Arrival::Closed,
            rate_iops: None,
            write_rate_iops: None,
            think_ns: Nanos(0),
            flush: None,
            instead: None,
            replay: None,
            beside: Vec::new(),
            ..plain.clone()
        };
        // A small area takes smaller requests, which are still multiples of a block.
        let room = asked.size_bytes.0.saturating_sub(asked.misalign_bytes.0).max(1);
        let fitting = |bytes: u64| if bytes <= room { bytes } else { asked.max_bs().0 };
        let mut fill = writes(fitting(FILL_BYTES), Pattern::Sequential);
        // With several clients each gets a job. With own regions they write the whole area together,
        // whatever the run asks of its own jobs.
        fill.regions = Regions::Own;
        fill.runtime_ns = FILL_TIME;
        fill.stop.passes = Some(FILL_PASSES);
        let mut round = if asked.carries() && asked.replay.is_none() {
            plain
        } else {
            writes(fitting(ROUND_BYTES.max(asked.misalign_bytes.0)), Pattern::Random)
        };
        round.runtime_ns = asked.runtime_ns.clamp(ROUND_MIN, ROUND_MAX);
        Self { fill, round, seed, filled: None, round_iops: Vec::new(), dead: false }
    }

    /// The result of the preconditioning.
    #[must_use]
    pub fn outcome(&self) -> Preconditioning {
        Preconditioning {
            filled_bytes: self.filled.unwrap_or_default(),
            round_iops: self.round_iops.clone(),
            steady: steady(&self.round_iops),
        }
    }

    fn done(&self) -> usize {
        usize::from(self.filled.is_some()) + self.round_iops.len()
    }
}

impl Plan for PreconditionPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        let number = self.done();
        if number > 0
            && (self.dead || self.round_iops.len() >= MAX_ROUNDS || steady(&self.round_iops))
        {
            return None;
        }
        let (workload, label) = if number == 0 {
            let area = format_bytes(self.fill.size_bytes.0);
            (&self.fill, format!("writes {area} {FILL_PASSES} times"))
        } else {
            let last =
                self.round_iops.last().map_or(String::new(), |r| format!(", last {r:.0} IOPS"));
            let what = describe(&self.round);
            (&self.round, format!("round {number} of at most {MAX_ROUNDS}{last}, {what}"))
        };
        let seed = derive_seed(self.seed, SEEDS + number as u64);
        let planned = PlannedTrial::new(workload.clone(), seed);
        Some(PlannedTrial { label, saved: Saved::No, ..planned })
    }

    fn observe(&mut self, trial: &Trial, _spent: Nanos) {
        self.dead = trial.iops() == 0.0;
        match self.filled {
            None => {
                let written = trial.result.write.as_ref().map(|write| Bytes(write.bytes));
                self.filled = Some(written.unwrap_or_default());
            }
            Some(_) => self.round_iops.push(trial.iops()),
        }
    }

    fn progress(&self) -> Progress {
        let step = 1.0 / (MAX_ROUNDS + 1) as f64;
        let share = self.done() as f64 * step;
        Progress { phase: "precondition", share, step, ..Progress::default() }
    }
}

//! Writing until a device is in its steady state, and when it is.
//!
//! After SNIA's Solid State Storage Performance Test Specification (v2.0, 2017): write the
//! capacity twice, in order, in requests of 128 KiB; then run rounds of the load until the last
//! five agree, which they do when the largest and the smallest lie within 20 % of their mean
//! and a straight line through them rises or falls by at most 10 % of it; give up after 25 rounds.
//!
//! A round is the workload asked for where that writes; where it only reads, it is random writes
//! of 4 KiB at depth 32, SNIA's own load, because reading brings no device anywhere. SNIA's rounds
//! take a minute; here a round lasts as long as the run asked for, at most a minute, so that who
//! asks for a long run gets the standard's rounds, and who asks for a short one is not kept for
//! half an hour. A planner that looks at response times as well was rejected: the standard judges
//! by the rate, and its limits are for that.

use record::{
    Arrival, Bytes, CacheMode, Data, DropCache, Nanos, Pattern, Preconditioning, SizeShare,
    StopRules, Trial, Workload,
};

/// Times that the area is written first.
pub const FILL_PASSES: u32 = 2;
/// Rounds that must agree.
pub const WINDOW_ROUNDS: usize = 5;
/// Rounds after which it is given up.
pub const MAX_ROUNDS: usize = 25;
/// Largest distance between the extremes of the window, as a share of its mean.
const RANGE_MAX: f64 = 0.20;
/// Largest change of the line through the window, as a share of its mean.
const SLOPE_MAX: f64 = 0.10;
/// Request of the fill.
const FILL_BYTES: u64 = 128 << 10;
/// Depth of the fill and of rounds that are not the workload asked for.
const DEPTH: u32 = 32;
/// Request of such rounds.
const ROUND_BYTES: u64 = 4 << 10;
/// Shortest and longest round.
const ROUND_MIN: Nanos = Nanos(100_000_000);
const ROUND_MAX: Nanos = Nanos(60_000_000_000);
/// Longest fill: a large disk takes a day. It ends with its passes, long before.
const FILL_TIME: Nanos = Nanos(7 * 86_400 * 1_000_000_000);

/// Whether the last rounds agree, by their rates; never with fewer than five.
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

/// The plan of bringing one area into its steady state.
#[derive(Clone, Debug)]
pub struct PreconditionPlan {
    fill: Workload,
    round: Workload,
}

impl PreconditionPlan {
    /// A plan for a run of `asked`, whose writes go by `cache`.
    #[must_use]
    pub fn new(asked: &Workload, cache: CacheMode) -> Self {
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
            data: if asked.data == Data::Tagged { Data::Random } else { asked.data },
            drop_cache: DropCache::None,
            ramp_ns: Nanos(0),
            stop: StopRules { io_timeout_ns: asked.stop.io_timeout_ns, ..StopRules::default() },
            ..asked.clone()
        };
        // A small area takes smaller requests, which are multiples of a block all the same.
        let room = asked.size_bytes.0.saturating_sub(asked.misalign_bytes.0).max(1);
        let fitting = |bytes: u64| if bytes <= room { bytes } else { asked.max_bs().0 };
        let mut fill = writes(fitting(FILL_BYTES), Pattern::Sequential);
        fill.runtime_ns = FILL_TIME;
        fill.stop.passes = Some(FILL_PASSES);
        let mut round = if asked.writes() {
            let data = if asked.data == Data::Tagged { Data::Random } else { asked.data };
            let stop =
                StopRules { io_timeout_ns: asked.stop.io_timeout_ns, ..StopRules::default() };
            Workload { data, stop, ramp_ns: Nanos(0), drop_cache: DropCache::None, ..asked.clone() }
        } else {
            writes(fitting(ROUND_BYTES.max(asked.misalign_bytes.0)), Pattern::Random)
        };
        round.runtime_ns = asked.runtime_ns.clamp(ROUND_MIN, ROUND_MAX);
        Self { fill, round }
    }

    /// What comes after these trials of the plan, in order; `None` when it is over.
    #[must_use]
    pub fn next_trial(&self, done: &[Trial]) -> Option<&Workload> {
        let Some((_, rounds)) = done.split_first() else { return Some(&self.fill) };
        // Where nothing completes, repeating it changes nothing.
        let dead = done.last().is_some_and(|trial| trial.iops() == 0.0);
        let over = dead || rounds.len() >= MAX_ROUNDS || steady(&rates(rounds));
        (!over).then_some(&self.round)
    }

    /// What these trials came to.
    #[must_use]
    pub fn outcome(&self, done: &[Trial]) -> Preconditioning {
        let (fill, rounds) = match done.split_first() {
            Some((fill, rounds)) => (bytes(fill), rates(rounds)),
            None => (0, Vec::new()),
        };
        let steady = steady(&rounds);
        Preconditioning { filled_bytes: Bytes(fill), round_iops: rounds, steady }
    }

    /// What a round does, for a reader.
    #[must_use]
    pub fn round(&self) -> &Workload {
        &self.round
    }
}

fn rates(rounds: &[Trial]) -> Vec<f64> {
    rounds.iter().map(Trial::iops).collect()
}

fn bytes(trial: &Trial) -> u64 {
    trial.result.write.as_ref().map_or(0, |write| write.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_rounds_agree_within_a_fifth_and_without_a_trend() {
        assert!(steady(&[100.0; 5]));
        assert!(!steady(&[100.0; 4]), "too few");
        assert!(steady(&[109.0, 91.0, 100.0, 91.0, 109.0]), "18 % apart, no trend");
        assert!(!steady(&[112.0, 91.0, 100.0, 91.0, 112.0]), "21 % apart");
        assert!(steady(&[104.0, 102.0, 100.0, 98.0, 96.0]), "falls by 8 %");
        assert!(!steady(&[106.0, 103.0, 100.0, 97.0, 94.0]), "falls by 12 %");
        assert!(!steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), "rises by 12 %");
        assert!(!steady(&[0.0; 5]), "a device that does nothing is not steady");
    }

    #[test]
    fn only_the_last_five_count() {
        assert!(steady(&[900.0, 500.0, 100.0, 100.0, 101.0, 99.0, 100.0]));
        assert!(!steady(&[100.0, 100.0, 101.0, 99.0, 100.0, 60.0]));
    }

    #[test]
    fn a_round_is_the_workload_asked_for_unless_that_only_reads() {
        let asked = Workload {
            size_bytes: Bytes(1 << 30),
            iodepth: 4,
            read_percent: 70,
            runtime_ns: Nanos(3_000_000_000),
            ..Workload::default()
        };
        let plan = PreconditionPlan::new(&asked, CacheMode::Device);
        assert_eq!((plan.round().read_percent, plan.round().iodepth), (70, 4));
        assert_eq!(plan.round().runtime_ns, asked.runtime_ns);
        let reads = Workload { read_percent: 100, runtime_ns: Nanos(1), ..asked };
        let plan = PreconditionPlan::new(&reads, CacheMode::Device);
        let round = plan.round();
        assert_eq!((round.read_percent, round.pattern), (0, Pattern::Random));
        assert_eq!((round.max_bs(), round.depth), (Bytes(4096), 32));
        assert_eq!(round.runtime_ns, ROUND_MIN);
    }

    #[test]
    fn the_area_is_written_twice_in_order_first() {
        let asked = Workload { size_bytes: Bytes(1 << 30), ..Workload::default() };
        let plan = PreconditionPlan::new(&asked, CacheMode::Device);
        let fill = plan.next_trial(&[]).unwrap();
        assert_eq!((fill.pattern, fill.read_percent), (Pattern::Sequential, 0));
        assert_eq!((fill.max_bs(), fill.stop.passes), (Bytes(128 << 10), Some(2)));
        let small = Workload { size_bytes: Bytes(64 << 10), ..asked };
        let plan = PreconditionPlan::new(&small, CacheMode::Device);
        assert_eq!(plan.next_trial(&[]).unwrap().max_bs(), Bytes(4096));
    }
}

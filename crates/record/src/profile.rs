//! The profile document: what characterising a device gave.

use crate::{
    AreaSpread, Arrival, Bytes, Commits, Environment, Estimate, Finding, HistogramSnapshot,
    Locality, Measured, MeasuredArea, Nanos, OpKind, Pattern, Reruns, RunSpread, SystemFact,
    Target, Workload, format_binary_rate, format_whole_iops, shell_word, with_half_width,
    with_interval,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a profile.
pub const PROFILE_SCHEMA: &str = "halfpower/profile/1";

/// How many times as long a check is that narrows what is open: errors of visits halve with four times as many.
const LONGER: u64 = 5;

/// What a device should do, as measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// [`PROFILE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target the hash of target and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// What was measured.
    pub target: Target,
    /// Conditions; null for a simulated target, and where several machines made it.
    pub environment: Option<Environment>,
    /// What the checks of causes read of the system when the profile was made; absent for a simulated target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<SystemFact>,
    /// The machines that made the load together, by name; absent where one did alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Measuring time that was allowed.
    pub budget_ns: Nanos,
    /// Measuring time that was used.
    pub measured_ns: Nanos,
    /// Standard error, as a share, of the level that all cells of this profile have in common
    /// against that of another run, because the level of a shared device wanders: from how it
    /// wandered within the run, or from earlier profiles of the same target where these say more.
    /// [`Cell::rerun_iops`] holds it, the other intervals do not. Null with too few visits.
    pub level_se_rel: Option<f64>,
    /// Further error of a run of two seconds; null with too few visits.
    #[serde(default)]
    pub run_spread: Option<RunSpread>,
    /// The files that were measured; absent where it was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub areas: Vec<MeasuredArea>,
    /// How far they lie apart, by kind of load; absent where it was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub area_spreads: Vec<AreaSpread>,
    /// Levels of the earlier profiles of this target that were at hand, the latest first: the
    /// median over the cells in common of the earlier rate over this one's, less one.
    pub earlier_levels: Vec<f64>,
    /// The cells, in the order of the design.
    pub cells: Vec<Cell>,
    /// Cells of mixes and of open loops, for predictions; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<Cell>,
    /// Reads that came alone, the most frequent first; absent in a profile of an earlier version, and
    /// where the budget was too short for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lone_reads: Vec<LoneRead>,
    /// Limits that a check met which are not the device's own; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<Cap>,
    /// Loads that went on until their rate fell or the time was over (`check --sustained`); absent
    /// without that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sustained: Vec<Sustained>,
    /// Commits to a log, or why none were measured; a profile of an earlier version has none.
    #[serde(default = "before_commits")]
    pub commits: Measured<Commits>,
    /// Straight lines through service time against request size.
    pub service_time_fits: Vec<ServiceTimeFit>,
    /// Throughput and latency against depth.
    pub depth_curves: Vec<DepthCurve>,
    /// Throughput against request size.
    pub size_curves: Vec<SizeCurve>,
    /// The largest rates seen.
    pub limits: Limits,
    /// Latency at shares of the maximum rate.
    pub expectations: Vec<Expectation>,
    /// What to use.
    pub advice: Vec<Advice>,
    /// Conclusions on the device and on the measurement.
    pub findings: Vec<Finding>,
}

fn before_commits() -> Measured<Commits> {
    Measured::not("the profile was made before halfpower measured commits")
}

impl Profile {
    /// The cells and those of mixes and open loops.
    #[must_use]
    pub fn all_cells(&self) -> Vec<Cell> {
        self.cells.iter().chain(&self.mixes).cloned().collect()
    }

    /// Whether writes were measured as well.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        self.cells.iter().any(|cell| cell.workload.writes())
    }

    /// What another run would differ by.
    #[must_use]
    pub fn reruns(&self) -> Reruns {
        let run = self.run_spread.unwrap_or_default();
        let level_se = self.level_se_rel.unwrap_or(0.0);
        Reruns {
            common_se: self.common_se(),
            common_percentile_ses: run
                .percentile_ses
                .map(|se| level_se.hypot(se.unwrap_or(0.0).max(run.rate_se))),
            areas: self.area_spreads.clone(),
        }
    }

    /// The command of another check of this target with five times its budget, which narrows the intervals.
    #[must_use]
    pub fn longer_check(&self) -> String {
        let budget_s = self.budget_ns.0.div_ceil(1_000_000_000).max(1);
        format!("halfpower check {} --budget {}s", shell_word(&self.target.path), LONGER * budget_s)
    }

    /// Standard error of a rate that all cells have in common: of the level, and of a short run.
    #[must_use]
    pub fn common_se(&self) -> f64 {
        self.level_se_rel.unwrap_or(0.0).hypot(self.run_spread.unwrap_or_default().rate_se)
    }

    /// A rate or mean latency of this run as another run would find it: with the errors of the areas,
    /// of the level and of a short run, which are independent.
    #[must_use]
    pub fn rerun(
        &self,
        estimate: &Estimate,
        (op, locality, alone): (OpKind, Locality, bool),
    ) -> Estimate {
        let areas_se = crate::areas::areas_se(&self.area_spreads, op, locality, alone);
        estimate.with_ratio_error(self.common_se().hypot(areas_se))
    }
}

/// All visits of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Identity of the workload.
    pub cell: String,
    /// The workload; run time is that of the last visit.
    pub workload: Workload,
    /// Trials, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Requests completed in all visits.
    pub ios: u64,
    /// Requests per second: mean over visits, interval from the variance between them. Where all
    /// visits warmed up alike, without the warm-up (MSER-5); so are throughput and latency.
    pub iops: Estimate,
    /// The same rate with the interval in which another run lies, on another file of this disk, at
    /// another hour ([`Profile::rerun`]). What is common to the cells of a run, as the level of the
    /// device, cancels where they are compared with each other; [`Cell::iops`] is without it.
    pub rerun_iops: Estimate,
    /// Bytes per second, likewise.
    pub bytes_per_s: Estimate,
    /// Mean latency of all requests of all visits: times rate it is a closed loop's depth.
    pub latency_ns: Estimate,
    /// That of the reads alone; absent where there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ns: Option<f64>,
    /// That of the writes alone, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_ns: Option<f64>,
    /// Medians over the visits of an open loop; absent in closed loops and below five visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_visit: Option<MedianVisit>,
    /// Latencies of all visits, warm-up included.
    pub histogram: HistogramSnapshot,
    /// Share of time with a request in flight at the device (its own counter), 0 to 1.
    pub utilization: Measured<f64>,
    /// `utilization / iops`, both of the whole window: Friedman's service time by the utilization
    /// law. On a device that works in parallel it is the mean spacing of completions while busy.
    pub service_ns: Measured<Estimate>,
    /// Share of the latency that the device's own counters hold, above 0 and at most 1: the
    /// rest is the way from the program to the device and back. Both of the whole window.
    pub device_share: Measured<f64>,
    /// CPU time charged to us per request.
    pub cpu_us_per_io: Measured<Estimate>,
    /// Whether the interval of the rate reached the asked precision.
    pub precise: bool,
}

/// A visit has percentiles from this many times its depth on, in requests: the first ones find a queue that is
/// not full yet.
const FILLED: u64 = 10;

impl Cell {
    /// Whether its visits are long enough for their depth, so that its percentiles are those of a full queue.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        let visits = self.trial_ids.len() as u64;
        let depth = u64::from(self.workload.depth);
        self.workload.arrival != Arrival::Closed
            || depth <= 1
            || self.ios >= FILLED * depth * visits
    }

    /// A percentile of the latency in nanoseconds; `None` of too few requests.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<f64> {
        self.histogram.percentile(share).filter(|_| self.is_filled())
    }
}

/// A limit on requests or bytes per second above the medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cap {
    /// The operation that it holds for; null where it holds for reads and for writes.
    pub op: Option<OpKind>,
    /// Whether it limits bytes, not requests.
    pub bytes: bool,
    /// Bytes or requests per second: the mean over the visits that were held at it.
    pub per_s: Estimate,
    /// Cells that were held at it.
    pub cells: u32,
    /// What has a published limit at that rate; null where nothing is known to.
    pub published: Option<String>,
}

impl Cap {
    /// The level with its interval: `3,000 IOPS ±0.1 %`, `125 MiB/s ±0.2 %`.
    #[must_use]
    pub fn text(&self) -> String {
        let level = match self.bytes {
            true => with_interval(&self.per_s, format_binary_rate),
            false => {
                // To the last digit that the interval leaves.
                let unit =
                    libm::pow(10.0, libm::ceil(libm::log10(self.per_s.half_width().max(1.0))));
                let rounded = libm::round(self.per_s.value / unit) * unit;
                let half_width = Some(self.per_s.relative_half_width());
                with_half_width(format_whole_iops(rounded), half_width)
            }
        };
        self.op.map_or(level.clone(), |op| format!("{level} of {}", op.plural()))
    }
}

/// One load that went on for minutes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sustained {
    /// The load.
    pub workload: Workload,
    /// How long it went on, without the time after a step.
    pub ran_ns: Nanos,
    /// Bytes that it moved meanwhile.
    pub bytes: Bytes,
    /// Requests per second meanwhile.
    pub iops: Estimate,
    /// What came then; null where the rate held.
    pub step: Option<RateStep>,
}

/// A rate that fell while a load went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateStep {
    /// Why, as far as the rate shows it.
    pub cause: StepCause,
    /// Requests per second after it.
    pub iops: Estimate,
    /// The load was interrupted for so long.
    pub rest_ns: Nanos,
    /// Rest after which the device would do again as much at the faster rate as it did before the
    /// step, by what this rest brought back; or why that is not known.
    pub back_after_ns: Measured<Estimate>,
}

/// Why a rate falls while a load goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepCause {
    /// The rate after it is exact, or reads fell too: credit above a cap was used up.
    Credit,
    /// Writes alone fell: a faster part of the drive, or its buffer, was full.
    WriteCache,
}

/// Reads at a rate so low that each found the device at rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoneRead {
    /// Reads per second, evenly spaced.
    pub rate_per_s: u64,
    /// Median latency: of so few requests one that met something else would move the mean.
    pub latency_ns: Estimate,
    /// Median latency of the same reads one behind the other.
    pub back_to_back_ns: Estimate,
    /// What the rest adds; zero where the two medians are not distinguishable.
    pub added_ns: Estimate,
}

/// Medians over the visits of their mean latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianVisit {
    /// Of all requests.
    pub latency_ns: f64,
    /// Of the reads alone; absent where there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ns: Option<f64>,
    /// Of the writes alone, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_ns: Option<f64>,
}

/// `y = slope x + intercept` through the latency at depth 1 against request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceTimeFit {
    /// Operation.
    pub op: OpKind,
    /// Pattern.
    pub pattern: Pattern,
    /// Time per request that does not depend on its size.
    pub intercept_ns: Estimate,
    /// Time per byte: the inverse of a transfer rate.
    pub slope_ns_per_byte: Estimate,
    /// Request sizes that the line was fitted to.
    pub sizes_bytes: Vec<u64>,
    /// Chi-square per degree of freedom. The variance of a point is that of its cell plus that of
    /// the line as a model (3 % of the time, one standard deviation): near 1 or below where the
    /// line holds.
    pub reduced_chi_square: f64,
    /// Largest relative distance of a fitted point from the line.
    pub max_residual_rel: f64,
    /// Measured points that were not fitted.
    pub left_out: Vec<LeftOut>,
}

/// A point that a fit does not describe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Request size.
    pub bytes: u64,
    /// Measured time.
    pub measured_ns: f64,
    /// Measured minus fitted: negative where the device is faster than the line.
    pub residual_ns: f64,
}

/// One depth of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthPoint {
    /// Requests outstanding.
    pub depth: u32,
    /// Requests per second.
    pub iops: Estimate,
    /// Mean latency.
    pub latency_ns: Estimate,
    /// 99th percentile of the latency; null with too few requests.
    pub p99_ns: Option<f64>,
    /// CPU time charged to us per request.
    pub cpu_us_per_io: Option<f64>,
}

/// Rate and latency against depth, at one request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DepthCurve {
    /// Operation (random requests).
    pub op: OpKind,
    /// Request size.
    pub bs_bytes: u64,
    /// The points, by rising depth.
    pub points: Vec<DepthPoint>,
    /// Smallest depth that gives four fifths of the largest rate; null if the rate still grows at the
    /// last depth, or no other gives as much.
    pub knee: Option<u32>,
    /// Gain of the last doubling of depth, as a share, from which on the rate still grows.
    pub knee_gain: f64,
    /// The largest rate of the curve.
    pub max_iops: Estimate,
    /// The depth at which it was seen.
    pub max_depth: u32,
}

/// One request size of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizePoint {
    /// Request size.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_s: Estimate,
    /// Requests per second.
    pub iops: Estimate,
    /// Mean latency.
    pub latency_ns: Estimate,
    /// CPU time charged to us per request.
    pub cpu_us_per_io: Option<f64>,
}

/// Throughput against request size, at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCurve {
    /// Operation.
    pub op: OpKind,
    /// Pattern.
    pub pattern: Pattern,
    /// Depth.
    pub depth: u32,
    /// The points, by rising size.
    pub points: Vec<SizePoint>,
    /// Half of the largest throughput measured in this direction and pattern at any size and
    /// depth, which stands for PAP/2 as no advertised peak is known.
    pub half_of_max_bytes_per_s: f64,
    /// The smallest size that reaches it; null where none does.
    pub half_power_bytes: Option<u64>,
}

/// The largest rates that were seen, each with the interval in which another run lies
/// ([`Profile::rerun`]); null where that direction was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Random reads per second at the smallest request size.
    pub read_iops: Option<Estimate>,
    /// Random writes per second at the smallest request size.
    pub write_iops: Option<Estimate>,
    /// Read throughput at any size and depth.
    pub read_bytes_per_s: Option<Estimate>,
    /// Write throughput at any size and depth.
    pub write_bytes_per_s: Option<Estimate>,
}

/// The shares of the largest rate at which a latency is given, as far as it is known.
pub const SATURATIONS: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// What an open load of random requests would see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// Operation.
    pub op: OpKind,
    /// Request size.
    pub bs_bytes: u64,
    /// Share of the measured maximum rate, 0 to 1.
    pub saturation: f64,
    /// Requests per second at that share.
    pub iops: f64,
    /// Mean latency by the load-dependent model, Poisson arrivals.
    pub latency_ns: Estimate,
    /// Mean latency by M/M/1 with S = 1/maximum rate, for comparison only.
    pub mm1_response_ns: f64,
    /// M/M/1 over the load-dependent model, minus one.
    pub mm1_error_rel: f64,
}

/// One recommendation with the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// What it is about: `read depth`, `sequential request size`, `cache mode`, ….
    pub subject: String,
    /// What to use.
    pub recommendation: String,
    /// The measured numbers that say so.
    pub because: String,
    /// What the next best choice costs.
    pub next_best: String,
    /// Where this contradicts the usual rule of thumb, and how.
    pub against_rule: Option<String>,
    /// What it gains where it gains most: rate or throughput with it over that without it, with its
    /// 95 % interval. Null where it is no matter of a ratio, or gains nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Estimate>,
    /// What it costs or risks; null where nothing is known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
}

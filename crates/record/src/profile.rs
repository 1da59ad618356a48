//! The profile document: the measured characteristics of a device.

use crate::curves::{DepthCurve, SizeCurve};
use crate::{
    AreaSpread, Arrival, Bytes, Commits, Environment, Estimate, Finding, FindingCode,
    HistogramSnapshot, Locality, Measured, MeasuredArea, Nanos, OpKind, Pattern, Reruns, RunSpread,
    SystemFact, Target, Workload, format_binary_rate, format_whole_iops, shell_word,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a profile.
pub const PROFILE_SCHEMA: &str = "halfpower/profile/1";

/// Budget of a check that resolves open questions, as a multiple of this one. Four times as many visits halve
/// the errors.
const LONGER: u64 = 5;
/// The budget for a number of flushes is longer by this factor, because flushes may become slower.
const FLUSHES_MARGIN: f64 = 1.25;

/// Measured performance of a device, as a reference for later.
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
    /// The measured target.
    pub target: Target,
    /// Conditions; null for a simulated target, or if several machines ran the load.
    pub environment: Option<Environment>,
    /// Facts that the system checks read when the profile was made; absent for a simulated target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<SystemFact>,
    /// Names of the machines that ran the load together; absent for one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Measuring time allowed.
    pub budget_ns: Nanos,
    /// Measuring time used.
    pub measured_ns: Nanos,
    /// Standard error, as a share, of the speed that all cells of this profile share, compared with another
    /// run. The speed of a shared device varies over time. The error comes from the variation within the run,
    /// or from earlier profiles of the same target if that is larger. [`Cell::rerun_iops`] includes it; the
    /// other intervals do not. Null with too few visits.
    pub level_se_rel: Option<f64>,
    /// Additional error of a two-second run; null with too few visits.
    #[serde(default)]
    pub run_spread: Option<RunSpread>,
    /// The measured files; absent if there was only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub areas: Vec<MeasuredArea>,
    /// How much the files differ, by kind of load; absent if there was only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub area_spreads: Vec<AreaSpread>,
    /// Speed of the available earlier profiles of this target, latest first: the median of the earlier rate
    /// divided by this one's over the common cells, minus one.
    pub earlier_levels: Vec<f64>,
    /// The cells, in the order of the design.
    pub cells: Vec<Cell>,
    /// Cells with mixes and open loops, for predictions; absent if none were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<Cell>,
    /// Single reads with pauses between them, the highest rate first; absent in a profile of an earlier
    /// version, and if the budget was too small.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lone_reads: Vec<LoneRead>,
    /// Limits found by the check that are not the device's own; absent if none were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<Cap>,
    /// Loads that ran until their rate fell or the time was over (`check --sustained`); otherwise absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sustained: Vec<Sustained>,
    /// Commits to a log, or why they were not measured. A profile of an earlier version has none.
    #[serde(default = "before_commits")]
    pub commits: Measured<Commits>,
    /// Straight lines fitted to service time as a function of request size.
    pub service_time_fits: Vec<ServiceTimeFit>,
    /// Throughput and latency as functions of queue depth.
    pub depth_curves: Vec<DepthCurve>,
    /// Throughput as a function of request size.
    pub size_curves: Vec<SizeCurve>,
    /// The maximum rates that were measured.
    pub limits: Limits,
    /// Latency at shares of the maximum rate.
    pub expectations: Vec<Expectation>,
    /// Recommended settings.
    pub advice: Vec<Advice>,
    /// Findings on the device and on the measurement.
    pub findings: Vec<Finding>,
}

fn before_commits() -> Measured<Commits> {
    Measured::not("the profile was made before halfpower measured commits")
}

impl Profile {
    /// All cells, including those with mixes and open loops.
    #[must_use]
    pub fn all_cells(&self) -> Vec<Cell> {
        self.cells.iter().chain(&self.mixes).cloned().collect()
    }

    /// The finding that the check ended before all of its loads were measured. Only a command that names such
    /// a partial profile uses it.
    #[must_use]
    pub fn partial(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == FindingCode::Interrupted)
    }

    /// Whether the profile includes writes.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        self.cells.iter().any(|cell| cell.workload.writes())
    }

    /// How much another run would differ.
    #[must_use]
    pub fn reruns(&self) -> Reruns {
        let run = self.run_spread.unwrap_or_default();
        let level_se = self.level_se_rel.unwrap_or(0.0);
        Reruns {
            common_se: self.common_se(),
            run_se: run.rate_se,
            common_percentile_ses: run
                .percentile_ses
                .map(|se| level_se.hypot(se.unwrap_or(0.0).max(run.rate_se))),
            areas: self.area_spreads.clone(),
        }
    }

    /// The command for another check of this target with five times the budget, which narrows the intervals.
    #[must_use]
    pub fn longer_check(&self) -> String {
        self.check_with(LONGER)
    }

    /// The same for so many flushes of one committer, of which this check made `flushes`: their number
    /// grows with the budget.
    #[must_use]
    pub fn check_for_flushes(&self, needed: u64, flushes: u64) -> String {
        let more = FLUSHES_MARGIN * needed as f64 / flushes.max(1) as f64;
        self.check_with(LONGER.max(more.ceil() as u64))
    }

    fn check_with(&self, times: u64) -> String {
        let budget_s = self.budget_ns.0.div_ceil(1_000_000_000).max(1);
        let budget_s = budget_s.saturating_mul(times);
        format!("halfpower check {} --budget {budget_s}s", shell_word(&self.target.path))
    }

    /// Standard error that all rates share: from the device's speed over time, and from a short run.
    #[must_use]
    pub fn common_se(&self) -> f64 {
        self.level_se_rel.unwrap_or(0.0).hypot(self.run_spread.unwrap_or_default().rate_se)
    }

    /// A rate or mean latency with the interval for another run. It adds the errors between areas, of the
    /// speed over time and of a short run, which are independent.
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
    /// Hash of the workload.
    pub cell: String,
    /// The workload, with the run time of the last visit.
    pub workload: Workload,
    /// Trials, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Requests completed in all visits.
    pub ios: u64,
    /// Requests per second: the mean over visits, with an interval from the variance between visits. If all
    /// visits have a similar warm-up, it is excluded (MSER-5), also from throughput and latency.
    pub iops: Estimate,
    /// The same rate with the interval for another run, on another file of this disk at another time
    /// ([`Profile::rerun`]). For comparisons between cells use [`Cell::iops`], because an error that all
    /// cells of a run share cancels there.
    pub rerun_iops: Estimate,
    /// Bytes per second, computed likewise.
    pub bytes_per_s: Estimate,
    /// Mean latency of all requests of all visits. In a closed loop, latency times rate is the queue depth.
    pub latency_ns: Estimate,
    /// Mean latency of reads only; absent if there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ns: Option<f64>,
    /// Mean latency of writes only; absent if there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_ns: Option<f64>,
    /// Medians over the visits of an open loop; absent in closed loops, and with fewer than five visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_visit: Option<MedianVisit>,
    /// Latencies of all visits, warm-up included.
    pub histogram: HistogramSnapshot,
    /// Share of time with a request in flight at the device (from its own counter), 0 to 1.
    pub utilization: Measured<f64>,
    /// `utilization / iops`, both over the whole window: Friedman's service time by the utilization law. On a
    /// device that works in parallel, it is the mean time between completions while busy.
    pub service_ns: Measured<Estimate>,
    /// Share of the latency that the device's own counters include, above 0 and at most 1. The rest is the
    /// path between program and device. Both are over the whole window.
    pub device_share: Measured<f64>,
    /// CPU time charged to the program per request.
    pub cpu_us_per_io: Measured<Estimate>,
    /// Whether the interval of the rate reached the requested precision.
    pub precise: bool,
}

/// Minimum requests of a visit for percentiles, as a multiple of the queue depth. The first requests find a
/// queue that is not full yet.
const FILLED: u64 = 10;

impl Cell {
    /// Whether its visits are long enough for their queue depth, so that its percentiles describe a full
    /// queue.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        let visits = self.trial_ids.len() as u64;
        let depth = u64::from(self.workload.depth);
        self.workload.arrival != Arrival::Closed
            || depth <= 1
            || self.ios >= FILLED * depth * visits
    }

    /// A percentile of the latency in nanoseconds; `None` with too few requests.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<f64> {
        self.histogram.percentile(share).filter(|_| self.is_filled())
    }
}

/// A limit on requests or bytes per second above the medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cap {
    /// The limited operation; null if the limit applies to reads and writes.
    pub op: Option<OpKind>,
    /// Whether it limits bytes, not requests.
    pub bytes: bool,
    /// Bytes or requests per second: the mean over the visits that reached it.
    pub per_s: Estimate,
    /// Number of cells that reached it.
    pub cells: u32,
    /// A product with a published limit at that rate; null if none is known.
    pub published: Option<String>,
}

impl Cap {
    /// The limit: `3,000 IOPS`, `125 MiB/s`. Its interval, over the visits, is left out: beside the maximum
    /// rates of the same page, whose interval is for another run, a reader would not know which holds.
    #[must_use]
    pub fn text(&self) -> String {
        let level = match self.bytes {
            true => format_binary_rate(self.per_s.value),
            false => {
                // Round to the last digit that the interval supports.
                let unit =
                    libm::pow(10.0, libm::ceil(libm::log10(self.per_s.half_width().max(1.0))));
                format_whole_iops(libm::round(self.per_s.value / unit) * unit)
            }
        };
        self.op.map_or(level.clone(), |op| format!("{level} of {}", op.plural()))
    }
}

/// One load that ran for minutes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sustained {
    /// The load.
    pub workload: Workload,
    /// How long it ran, without the time after a step.
    pub ran_ns: Nanos,
    /// Bytes transferred in that time.
    pub bytes: Bytes,
    /// Requests per second in that time.
    pub iops: Estimate,
    /// The step that followed; null if the rate stayed.
    pub step: Option<RateStep>,
}

/// A drop of the rate during a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateStep {
    /// The cause, as far as the rate shows it.
    pub cause: StepCause,
    /// Requests per second after the step.
    pub iops: Estimate,
    /// Length of the pause in the load.
    pub rest_ns: Nanos,
    /// Pause after which the device could repeat the amount of work before the step at the faster rate,
    /// estimated from the effect of `rest_ns`; or why that is unknown.
    pub back_after_ns: Measured<Estimate>,
}

/// Why a rate drops during a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepCause {
    /// The rate after the step is constant, or reads dropped too: the burst credit above a cap was used up.
    Credit,
    /// Only writes dropped: a faster part of the drive, or its buffer, was full.
    WriteCache,
}

/// Reads at a rate so low that each one found the device idle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoneRead {
    /// Reads per second, evenly spaced.
    pub rate_per_s: u64,
    /// Median latency. With so few requests, one that met other work would change the mean.
    pub latency_ns: Estimate,
    /// Median latency of the same reads back to back.
    pub back_to_back_ns: Estimate,
    /// Latency added by the pause; zero if the two medians are not distinguishable.
    pub added_ns: Estimate,
}

/// Medians over the visits' mean latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MedianVisit {
    /// Of all requests.
    pub latency_ns: f64,
    /// Reads only; absent if there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_latency_ns: Option<f64>,
    /// Writes only; absent if there are only reads or only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_latency_ns: Option<f64>,
}

/// `y = slope x + intercept`, fitted to the latency at queue depth 1 as a function of request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceTimeFit {
    /// Operation.
    pub op: OpKind,
    /// Pattern.
    pub pattern: Pattern,
    /// Time per request that is independent of its size.
    pub intercept_ns: Estimate,
    /// Time per byte: the inverse of a transfer rate.
    pub slope_ns_per_byte: Estimate,
    /// Request sizes used for the fit.
    pub sizes_bytes: Vec<u64>,
    /// Chi-square per degree of freedom. The variance of a point is that of its cell plus that of the line as
    /// a model (3 % of the time, one standard deviation). The value is about 1 or less if the line fits.
    pub reduced_chi_square: f64,
    /// Largest relative distance of a fitted point from the line.
    pub max_residual_rel: f64,
    /// Measured points that were not used for the fit.
    pub left_out: Vec<LeftOut>,
}

/// A point that a fit excludes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Request size.
    pub bytes: u64,
    /// Measured time.
    pub measured_ns: f64,
    /// Measured minus fitted time; negative if the device is faster than the line.
    pub residual_ns: f64,
}

/// The maximum measured rates, each with the interval for another run ([`Profile::rerun`]); null if that
/// direction was not measured.
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

/// The shares of the maximum rate for which a latency is given, if known.
pub const SATURATIONS: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// Expected latency of an open load of random requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// Operation.
    pub op: OpKind,
    /// Request size.
    pub bs_bytes: u64,
    /// Share of the measured maximum rate, 0 to 1.
    pub saturation: f64,
    /// Requests per second at that share of the maximum.
    pub iops: f64,
    /// Mean latency by the load-dependent model, Poisson arrivals.
    pub latency_ns: Estimate,
    /// Mean latency by M/M/1 with S = 1/maximum rate, for comparison only.
    pub mm1_response_ns: f64,
    /// M/M/1 latency divided by that of the load-dependent model, minus one.
    pub mm1_error_rel: f64,
}

/// One recommendation with its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Its subject: `read depth`, `sequential request size`, `cache mode`, ….
    pub subject: String,
    /// The recommended value.
    pub recommendation: String,
    /// The measured numbers that support it.
    pub because: String,
    /// What the second-best choice would cost.
    pub next_best: String,
    /// How it contradicts a common rule of thumb, if it does.
    pub against_rule: Option<String>,
    /// Its largest gain: rate or throughput with it divided by that without it, with the 95 % interval. Null
    /// if the gain is not a ratio, or zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Estimate>,
    /// Its cost or risk; null if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
}

//! The comparison document: what differs between two measurements, and which conclusions that allows.
//!
//! A comparison is computed from the documents that it compares. It has no measurement of its own. For each
//! cell and quantity it has both values, their ratio with an interval, and a verdict with its reason. The
//! intervals hold for all rows of the table together. The conditions that differ come first, because they may
//! explain every number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` value of a comparison.
pub const COMPARISON_SCHEMA: &str = "halfpower/comparison/1";

/// What one side of a comparison consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedKind {
    /// Trials.
    Trial,
    /// Experiments.
    Experiment,
    /// Profiles.
    Profile,
    /// Rows of a trace in SQLIO's format.
    Trace,
}

/// The unit of observation. The variance is taken between units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedUnit {
    /// Blocks of an experiment. Each block contains every combination once.
    Block,
    /// Visits of a cell of a profile.
    Visit,
    /// Whole profiles or experiments, at least three.
    Run,
    /// Trials, or rows of a trace.
    Trial,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// As the user named it.
    pub given: String,
    /// What it consists of.
    pub kind: ComparedKind,
    /// Ids of the documents; for a trace, the hash of its text.
    pub ids: Vec<String>,
    /// The levels of axes that select this side from an experiment; empty for all of it.
    pub arm: BTreeMap<String, String>,
    /// When the first one began, RFC 3339 in UTC; null if simulated or unknown.
    pub time: Option<String>,
    /// Whether it was simulated.
    pub simulated: bool,
    /// Target of the measurement, as the user named it then.
    pub target: String,
    /// What its observations are.
    pub unit: ComparedUnit,
    /// Trials that were excluded, because they are invalid or missing.
    pub trials_left_out: u32,
    /// Standard error, as a share, of the level that all cells of a run share, between runs; null if unknown.
    pub level_se_rel: Option<f64>,
}

/// A condition that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCondition {
    /// Name of the condition.
    pub what: String,
    /// Its value on the first side. A condition that one side does not state is not compared.
    pub a: String,
    /// Its value on the second side.
    pub b: String,
}

/// The quantity that is compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Requests per second.
    RatePerS,
    /// Commits per second of all committers together.
    CommitsPerS,
    /// Mean latency, where it is not simply the inverse of the rate, as it is in a closed loop.
    LatencyMeanNs,
    /// 99th percentile of the latency.
    LatencyP99Ns,
    /// Mean latency from the submission instead of the intended arrival, if one side lacks the latter.
    CompletionMeanNs,
    /// 99th percentile of the latency from the submission.
    CompletionP99Ns,
    /// Mean latency of the flushes.
    FlushMeanNs,
    /// 99th percentile of the latency of the flushes.
    FlushP99Ns,
    /// CPU time charged to the program per request.
    CpuUsPerIo,
    /// The same in processor clocks, if the processors differ.
    CpuClocksPerIo,
}

impl ComparedMetric {
    /// Whether a larger value is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::RatePerS | Self::CommitsPerS)
    }
}

/// Verdict of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedVerdict {
    /// The second is better than the first.
    Better,
    /// The second is worse than the first.
    Worse,
    /// No detectable difference, and the interval allows only a small one.
    Same,
    /// Inconclusive: too few observations, or an interval that is too wide.
    CannotTell,
    /// The other side has no value to compare with.
    NotComparable,
}

/// One quantity of one cell, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRow {
    /// The quantity; its name includes the unit.
    pub metric: ComparedMetric,
    /// Value on the first side; null if it was not measured.
    pub a: Option<f64>,
    /// Value on the second side.
    pub b: Option<f64>,
    /// Number of observations on the first side.
    pub n_a: u32,
    /// Number of observations on the second side.
    pub n_b: u32,
    /// Whether the observations are paired by block. The test then uses the differences within pairs.
    pub paired: bool,
    /// Second side divided by the first: the ratio of geometric means over the observations.
    pub ratio: Option<f64>,
    /// Lower end of its interval. In 95 % of comparisons, all intervals of the table are correct together.
    pub ratio_low: Option<f64>,
    /// Upper end of its interval.
    pub ratio_high: Option<f64>,
    /// Probability that chance alone causes such a difference anywhere in the table (Holm). A difference is
    /// established if this is at most [`Comparison::false_alarm_rate`].
    pub p_adjusted: Option<f64>,
    /// The verdict.
    pub verdict: ComparedVerdict,
    /// Why the row is inconclusive or not comparable.
    pub reason: Option<String>,
    /// Whether the second side is worse by more than [`Comparison::fail_on_worse_rel`], and this is
    /// established.
    pub fails: bool,
}

/// One cell on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// Short description of the cell.
    pub label: String,
    /// Hash of the workload on the first side; null if the first side lacks this cell.
    pub cell_a: Option<String>,
    /// Hash of the workload on the second side.
    pub cell_b: Option<String>,
    /// Its quantities. A cell without a counterpart has one row without values.
    pub rows: Vec<ComparedRow>,
}

/// Cells of one kind, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedGroup {
    /// Short description of the kind.
    pub label: String,
    /// Number of cells of this kind.
    pub cells: u32,
    /// The geometric mean of their rates.
    pub row: ComparedRow,
}

/// Two measurements compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Hash of the compared documents.
    pub id: String,
    /// The first side.
    pub a: ComparedSide,
    /// The second side.
    pub b: ComparedSide,
    /// Conditions that differ.
    pub conditions: Vec<ComparedCondition>,
    /// The cells in the order of the first side, then the cells that only the second side has.
    pub cells: Vec<ComparedCell>,
    /// Geometric mean of the rates of all cells; null with fewer than three cells or without common blocks.
    pub overall: Option<ComparedRow>,
    /// The same for each kind of cell (direction, pattern, cache mode) with at least three cells.
    pub groups: Vec<ComparedGroup>,
    /// Probability that chance alone makes any row of the table look better or worse.
    pub false_alarm_rate: f64,
    /// Number of rows that were tested.
    pub tests: u32,
    /// The share by which a row must be worse to fail; null if no limit was set.
    pub fail_on_worse_rel: Option<f64>,
    /// Remarks that a reader of the table needs.
    pub notes: Vec<String>,
}

impl Comparison {
    /// All rows: the overall row, then groups, then cells.
    pub fn rows(&self) -> impl Iterator<Item = &ComparedRow> {
        let groups = self.groups.iter().map(|group| &group.row);
        self.overall.iter().chain(groups).chain(self.cells.iter().flat_map(|cell| &cell.rows))
    }

    /// Whether the two sides have no cell in common, so that nothing could be compared.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.cells.iter().any(|cell| cell.cell_a.is_some() && cell.cell_b.is_some())
    }

    /// Whether any row fails.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.rows().any(|row| row.fails)
    }

    /// Rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: ComparedVerdict) -> usize {
        self.rows().filter(|row| row.verdict == verdict).count()
    }
}

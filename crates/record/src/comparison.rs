//! The comparison document: what differs between two measurements, and what that can tell.
//!
//! A comparison is a function of the documents that it compares, so it holds no measurement of its
//! own: per cell and quantity the two values, their ratio with an interval that holds for all rows
//! of the table together, and a verdict with its reason. What differs in the conditions stands in
//! the document before any number, because it may explain all of them.

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
    /// Lines of a trace of SQLIO's form.
    Trace,
}

/// What the observations of a side are, of which the variance is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedUnit {
    /// Blocks of an experiment, each of which holds every combination once.
    Block,
    /// Visits of a cell of a profile.
    Visit,
    /// Whole profiles or experiments, three at least.
    Run,
    /// Trials, or lines of a trace.
    Trial,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// As the user named it.
    pub given: String,
    /// What it consists of.
    pub kind: ComparedKind,
    /// Ids of the documents; of a trace the hash of its text.
    pub ids: Vec<String>,
    /// The levels of axes by which it was picked out of an experiment; empty for all of it.
    pub arm: BTreeMap<String, String>,
    /// When the first of it began, RFC 3339 in UTC; null where simulated or not told.
    pub time: Option<String>,
    /// Whether it was simulated.
    pub simulated: bool,
    /// What was measured, as the user named it then.
    pub target: String,
    /// What its observations are.
    pub unit: ComparedUnit,
    /// Trials that are in no number here, because they are not valid or not at hand.
    pub trials_left_out: u32,
    /// Standard error, as a share, of the level that all its cells have in common against another
    /// run's; null where nothing is known of it.
    pub level_se_rel: Option<f64>,
}

/// A condition that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCondition {
    /// What.
    pub what: String,
    /// In the first; null where it is not known or there is none.
    pub a: Option<String>,
    /// In the second.
    pub b: Option<String>,
}

/// What is compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Requests per second.
    RatePerS,
    /// Mean latency, where a closed loop does not make it the inverse of the rate.
    LatencyMeanNs,
    /// 99th percentile of the latency.
    LatencyP99Ns,
    /// CPU time charged to the program per request.
    CpuUsPerIo,
    /// The same in clocks of the processor, where the processors differ.
    CpuClocksPerIo,
}

impl ComparedMetric {
    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        self == Self::RatePerS
    }
}

/// What a row comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedVerdict {
    /// The second is better than the first.
    Better,
    /// The second is worse than the first.
    Worse,
    /// No difference is seen, and the interval leaves room for a small one only.
    Same,
    /// The data cannot tell: too few observations, or an interval that leaves room for much.
    CannotTell,
    /// There is nothing to hold it against.
    NotComparable,
}

/// One quantity of one cell, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRow {
    /// What is compared; the name has the unit.
    pub metric: ComparedMetric,
    /// Its value in the first; null where it was not measured.
    pub a: Option<f64>,
    /// Its value in the second.
    pub b: Option<f64>,
    /// Observations behind it in the first.
    pub n_a: u32,
    /// Observations behind it in the second.
    pub n_b: u32,
    /// Whether observations were made in pairs (the same block), whose differences count.
    pub paired: bool,
    /// The second over the first: the ratio of geometric means over the observations.
    pub ratio: Option<f64>,
    /// Lower end of its interval; all intervals of the table hold together in 95 % of comparisons.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Probability of so large a difference by chance anywhere in the table (Holm); a difference is
    /// established where it is at most [`Comparison::false_alarm_rate`].
    pub p_adjusted: Option<f64>,
    /// What it comes to.
    pub verdict: ComparedVerdict,
    /// Why it is not told, where it is not.
    pub reason: Option<String>,
    /// Whether it is established that the second is worse by more than [`Comparison::fail_on_worse_rel`].
    pub fails: bool,
}

/// One cell on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCell {
    /// The cell in a few words.
    pub label: String,
    /// Identity of the workload in the first; null where it is not in it.
    pub cell_a: Option<String>,
    /// Identity of the workload in the second.
    pub cell_b: Option<String>,
    /// Its quantities; one row without values for a cell that has no partner.
    pub rows: Vec<ComparedRow>,
}

/// Cells of one kind, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedGroup {
    /// The kind in a few words.
    pub label: String,
    /// Cells of it.
    pub cells: u32,
    /// Their rates, by the geometric mean.
    pub row: ComparedRow,
}

/// Two measurements, held against each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Hash of what was compared.
    pub id: String,
    /// The first.
    pub a: ComparedSide,
    /// The second.
    pub b: ComparedSide,
    /// Conditions that differ.
    pub conditions: Vec<ComparedCondition>,
    /// The cells, in the order of the first; then those of the second alone.
    pub cells: Vec<ComparedCell>,
    /// Geometric mean over the rates of all cells; null below three cells or without common blocks.
    pub overall: Option<ComparedRow>,
    /// The same of each kind of cells (direction, pattern, cache mode) that has three at least.
    pub groups: Vec<ComparedGroup>,
    /// Probability that any row of the table is called better or worse by chance alone.
    pub false_alarm_rate: f64,
    /// Rows that were tested.
    pub tests: u32,
    /// The share by which a row must be worse to fail; null where nothing was to fail.
    pub fail_on_worse_rel: Option<f64>,
    /// What a reader must know of the table.
    pub notes: Vec<String>,
}

impl Comparison {
    /// All rows: of all cells together, of groups, of cells.
    pub fn rows(&self) -> impl Iterator<Item = &ComparedRow> {
        let groups = self.groups.iter().map(|group| &group.row);
        self.overall.iter().chain(groups).chain(self.cells.iter().flat_map(|cell| &cell.rows))
    }

    /// Whether no cell has a partner, so that nothing could be compared.
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

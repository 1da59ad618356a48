//! The cost-fit document: CPU cost per request as a function of request size, for each cache mode.

use crate::{Bytes, CacheMode, Environment, Estimate, Finding, Measured, OpKind, Pattern, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a cost fit.
pub const COST_FIT_SCHEMA: &str = "halfpower/cost-fit/1";

/// Fixed and marginal CPU cost of a request, through the page cache and with direct I/O, and the size at
/// which they are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostFit {
    /// [`COST_FIT_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7.
    pub id: String,
    /// When it began, RFC 3339 in UTC.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The targets that were read or written.
    pub targets: Vec<Target>,
    /// Operation.
    pub op: OpKind,
    /// Pattern.
    pub pattern: Pattern,
    /// Queue depth.
    pub depth: u32,
    /// The area that was used, small enough to stay in the page cache.
    pub area_bytes: Bytes,
    /// One line per cache mode.
    pub modes: Vec<CostLine>,
    /// Request size at which buffered and direct requests cost the same.
    pub break_even_bytes: Measured<Estimate>,
    /// Findings on whether the numbers can be trusted.
    pub findings: Vec<Finding>,
    /// Conditions.
    pub environment: Option<Environment>,
}

/// CPU cost as a function of request size, in one cache mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostLine {
    /// The cache mode.
    pub cache: CacheMode,
    /// Measured costs, by size.
    pub points: Vec<CostPoint>,
    /// The fitted line; if there is none, the reason.
    pub line: Measured<CostModel>,
}

/// Cost of one request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostPoint {
    /// Request size.
    pub bytes: Bytes,
    /// CPU time charged per request, µs, over the visits.
    pub us_per_io: Estimate,
    /// Measured minus the line, µs; null without a line.
    pub residual_us: Option<f64>,
}

/// `cost = fixed + marginal * size`, weighted least squares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostModel {
    /// Cost of a request of size zero, µs.
    pub fixed_us: Estimate,
    /// Cost per KiB, µs.
    pub us_per_kib: Estimate,
    /// About 1 if a line describes the points within their errors; much larger otherwise.
    pub reduced_chi_square: f64,
}

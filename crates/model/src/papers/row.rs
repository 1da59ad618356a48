//! Defines the report: each published value with its reproduction.

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

/// The `schema` value of the document.
pub const PAPERS_SCHEMA: &str = "halfpower/papers/1";

/// The papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Paper {
    /// Riedel, van Ingen and Gray 1997.
    Riedel,
    /// Chung, Gray, Worthington and Horst 2000.
    Chung,
    /// Friedman.
    Friedman,
}

impl Paper {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Riedel, Self::Chung, Self::Friedman];

    /// Its name in flags and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Riedel => "riedel",
            Self::Chung => "chung",
            Self::Friedman => "friedman",
        }
    }

    /// The request sizes of its axes, in KB, and of other quantities that its authors vary in the same
    /// steps.
    #[must_use]
    pub const fn sizes(self) -> &'static [f64] {
        match self {
            Self::Riedel => &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 192.0, 256.0],
            Self::Chung => &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0],
            Self::Friedman => &[4.0, 8.0, 16.0, 32.0, 64.0],
        }
    }

    /// Authors, title, year.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Riedel => "Riedel, van Ingen, Gray: Sequential I/O on Windows NT 4.0 (1997)",
            Self::Chung => {
                "Chung, Gray, Worthington, Horst: Windows 2000 Disk IO Performance (2000)"
            }
            Self::Friedman => "Friedman: A simplified approach to Windows disk tuning",
        }
    }
}

/// How a value is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// By a formula from other published values.
    Derived,
    /// By a simulated run.
    Simulated,
    /// By simulated runs, for a series of which some points were used to fit a parameter. Only the other
    /// points are judged.
    HeldOut,
    /// By a simulated run with a parameter fitted on this value: shown, never counted.
    Fitted,
    /// The same measurement as another row, which is counted.
    Repeated,
    /// Not a measurement: the transcribers computed it from other values of the paper.
    OwnComputation,
    /// Not reproduced, for the reason given.
    NotTestable,
}

impl Class {
    /// All classes, in the order of the report.
    pub const ALL: [Self; 7] = [
        Self::Simulated,
        Self::HeldOut,
        Self::Fitted,
        Self::Derived,
        Self::Repeated,
        Self::OwnComputation,
        Self::NotTestable,
    ];

    /// Whether it is a published measurement that runs can be compared with, counted once.
    #[must_use]
    pub const fn is_testable(self) -> bool {
        self.is_judged() || matches!(self, Self::Fitted)
    }

    /// Whether it counts as a test of the simulator: not all of its points were used for fitting.
    #[must_use]
    pub const fn is_judged(self) -> bool {
        matches!(self, Self::Simulated | Self::HeldOut)
    }

    /// Its name in data files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Derived => "derived",
            Self::Simulated => "simulated",
            Self::HeldOut => "held out",
            Self::Fitted => "fitted",
            Self::Repeated => "repeated",
            Self::OwnComputation => "own computation",
            Self::NotTestable => "not testable",
        }
    }
}

/// Result of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the tolerance.
    Reproduced,
    /// Outside the tolerance.
    Deviates,
    /// The row could not be computed, so there is no value to compare.
    Failed,
    /// Shown for comparison, not counted: fitted, or counted elsewhere.
    Shown,
    /// Not attempted.
    NotTried,
}

impl Verdict {
    /// Whether a row with this verdict fails.
    #[must_use]
    pub const fn fails(self) -> bool {
        matches!(self, Self::Deviates | Self::Failed)
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Deviates => "deviates",
            Self::Failed => "failed",
            Self::Shown => "shown",
            Self::NotTried => "not tried",
        }
    }
}

/// One point of a series, or the one value of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Value on the x axis; null for a claim.
    pub x: Option<f64>,
    /// As published; null if the paper's words state no number.
    pub published: Option<f64>,
    /// As reproduced; null if not reproduced.
    pub reproduced: Option<f64>,
    /// Whether a parameter was fitted on it: it is shown, but not judged.
    pub fitted: bool,
}

impl Point {
    /// Reproduced over published, minus one; `None` if either is missing or the published value is 0.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let (published, reproduced) = (self.published?, self.reproduced?);
        (published != 0.0).then(|| reproduced / published - 1.0)
    }
}

/// One published claim or series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The number of a claim or the name of a series.
    pub id: String,
    /// The paper.
    pub paper: Paper,
    /// Figure, table or section.
    pub figure: String,
    /// Chart of the series; null for a claim.
    pub chart: Option<String>,
    /// What the value describes.
    pub subject: String,
    /// Unit of the values.
    pub unit: String,
    /// How it is reproduced.
    pub class: Class,
    /// As printed in the paper; for a series its range.
    pub published: String,
    /// The same as reproduced; null if not reproduced.
    pub reproduced: Option<String>,
    /// The points of a series, or one point without x per value of a claim.
    pub points: Vec<Point>,
    /// Reproduced over published, minus one. For a series, the median of the absolute deviations. Null if
    /// nothing can be compared.
    pub deviation: Option<f64>,
    /// The deviation that is largest in absolute value.
    pub deviation_max: Option<f64>,
    /// The allowed deviation, in words.
    pub tolerance: String,
    /// Result of the comparison.
    pub verdict: Verdict,
    /// Why it is not testable, where it is counted instead, or what failed; empty otherwise.
    pub reason: String,
    /// The expression that computes the value; empty if none.
    pub method: String,
    /// The simulated runs that it uses, as commands.
    pub runs: Vec<String>,
}

/// How one chart is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chart {
    /// Name, unique within its paper.
    pub name: String,
    /// The paper.
    pub paper: Paper,
    /// Figure or table.
    pub figure: String,
    /// Caption.
    pub title: String,
    /// Title of the x axis, with its unit.
    pub x_title: String,
    /// Whether the x axis is logarithmic.
    pub x_log: bool,
    /// Title of the y axis, with its unit.
    pub y_title: String,
}

/// Number of rows of one class, with their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClassCount {
    /// The class.
    pub class: Class,
    /// Number of rows.
    pub rows: usize,
    /// Number of series among them.
    pub series: usize,
    /// Rows within their tolerance.
    pub reproduced: usize,
    /// Series among these.
    pub series_reproduced: usize,
}

/// The comparison of all papers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// [`PAPERS_SCHEMA`].
    pub schema: String,
    /// Version of halfpower that wrote this.
    pub halfpower_version: String,
    /// Parts that were switched off in every simulated drive; empty in a regular run.
    pub without: Vec<String>,
    /// Machines that were simulated by the user's description; empty in a regular run.
    pub machines: Vec<String>,
    /// All rows, by paper and figure.
    pub rows: Vec<Row>,
    /// The charts that series belong to.
    pub charts: Vec<Chart>,
    /// Rows by class.
    pub counts: Vec<ClassCount>,
    /// Distinct published measurements that runs can be compared with.
    pub testable: usize,
    /// How many of them are reproduced, at points that no parameter was fitted on.
    pub reproduced: usize,
    /// Whether the shares of derived rows and of series reach the thresholds.
    pub met: bool,
    /// Minimum share of derived rows that must be reproduced.
    pub threshold_derived: f64,
    /// Minimum share of simulated and held-out series that must be reproduced.
    pub threshold_series: f64,
}

/// The JSON Schema of the report. It is generated from the types and committed under `docs/schema/`, with a
/// fixed `schema` value.
#[must_use]
pub fn papers_schema() -> Value {
    let mut schema = schema_for!(Report).to_value();
    schema["$id"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema["properties"]["schema"]["const"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema
}

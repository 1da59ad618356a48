//! A published value beside its reproduction, and the document of all of them.

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

    /// The request sizes of its axes, in KB, and what its authors count in the same steps.
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

/// How a value can come about a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// From other published values by a formula.
    Derived,
    /// From a simulated run.
    Simulated,
    /// A series from simulated runs, some points of which a parameter was fitted on: the others are
    /// judged.
    HeldOut,
    /// From a simulated run whose parts were fitted on this very value: shown, never counted.
    Fitted,
    /// The same measurement as another row, which is counted.
    Repeated,
    /// No measurement: transcribers of the paper computed it from its other values.
    OwnComputation,
    /// Not at all, for the reason given.
    NotTestable,
}

impl Class {
    /// All of them, in the order of the report.
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

    /// Whether runs are judged by it: no parameter was fitted on all of it.
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

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within its tolerance.
    Reproduced,
    /// Not within it.
    Deviates,
    /// There is no value to compare: what was asked could not be carried out.
    Failed,
    /// Shown for comparison, not counted: fitted, or counted elsewhere.
    Shown,
    /// Not tried.
    NotTried,
}

impl Verdict {
    /// Whether a row with it fails.
    #[must_use]
    pub const fn fails(self) -> bool {
        matches!(self, Self::Deviates | Self::Failed)
    }

    /// What a reader sees.
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
    /// Abscissa; null for a claim.
    pub x: Option<f64>,
    /// As published; null where the paper's words state no number.
    pub published: Option<f64>,
    /// As reproduced; null where it is not.
    pub reproduced: Option<f64>,
    /// Whether a parameter was fitted on it: it is shown, and judged by nothing.
    pub fitted: bool,
}

impl Point {
    /// Reproduced over published, minus one.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let (published, reproduced) = (self.published?, self.reproduced?);
        (published != 0.0).then(|| reproduced / published - 1.0)
    }
}

/// One published claim or series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Its id: a claim's number or a series' name.
    pub id: String,
    /// The paper.
    pub paper: Paper,
    /// Figure, table or section.
    pub figure: String,
    /// Chart that it is a series of; null for a claim.
    pub chart: Option<String>,
    /// What it is about.
    pub subject: String,
    /// Unit of the values.
    pub unit: String,
    /// How it comes about a second time.
    pub class: Class,
    /// As the paper prints it; of a series the range.
    pub published: String,
    /// The same as reproduced; null where it is not.
    pub reproduced: Option<String>,
    /// Point by point; one without abscissa per value of a claim.
    pub points: Vec<Point>,
    /// Reproduced over published, minus one; of a series the median of the sizes of that. Null
    /// where nothing can be compared.
    pub deviation: Option<f64>,
    /// The largest in size.
    pub deviation_max: Option<f64>,
    /// What is allowed.
    pub tolerance: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it is not testable, where it is counted instead, or what went wrong; empty otherwise.
    pub reason: String,
    /// The expression behind the value; empty where there is none.
    pub method: String,
    /// The simulated runs in it, as commands.
    pub runs: Vec<String>,
}

/// How one chart is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Chart {
    /// Name, unique in its paper.
    pub name: String,
    /// The paper.
    pub paper: Paper,
    /// Figure or table.
    pub figure: String,
    /// What it shows.
    pub title: String,
    /// Title of the abscissa, with its unit.
    pub x_title: String,
    /// Whether the abscissa is logarithmic.
    pub x_log: bool,
    /// Title of the ordinate, with its unit.
    pub y_title: String,
}

/// Rows of one class, and what came of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClassCount {
    /// The class.
    pub class: Class,
    /// How many.
    pub rows: usize,
    /// How many of them are series.
    pub series: usize,
    /// Rows within their tolerance.
    pub reproduced: usize,
    /// Series among these.
    pub series_reproduced: usize,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// [`PAPERS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// What was switched off in every simulated drive; empty in an honest run.
    pub without: Vec<String>,
    /// Machines that were simulated by the reader's description; empty in an honest run.
    pub machines: Vec<String>,
    /// All rows, by paper and figure.
    pub rows: Vec<Row>,
    /// The charts that series belong to.
    pub charts: Vec<Chart>,
    /// Rows by class.
    pub counts: Vec<ClassCount>,
    /// Distinct published measurements that runs can be compared with.
    pub testable: usize,
    /// Those of them that are reproduced, at points that no parameter was fitted on.
    pub reproduced: usize,
    /// Whether the shares of derived rows and of series reach the thresholds.
    pub met: bool,
    /// The share of derived rows that must be reproduced.
    pub threshold_derived: f64,
    /// The share of simulated and held-out series that must be reproduced.
    pub threshold_series: f64,
}

/// The JSON Schema of the document, generated from the types and committed under `docs/schema/`, with
/// the document's own name pinned.
#[must_use]
pub fn papers_schema() -> Value {
    let mut schema = schema_for!(Report).to_value();
    schema["$id"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema["properties"]["schema"]["const"] = Value::String(PAPERS_SCHEMA.to_owned());
    schema
}

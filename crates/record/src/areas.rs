//! The areas of a check: several files of one disk, because files of one disk differ.

use crate::{Bytes, Locality, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the bytes of a test file came to their place.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// Through the page cache in one go and flushed at its end, as cp, dd and fio write a file.
    #[default]
    ThroughCache,
    /// Through the page cache in small pieces with a flush after every few, as a database grows.
    Grown,
    /// Allocated whole and written past the page cache in large pieces, as virtual machines and some databases write theirs.
    PastCache,
}

impl Written {
    /// What such a file is called in a sentence: "written through the page cache".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ThroughCache => "written through the page cache",
            Self::Grown => "grown in small pieces",
            Self::PastCache => "written past the page cache",
        }
    }
}

/// One of the test files of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFile {
    /// From 0.
    pub number: u32,
    /// How it was written.
    pub written: Written,
}

/// The percentiles that are told of latencies.
pub const PERCENTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// One of the files that a check measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredArea {
    /// As the user named it.
    pub path: String,
    /// Which test file it was; null for a file that was there.
    pub test_file: Option<TestFile>,
    /// Bytes that were measured.
    pub size_bytes: Bytes,
    /// Pieces on the device; null where the file system does not tell.
    pub pieces: Option<u64>,
}

impl MeasuredArea {
    /// What it is called in a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        self.test_file.map_or_else(|| self.path.clone(), |file| file.written.words().to_owned())
    }

    /// Whether it came to its place as most files do, through the page cache. The rates of a profile are
    /// those of such files.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        self.test_file.is_none_or(|file| file.written != Written::PastCache)
    }
}

/// How far the areas lie apart under one kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AreaSpread {
    /// Operation.
    pub op: OpKind,
    /// Where its requests go.
    pub locality: Locality,
    /// Whether one request was outstanding at a time, or more.
    pub alone: bool,
    /// Rate of each area over the geometric mean of the ordinary ones, in the order of
    /// the profile's areas; null for one that was not measured under such loads.
    pub rates: Vec<Option<f64>>,
    /// Standard error of each of them, as a logarithm.
    pub own_se: f64,
    /// Standard error, as a logarithm, of the rate of a further ordinary file of this disk.
    pub rate_se: f64,
    /// The same of its 50th, 90th and 99th percentile of latency, with the error that a cell's own visits
    /// leave; null with too few requests.
    pub percentile_ses: [Option<f64>; 3],
}

/// What another run would differ by, on another file of a disk and at another hour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reruns {
    /// Standard error of the level of the whole disk (`Profile::level_se_rel`).
    pub level_se: f64,
    /// How far its areas lie apart, by kind of load.
    pub areas: Vec<AreaSpread>,
}

impl Reruns {
    /// Standard error, as a logarithm, of the areas under loads like this one: those of the same kind,
    /// else of the same operation, else any; zero where one area was measured.
    #[must_use]
    pub fn areas_se(&self, op: OpKind, locality: Locality, alone: bool) -> f64 {
        self.spread(op, locality, alone).map_or(0.0, |spread| spread.rate_se)
    }

    /// The same of a percentile, by its place in [`PERCENTILES`]; that of rates where percentiles do not
    /// tell one.
    #[must_use]
    pub fn percentile_se(&self, op: OpKind, locality: Locality, alone: bool, which: usize) -> f64 {
        let Some(spread) = self.spread(op, locality, alone) else { return 0.0 };
        spread.percentile_ses[which].unwrap_or(0.0).max(spread.rate_se)
    }

    fn spread(&self, op: OpKind, locality: Locality, alone: bool) -> Option<&AreaSpread> {
        let unlike = |it: &&AreaSpread| (it.op != op, it.locality != locality, it.alone != alone);
        self.areas.iter().min_by_key(unlike)
    }
}

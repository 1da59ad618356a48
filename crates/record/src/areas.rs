//! The areas of a check: several files on one disk. A check measures several because files on one disk differ
//! in speed.

use crate::{Bytes, Locality, OpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a test file was written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// Written through the page cache in one go and flushed at the end, as cp, dd and fio write a file.
    #[default]
    ThroughCache,
    /// Written through the page cache in small pieces, with a flush after every few, as a database grows its
    /// file.
    Grown,
    /// Allocated whole, then written with direct I/O in large pieces, as virtual machines and some databases
    /// do.
    PastCache,
    /// Written through the page cache in one go, but with text instead of random bytes. A device or file
    /// system that compresses spends CPU time on text.
    Text,
    /// Allocated whole but not written, as fio leaves the file of a job that only writes. The file system
    /// records the first write to each block as a change of the file.
    Reserved,
}

impl Written {
    /// Describes how the file was written, in words that fit into a sentence: "written through the page
    /// cache".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ThroughCache => "written through the page cache",
            Self::Grown => "grown in small pieces",
            Self::PastCache => "written with direct I/O",
            Self::Text => "containing text",
            Self::Reserved => "allocated but not written",
        }
    }
}

/// One of the test files of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestFile {
    /// Number of the test file, from 0.
    pub number: u32,
    /// How it was written.
    pub written: Written,
}

/// The latency percentiles that are reported, as shares.
pub const PERCENTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// One of the files that a check measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredArea {
    /// Its path, as the user gave it.
    pub path: String,
    /// The test file that was measured; null for a file of the user.
    pub test_file: Option<TestFile>,
    /// Size of the measured part.
    pub size_bytes: Bytes,
    /// Number of extents; null if the file system does not report them.
    pub pieces: Option<u64>,
}

impl MeasuredArea {
    /// Describes the area in words that fit into a sentence: "written through the page cache (3 pieces)".
    #[must_use]
    pub fn words(&self) -> String {
        let name = self.test_file.map_or(self.path.as_str(), |file| file.written.words());
        match self.pieces {
            Some(pieces) => format!("{name} ({})", crate::counted(pieces as f64, "piece")),
            None => name.to_owned(),
        }
    }

    /// Whether the file was written through the page cache, as most files are. The rates in a profile are for
    /// such files.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        self.test_file.is_none_or(|file| file.written != Written::PastCache)
    }
}

/// How much the areas differ under one kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AreaSpread {
    /// Operation.
    pub op: OpKind,
    /// Where the requests go.
    pub locality: Locality,
    /// Whether the queue depth was 1.
    pub alone: bool,
    /// Rate of each area divided by the geometric mean of the ordinary areas, in the order of the profile's
    /// areas; null for an area without such loads.
    pub rates: Vec<Option<f64>>,
    /// Standard error of each rate, as a logarithm.
    pub own_se: f64,
    /// Standard error, as a logarithm, of the rate of another ordinary file on this disk.
    pub rate_se: f64,
    /// The same for the 50th, 90th and 99th percentile of latency. It includes the error between a cell's own
    /// visits. Null with too few requests.
    pub percentile_ses: [Option<f64>; 3],
}

/// Error of a two-second run compared with the mean of a check. Noise that lasts longer than one visit does
/// not average out in such a short run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSpread {
    /// Standard error of the rate, as a logarithm.
    pub rate_se: f64,
    /// The same for the 50th, 90th and 99th percentile of latency; null with too few requests.
    pub percentile_ses: [Option<f64>; 3],
}

/// The errors to expect when a load is rerun later, on another file of the disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reruns {
    /// Standard error of the rate change that all areas share (`Profile::common_se`).
    pub common_se: f64,
    /// The part of it that comes from the noise of a short run ([`RunSpread::rate_se`]).
    pub run_se: f64,
    /// [`Reruns::common_se`] for the percentiles in [`PERCENTILES`]; at least the error of the rates.
    pub common_percentile_ses: [f64; 3],
    /// How much the areas differ, by kind of load.
    pub areas: Vec<AreaSpread>,
}

impl Reruns {
    /// Standard error between areas, as a logarithm. It is for the same kind of load if measured, otherwise
    /// for the same operation, otherwise for any load. Zero if only one area was measured.
    #[must_use]
    pub fn areas_se(&self, op: OpKind, locality: Locality, alone: bool) -> f64 {
        areas_se(&self.areas, op, locality, alone)
    }

    /// The same for a percentile, by its index in [`PERCENTILES`]; at least the error of the rates.
    #[must_use]
    pub fn percentile_se(&self, op: OpKind, locality: Locality, alone: bool, which: usize) -> f64 {
        let Some(spread) = spread(&self.areas, op, locality, alone) else { return 0.0 };
        spread.percentile_ses[which].unwrap_or(0.0).max(spread.rate_se)
    }
}

/// See [`Reruns::areas_se`].
pub(crate) fn areas_se(areas: &[AreaSpread], op: OpKind, locality: Locality, alone: bool) -> f64 {
    spread(areas, op, locality, alone).map_or(0.0, |spread| spread.rate_se)
}

fn spread(
    areas: &[AreaSpread],
    op: OpKind,
    locality: Locality,
    alone: bool,
) -> Option<&AreaSpread> {
    let unlike = |it: &&AreaSpread| (it.op != op, it.locality != locality, it.alone != alone);
    areas.iter().min_by_key(unlike)
}

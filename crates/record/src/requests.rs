//! The summary of recorded requests: the document of `record --trace-io`.

use crate::{Bytes, Nanos, SizeShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of such a summary.
pub const REQUESTS_SCHEMA: &str = "halfpower/requests/1";

/// Summary of recorded requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsSummary {
    /// [`REQUESTS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The file with the requests.
    pub source: String,
    /// Hash of the requests.
    pub digest: String,
    /// Their number.
    pub requests: u64,
    /// From the first to the last.
    pub span_ns: Nanos,
    /// Devices or files that they went to.
    pub devices: u32,
    /// Number of flushes recorded with them.
    pub flushes: u64,
    /// Number of discards recorded with them.
    pub discards: u64,
    /// Requests that are missing because the buffer was full; null for a file of another tool, which does not
    /// report them.
    pub lost: Option<u64>,
    /// The end of the furthest request.
    pub reach: Bytes,
    /// The reads; null without reads.
    pub read: Option<RequestsSide>,
    /// The writes; null without writes.
    pub write: Option<RequestsSide>,
    /// Share of the reads that a cache of each size would have served; empty without reads.
    pub cache: Vec<CachePoint>,
}

/// Hit rate of a cache that keeps the most recently used pages and starts empty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachePoint {
    /// Its size.
    pub bytes: Bytes,
    /// Share of the pages read that were in the cache.
    pub read_hit_share: f64,
}

/// Read hit share for a cache of `bytes`, from the points of a curve. Between points it interpolates on the
/// logarithm of the size. Beyond the last point it returns that point's share.
#[must_use]
pub fn read_hit_share(curve: &[CachePoint], bytes: u64) -> f64 {
    let Some(at) = curve.iter().position(|point| point.bytes.0 >= bytes) else {
        return curve.last().map_or(0.0, |last| last.read_hit_share);
    };
    let upper = &curve[at];
    let Some(lower) = at.checked_sub(1).map(|below| &curve[below]) else {
        return upper.read_hit_share * bytes as f64 / upper.bytes.0 as f64;
    };
    let log = |bytes: u64| libm::log(bytes.max(1) as f64);
    let part = (log(bytes) - log(lower.bytes.0)) / (log(upper.bytes.0) - log(lower.bytes.0));
    lower.read_hit_share + part * (upper.read_hit_share - lower.read_hit_share)
}

/// Share of the largest cache's hits that is worth its memory. Beyond it, each gain takes more memory than
/// the one before.
const WORTH: f64 = 0.8;

/// The smallest cache of a curve with most of the hits of the largest; `None` without a curve.
#[must_use]
pub fn enough_cache(curve: &[CachePoint]) -> Option<CachePoint> {
    let most = curve.last()?.read_hit_share;
    curve.iter().copied().find(|point| point.read_hit_share >= WORTH * most)
}

impl RequestsSummary {
    /// Reads and writes, if there are any, each with its name.
    pub fn sides(&self) -> impl Iterator<Item = (&'static str, &RequestsSide)> {
        let sides = [("reads", &self.read), ("writes", &self.write)];
        sides.into_iter().filter_map(|(name, side)| Some((name, side.as_ref()?)))
    }
}

/// Requests of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsSide {
    /// Their number.
    pub requests: u64,
    /// Bytes that they transfer.
    pub bytes: Bytes,
    /// Requests per second, over the whole recording.
    pub per_s: f64,
    /// The most frequent sizes and the largest, with their shares.
    pub sizes: Vec<SizeShare>,
    /// Share of requests that begin where one of the last sixteen of the same direction ended.
    pub sequential_share: f64,
    /// Variance divided by mean of the number of arrivals in equal periods: 0 for equal intervals, 1 for
    /// independent users, more for bursts.
    pub dispersion: f64,
    /// Length of these periods.
    pub dispersion_over_ns: Nanos,
    /// Start of the first byte.
    pub begin: Bytes,
    /// End of the last byte.
    pub end: Bytes,
    /// Bytes accessed at least once, in pages of 4 KiB.
    pub touched: Bytes,
    /// Exponent of Zipf's law for the popularity of positions; null if the data do not differ from uniform
    /// popularity.
    pub zipf_theta: Option<f64>,
}

/// Maximum dispersion of requests at equal intervals, rather than at random.
const EVEN_MAX: f64 = 0.3;
/// Minimum dispersion of bursts.
const BURSTS_MIN: f64 = 1.3;

/// Distribution of arrivals over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At equal intervals.
    Even,
    /// At random, as from independent users.
    Chance,
    /// In bursts.
    Bursts,
}

impl RequestsSide {
    /// The distribution that the dispersion shows.
    #[must_use]
    pub fn spacing(&self) -> Spacing {
        match self.dispersion {
            ..EVEN_MAX => Spacing::Even,
            ..BURSTS_MIN => Spacing::Chance,
            _ => Spacing::Bursts,
        }
    }
}

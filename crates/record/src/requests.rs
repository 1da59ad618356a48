//! The summary of recorded requests: the document of `record --trace-io`.

use crate::{Bytes, Nanos, SizeShare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of such a summary.
pub const REQUESTS_SCHEMA: &str = "halfpower/requests/1";

/// Recorded requests, summed up.
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
    /// Flushes beside them.
    pub flushes: u64,
    /// Discards beside them.
    pub discards: u64,
    /// Requests that are missing because there was no room for them; null for a file of another tool,
    /// which does not tell.
    pub lost: Option<u64>,
    /// The end of the furthest request.
    pub reach: Bytes,
    /// The reads; null where there are none.
    pub read: Option<RequestsSide>,
    /// The writes; null where there are none.
    pub write: Option<RequestsSide>,
    /// What a cache of each size would have served of the reads; empty without reads.
    pub cache: Vec<CachePoint>,
}

/// What a cache that keeps the pages used last, empty at first, would have served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachePoint {
    /// Its size.
    pub bytes: Bytes,
    /// Share of the pages read that it held.
    pub read_hit_share: f64,
}

/// What a cache of so many bytes would have served of the reads, by the points of a curve: in between by the
/// logarithm of the size, beyond the last point as that.
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

/// Share of what the largest cache of a curve serves that is worth having: beyond it, each gain takes
/// more memory than the one before.
const WORTH: f64 = 0.8;

/// The smallest cache of a curve that serves most of what any does; `None` without a curve.
#[must_use]
pub fn enough_cache(curve: &[CachePoint]) -> Option<CachePoint> {
    let most = curve.last()?.read_hit_share;
    curve.iter().copied().find(|point| point.read_hit_share >= WORTH * most)
}

impl RequestsSummary {
    /// Reads and writes, as far as there are any, each with its name.
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
    /// The most frequent sizes, and the largest, with their shares.
    pub sizes: Vec<SizeShare>,
    /// Share that begins where one of the last sixteen of its direction ended.
    pub sequential_share: f64,
    /// Variance over mean of the number that arrives in equal times: 0 at equal distances, 1 for
    /// independent users, more in bursts.
    pub dispersion: f64,
    /// The times that it was counted in.
    pub dispersion_over_ns: Nanos,
    /// Where the first lies.
    pub begin: Bytes,
    /// Where the last ends.
    pub end: Bytes,
    /// Bytes that were touched at all, in pages of 4 KiB.
    pub touched: Bytes,
    /// Exponent of Zipf's law by which places are popular; null where places are not told apart from
    /// equally popular ones.
    pub zipf_theta: Option<f64>,
}

/// Dispersion below which requests arrive at equal distances rather than by chance.
const EVEN_MAX: f64 = 0.3;
/// Dispersion from which on requests arrive in bursts.
const BURSTS_MIN: f64 = 1.3;

/// How arrivals lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// At equal distances.
    Even,
    /// As those of independent users.
    Chance,
    /// Several at once.
    Bursts,
}

impl RequestsSide {
    /// What the dispersion says.
    #[must_use]
    pub fn spacing(&self) -> Spacing {
        match self.dispersion {
            ..EVEN_MAX => Spacing::Even,
            ..BURSTS_MIN => Spacing::Chance,
            _ => Spacing::Bursts,
        }
    }
}

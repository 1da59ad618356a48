//! A drive of extracted parameters, held against the service times of the real one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of such a document.
pub const DRIVE_SCHEMA: &str = "halfpower/drive/1";

/// What a drive's parameters come to, beside what the real drive did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveTruth {
    /// [`DRIVE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The file of parameters.
    pub drive: String,
    /// Its capacity in bytes.
    pub size_bytes: u64,
    /// The file of requests.
    pub requests_of: String,
    /// Requests, made again one at a time.
    pub requests: u64,
    /// Root of the mean square of the distance between the distributions of both times, at equal ranks, in
    /// nanoseconds.
    pub rms_ns: f64,
    /// That over the mean measured time (Ruemmler and Wilkes 1994).
    pub demerit: f64,
    /// Mean and percentiles, of all requests and of each direction.
    pub rows: Vec<DriveRow>,
    /// Both distributions, by rising rank; absent in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<DriveRank>,
}

/// The service times of both drives at one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveRank {
    /// Share of the requests that took less, 0 to 1.
    pub share: f64,
    /// Of the real drive, in nanoseconds.
    pub measured_ns: f64,
    /// Of the simulated one.
    pub simulated_ns: f64,
}

/// A statistic of service times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveRow {
    /// Of which requests: all, reads, writes.
    pub of: String,
    /// The quantity's identifier.
    pub quantity: String,
    /// Of the real drive, in nanoseconds.
    pub measured: f64,
    /// Of the simulated one.
    pub simulated: f64,
}

//! The document of `cost --price`: what disk accesses cost in money.
//!
//! The terms are Gray's. KAPS are kilobyte accesses per second, in practice random requests of the smallest
//! size. MAPS are megabyte accesses per second (Chung, Gray, Worthington, Horst 2000, tables 9 and 10).

use crate::{Bytes, Estimate, Finding, Sizing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a price document.
pub const PRICE_SCHEMA: &str = "halfpower/cost/1";

/// Price and performance of a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceDocument {
    /// [`PRICE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// Id of the profile that it was computed from.
    pub profile_id: String,
    /// Whether the profile is of a simulated target.
    pub simulated: bool,
    /// The target of the profile.
    pub target: String,
    /// Price of the disk; null if not given.
    pub price: Option<f64>,
    /// Its currency; empty without a price.
    pub currency: String,
    /// Capacity that the price is for.
    pub capacity_bytes: Bytes,
    /// Sequential rate used for MAPS, in bytes per second.
    pub sequential_bytes_per_s: Estimate,
    /// Size of the random requests used for KAPS.
    pub access_bytes: Bytes,
    /// One request at a time, and also the best queue depth if that is faster.
    pub rows: Vec<PriceRow>,
    /// Capacity per unit of money, bytes.
    pub bytes_per_price: Option<f64>,
    /// How many such disks saturate each named limit.
    pub fills: Vec<Fill>,
    /// Findings on the numbers.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Accesses per second at one queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceRow {
    /// Queue depth.
    pub depth: u32,
    /// Random accesses per second.
    pub kaps: Estimate,
    /// Megabyte accesses per second: 1/(1/KAPS + 1 MB/rate) at queue depth 1, and only the rate if requests
    /// overlap.
    pub maps: f64,
    /// KAPS per unit of money.
    pub kaps_per_price: Option<f64>,
    /// MAPS per unit of money.
    pub maps_per_price: Option<f64>,
    /// Money per KAPS.
    pub price_per_kaps: Option<f64>,
    /// Money per MAPS.
    pub price_per_maps: Option<f64>,
}

/// How many disks saturate a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// Name of the limit.
    pub name: String,
    /// Its capacity in bytes per second.
    pub bytes_per_s: f64,
    /// Number of disks with sequential reads.
    pub sequential: Sizing,
    /// Number of disks with random accesses of the KAPS size.
    pub random: Sizing,
}

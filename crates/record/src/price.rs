//! The document of `cost --price`: what accesses cost in money.
//!
//! The words are those of Gray: KAPS are kilobyte accesses per second, in practice random requests
//! of the smallest size; MAPS are megabyte accesses per second (Chung, Gray, Worthington, Horst
//! 2000, tables 9 and 10).

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
    /// The profile that it was computed from.
    pub profile_id: String,
    /// Whether that was of a simulated target.
    pub simulated: bool,
    /// The target of the profile.
    pub target: String,
    /// Price of the disk; null where none was given.
    pub price: Option<f64>,
    /// Its currency; empty where no price was given.
    pub currency: String,
    /// Capacity that the price is for.
    pub capacity_bytes: Bytes,
    /// Sequential rate that MAPS rest on, bytes per second.
    pub sequential_bytes_per_s: Estimate,
    /// Size of the random requests that KAPS rest on.
    pub access_bytes: Bytes,
    /// One request at a time, and where the device has more to give, the best depth.
    pub rows: Vec<PriceRow>,
    /// Capacity per unit of money, bytes.
    pub bytes_per_price: Option<f64>,
    /// How many such disks fill each limit that was named.
    pub fills: Vec<Fill>,
    /// What is to be known of the numbers.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Accesses at one depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceRow {
    /// Requests outstanding.
    pub depth: u32,
    /// Random accesses per second.
    pub kaps: Estimate,
    /// Megabyte accesses per second: 1/(1/KAPS + 1 MB/rate) one at a time, the rate alone where
    /// requests overlap.
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

/// How many disks fill something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// What is filled.
    pub name: String,
    /// What it carries, bytes per second.
    pub bytes_per_s: f64,
    /// By sequential reads.
    pub sequential: Sizing,
    /// By random accesses of the size of KAPS.
    pub random: Sizing,
}

//! The document of `design`: which disks, adapters and arrays to buy for a need, and what each part
//! of them would carry.
//!
//! Rates of disks and parts come from a price list or from saved profiles; loads are computed from
//! them by the formulae of arrays. Nothing of a configuration was measured.

use crate::{Bytes, Estimate, Finding, PriceRow, RaidLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a purchase.
pub const PURCHASE_SCHEMA: &str = "halfpower/purchase/1";

/// What the disks have to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PurchaseNeed {
    /// Random requests per second; 0 for none.
    pub random_iops: f64,
    /// Bytes of each.
    pub random_bytes: Bytes,
    /// Share of reads among them, 0 to 1.
    pub read_share: f64,
    /// Bytes per second that are read as a stream; 0 for none.
    pub stream_read_bytes_per_s: f64,
    /// Bytes per second that are written as a stream; 0 for none.
    pub stream_write_bytes_per_s: f64,
    /// Bytes of each request of a stream.
    pub stream_bytes: Bytes,
    /// Whether random requests and streams come at different times.
    pub apart: bool,
    /// Room for data; 0 where none is asked for.
    pub size_bytes: Bytes,
    /// Share of each part's rate that stays free, 0 to 1.
    pub headroom: f64,
    /// Any so many disks of an array may fail without loss of data.
    pub survive: u32,
    /// Whether the disks must carry the need after one of them has failed as well, at up to 100 %.
    pub carry_after_loss: bool,
    /// Number of spare disks, installed and idle.
    pub spares: u32,
    /// Mean latency of the random requests at most; null where none is asked for.
    pub latency_mean_ns: Option<f64>,
    /// Largest array with parity; more disks are several of them.
    pub parity_disks_max: u32,
    /// Chunk size of an array: contiguous bytes on one disk.
    pub chunk_bytes: Bytes,
}

/// A disk of the price list, by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PricedDisk {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// The profile that its rates come from; null where the price list states them.
    pub profile_id: Option<String>,
    /// Random reads of the need's size per second.
    pub read_iops: Estimate,
    /// Random writes of it; null where the profile has none.
    pub write_iops: Option<Estimate>,
    /// Bytes per second of a stream of reads.
    pub stream_read_bytes_per_s: Estimate,
    /// Its price.
    pub price: f64,
    /// Accesses per second and per unit of money: random reads (KAPS), reads of a megabyte (MAPS).
    pub accesses: PriceRow,
    /// Bytes per unit of money; null where it costs nothing.
    pub bytes_per_price: Option<f64>,
}

/// A part whose rate a need can use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PurchasePart {
    /// The disks, by random requests.
    DisksRandom,
    /// The disks, by streams.
    DisksStream,
    /// Bytes per second of an adapter.
    AdapterBandwidth,
    /// Requests per second of an adapter.
    AdapterRequests,
    /// Bytes per second of a host's bus.
    BusBandwidth,
    /// Requests per second of a host's bus.
    BusRequests,
    /// Room for data.
    Size,
}

/// How much of a part the need uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartLoad {
    /// The part.
    pub part: PurchasePart,
    /// Its share that is used at the need; 1 is all of it.
    pub used: f64,
}

/// Why there are no fewer disks in a configuration, or none at all of its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PurchaseBound {
    /// A layout cannot be made of fewer.
    FewestDisks,
    /// A part would be used beyond its headroom.
    Part(PurchasePart),
    /// The mean latency would be longer than asked for.
    Latency,
    /// With one disk failed the others could not carry the need.
    AfterLoss,
    /// A host has no more places for adapters.
    Slots,
    /// A host has no more places for disks.
    Bays,
}

/// One thing that is bought, and how many of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bought {
    /// Its name in the price list.
    pub name: String,
    /// How many.
    pub count: u32,
}

/// Disks bound together with what they hang on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PurchaseConfiguration {
    /// Disks in use and spare ones.
    pub disks: Bought,
    /// Adapters; null where the price list has none.
    pub adapters: Option<Bought>,
    /// Hosts; null where the price list has none.
    pub hosts: Option<Bought>,
    /// How the disks of a group are bound; null where each stands alone.
    pub raid: Option<RaidLevel>,
    /// Disks of a group.
    pub group_disks: u32,
    /// Groups, among which the load is spread.
    pub groups: u32,
    /// Any so many disks can fail without loss of data.
    pub survives: u32,
    /// Price of all of it, in the list's currency, power included where the list prices it.
    pub cost: f64,
    /// The part of the cost that is power.
    pub power_cost: f64,
    /// Room for data.
    pub usable_bytes: Bytes,
    /// What the need uses of each part that has a limit.
    pub parts: Vec<PartLoad>,
    /// Share of the disks' largest rate that the need uses, random requests and streams together
    /// where they come together.
    pub disks_busy: Estimate,
    /// The same of the busiest disk after one has failed; null where the data is lost with it.
    pub busy_after_loss: Option<f64>,
    /// Mean latency of the random requests at the need; null where there are none.
    pub latency_ns: Option<Estimate>,
    /// The largest rate of the need's random requests alone, with every part at 100 %; null where
    /// the need has none.
    pub random_iops_max: Option<f64>,
    /// The largest rate of the need's streams alone, bytes per second; null where there are none.
    pub stream_bytes_per_s_max: Option<f64>,
    /// Money per random request per second of the largest rate.
    pub cost_per_iops: Option<f64>,
    /// Money per megabyte per second of the largest rate.
    pub cost_per_mb_per_s: Option<f64>,
    /// Money per terabyte (1e12 bytes).
    pub cost_per_tb: f64,
    /// What asks for this many disks, adapters or hosts.
    pub bound: PurchaseBound,
}

/// A kind of configuration that does not meet the need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PurchaseExcluded {
    /// What it is made of.
    pub what: String,
    /// Why it does not do.
    pub why: String,
}

/// At which price a disk would be the one to buy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakEven {
    /// The disk.
    pub name: String,
    /// So many times as quick at random requests as the one of the list; 1 for that itself.
    pub quicker: f64,
    /// Its price in the list.
    pub price: f64,
    /// It is worth its money at this price or below; not more than 0 where it is at none.
    pub pays_at: f64,
    /// Disks of it that would be bought.
    pub disks: u32,
}

/// The least cost with one disk at a multiple of the need's rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostAtNeed {
    /// The disk.
    pub name: String,
    /// Rates of the need over those that were asked for; the size stays.
    pub factor: f64,
    /// The least cost; null where nothing meets it.
    pub cost: Option<f64>,
}

/// What to buy for a need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Purchase {
    /// [`PURCHASE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// File of the prices, as it was named.
    pub prices: String,
    /// Currency of all amounts.
    pub currency: String,
    /// Whether a disk's rates come from a profile of a simulated target.
    pub simulated: bool,
    /// The need.
    pub need: PurchaseNeed,
    /// The disks by themselves.
    pub disks: Vec<PricedDisk>,
    /// The cheapest of each disk and layout that meets the need, the cheapest first.
    pub configurations: Vec<PurchaseConfiguration>,
    /// What does not meet it.
    pub excluded: Vec<PurchaseExcluded>,
    /// At which price other disks would be bought, and one twice as quick.
    pub break_even: Vec<BreakEven>,
    /// The least cost with each disk, at parts and multiples of the need.
    pub at_other_needs: Vec<CostAtNeed>,
    /// What the figures take for granted, a sentence each.
    pub assumes: Vec<String>,
    /// What is to be known of the disks' rates.
    pub findings: Vec<Finding>,
}

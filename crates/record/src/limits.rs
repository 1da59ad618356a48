//! The document of `limits`: every component on the path to a disk, what it is advertised to carry,
//! what it was measured to carry, and which of them binds.
//!
//! The papers draw this as a picture with two numbers beside each part (Chung, Gray, Worthington,
//! Horst 2000, figure 1 and table 6; Riedel, van Ingen, Gray 1997, figures 1 and 11). A number that
//! nobody told or nothing showed is a reason here and never a guess, so that a ratio exists only
//! where both its sides do.

use crate::{Bytes, Environment, Estimate, Finding, Measured, Nanos, ServiceTimeFit, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of a run of `limits`.
pub const LIMITS_SCHEMA: &str = "halfpower/limits/1";

/// What a run of `limits` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitsRun {
    /// [`LIMITS_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// UUIDv7; for a simulated target the hash of target and seed.
    pub id: String,
    /// When it began, RFC 3339 in UTC; null for a simulated target.
    pub time: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// What was read: the disks that share the path.
    pub targets: Vec<Target>,
    /// Conditions; null for a simulated target.
    pub environment: Option<Environment>,
    /// The path, from the processor to the medium.
    pub components: Vec<PathComponent>,
    /// Which component binds.
    pub binding: Measured<Binding>,
    /// The memory tests.
    pub memory: Measured<MemoryTests>,
    /// Re-reads of a small area on one target and on more.
    pub bus: Measured<BusTest>,
    /// One request that a cache holds against one that was read ahead.
    pub hits: Measured<HitTest>,
    /// The profile that the device's limits were taken from; null where they were measured now.
    pub profile_id: Option<String>,
    /// Trials behind the numbers, in the order in which they were run.
    pub trial_ids: Vec<String>,
    /// Conclusions.
    pub findings: Vec<Finding>,
}

/// What a component of the path is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// The processors, as far as they carry out requests.
    Processor,
    /// Main memory.
    Memory,
    /// The file-system cache: copies between it and the program.
    FileCache,
    /// A limit that somebody set (a control group's).
    Throttle,
    /// The network to a server.
    Network,
    /// A bus or bridge between memory and controller.
    Bus,
    /// The link or bus between controller and disk.
    Link,
    /// The disk.
    Device,
}

impl ComponentKind {
    /// All of them, in the order of the path.
    pub const ALL: [Self; 8] = [
        Self::Processor,
        Self::Memory,
        Self::FileCache,
        Self::Throttle,
        Self::Network,
        Self::Bus,
        Self::Link,
        Self::Device,
    ];

    /// The word of `--pap` and of the page.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Memory => "memory",
            Self::FileCache => "file-cache",
            Self::Throttle => "throttle",
            Self::Network => "network",
            Self::Bus => "bus",
            Self::Link => "link",
            Self::Device => "device",
        }
    }
}

/// One component of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathComponent {
    /// What it is.
    pub kind: ComponentKind,
    /// Which one, for a reader.
    pub name: String,
    /// Peak advertised performance.
    pub pap: Measured<Advertised>,
    /// Real application performance, bytes per second.
    pub rap_bytes_per_s: Measured<Estimate>,
    /// Whether the component may carry more than that: nothing showed that it was the limit.
    pub rap_is_lower_bound: bool,
    /// How it was measured.
    pub rap_method: String,
    /// Further rates, by what was done.
    pub others: Vec<NamedRate>,
    /// RAP over PAP; null where one of them is missing.
    pub ratio: Option<f64>,
    /// Whether the half-power point is reached: RAP at least PAP/2.
    pub half_power: HalfPower,
    /// How many such disks it takes until this component is full, by sequential reads; null for the
    /// disk itself and where a rate is missing.
    pub disks: Option<Sizing>,
}

/// A peak that somebody states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advertised {
    /// The peak.
    pub bytes_per_s: f64,
    /// Who states it, and how it follows from that.
    pub source: String,
}

/// A rate with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedRate {
    /// What was done.
    pub name: String,
    /// Bytes per second.
    pub bytes_per_s: Estimate,
}

/// Whether a component gives half of what is advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HalfPower {
    /// The whole interval of the measured rate is at or above half of the peak.
    Reached,
    /// The whole interval is below it.
    Missed,
    /// The interval holds it, or the measured rate is only a lower bound that is below it.
    CannotTell,
    /// A rate is missing.
    NotKnown,
}

/// How many disks a component carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sizing {
    /// The component's rate over one disk's.
    pub quotient: f64,
    /// Disks that it carries at full speed.
    pub carried: u64,
    /// Disks that ask for all that it has.
    pub saturating: u64,
    /// Whether the component's rate is a lower bound, so that it may carry more.
    pub at_least: bool,
}

/// What limits the path as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Binding {
    /// Names of the components that bind: one, or several that cannot be told apart.
    pub names: Vec<String>,
    /// The rate to which they bind it.
    pub bytes_per_s: Estimate,
    /// Why: the numbers that say so.
    pub because: String,
    /// Components that cannot be excluded, each with the reason.
    pub alternatives: Vec<String>,
}

/// A processor cache as sysfs lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorCache {
    /// 1 is nearest to the processor.
    pub level: u32,
    /// Its size.
    pub bytes: Bytes,
    /// Processors that share it.
    pub shared_by: u32,
}

/// What is done to memory.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTest {
    /// 64-bit loads of every word.
    Read,
    /// 64-bit stores to every word.
    Write,
    /// Copies by the library's own copy.
    Copy,
    /// Reads of a cached file in calls of 64 KiB.
    FileRead,
    /// Writes of a cached file in calls of 64 KiB.
    FileWrite,
    /// One 64-bit load from each cache line; whole lines are counted.
    LineRead,
    /// One 64-bit store to each cache line; whole lines are counted.
    LineWrite,
}

impl MemoryTest {
    /// The words in print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
            Self::FileRead => "file read",
            Self::FileWrite => "file write",
            Self::LineRead => "line read",
            Self::LineWrite => "line write",
        }
    }
}

/// One memory test in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRow {
    /// What is done.
    pub test: MemoryTest,
    /// Threads that do it at once, each in a buffer of its own.
    pub threads: u32,
    /// Bytes of a thread's buffer; a copy has two of them.
    pub buffer_bytes: Bytes,
    /// Where buffers of this size live: `cache 1`, `10 MB`, `memory`, ….
    pub place: String,
    /// How far the source begins behind the start of a page.
    pub source_shift_bytes: u32,
    /// The same of the destination.
    pub destination_shift_bytes: u32,
    /// Bytes moved per second, all threads together. A copy counts each byte once.
    pub bytes_per_s: Estimate,
    /// The same with the time of a null loop taken out, which does all but the access itself.
    pub net_bytes_per_s: Estimate,
    /// The null loop's share of the time.
    pub null_share: f64,
}

/// The memory tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryTests {
    /// The caches of a processor, nearest first; empty where sysfs lists none.
    pub caches: Vec<ProcessorCache>,
    /// Whether the kernel backs large buffers with huge pages, in its own words.
    pub huge_pages: Option<String>,
    /// Where the cached file lives.
    pub file_on: String,
    /// Bytes that this process read from devices during the file tests, by the kernel's account;
    /// null where it keeps none. A cached file needs none.
    pub device_read_bytes: Option<u64>,
    /// What was left out, one clause each.
    pub left_out: Vec<String>,
    /// The results.
    pub rows: Vec<MemoryRow>,
}

/// Whether a cache served re-reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheEvidence {
    /// Re-reads are faster than first reads and than sequential ones, by more than the intervals.
    Served,
    /// They are no faster.
    NotServed,
    /// The intervals are too wide.
    CannotTell,
}

/// Whether the sum over the targets still grows with their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// The last target added less than a quarter of what one target does alone.
    Stopped,
    /// It added more.
    Grows,
    /// The intervals are too wide.
    CannotTell,
    /// There was one target.
    OneTarget,
}

/// Rates with a number of targets at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusPoint {
    /// Targets at work.
    pub targets: u32,
    /// Re-reads, bytes per second over all targets.
    pub again_bytes_per_s: Estimate,
}

/// The disk-cache test: a small area read again and again, two deep, on one target and on more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusTest {
    /// Request size.
    pub request_bytes: Bytes,
    /// Requests outstanding per target.
    pub depth: u32,
    /// Area that is read again, per target.
    pub area_bytes: Bytes,
    /// Reads of places that were not read before, at the same size and depth, on one target.
    pub first_bytes_per_s: Estimate,
    /// Sequential reads on one target, as fast as they go: what the medium gives.
    pub medium_bytes_per_s: Estimate,
    /// Re-reads, by rising number of targets.
    pub points: Vec<BusPoint>,
    /// Whether a cache served the re-reads.
    pub evidence: CacheEvidence,
    /// Whether the sum stopped growing.
    pub growth: Growth,
    /// Limit of bus or controller: only where a cache served and the sum stopped growing.
    pub limit_bytes_per_s: Measured<Estimate>,
}

/// One request size of the hit test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitRow {
    /// Request size.
    pub bytes: Bytes,
    /// Latency of a block that was just read.
    pub again_ns: Measured<Estimate>,
    /// Latency of the next block, which the disk had time to read ahead.
    pub ahead_ns: Measured<Estimate>,
}

/// A cached block against one that was read ahead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HitTest {
    /// Time between a completion and the next sequential request.
    pub delay_ns: Nanos,
    /// By rising request size.
    pub rows: Vec<HitRow>,
    /// The line through the cached ones: fixed time and time per byte.
    pub again_fit: Measured<ServiceTimeFit>,
    /// The line through those read ahead.
    pub ahead_fit: Measured<ServiceTimeFit>,
}

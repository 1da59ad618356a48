//! Causes of slowness, in the disk or outside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a device is slow, overloaded or limited. Advice is based on these causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseCode {
    /// Single requests take longer than the profile predicts.
    ServiceSlower,
    /// Writes take longer than the profile predicts; reads do not.
    WritesSlower,
    /// Reads take longer than the profile predicts; writes do not.
    ReadsSlower,
    /// The queue depth stays above the depth beyond which the rate hardly grows.
    DepthBeyondKnee,
    /// The rate is near the maximum for this mix of requests.
    RateNearMaximum,
    /// Requests come in bursts, with idle time in between.
    Bursts,
    /// Writes fill the device's queue, and reads wait behind them.
    WritesInFront,
    /// One of several groups of processes issues most of the requests, bytes or flushes.
    Neighbour,
    /// Programs flush often and wait for the file system and for the device's cache. No counter of reads and writes
    /// includes that wait.
    ManyFlushes,
    /// Other devices in the observation have plenty of spare capacity.
    HotDevice,
    /// A control group's limit is reached.
    CgroupLimit,
    /// Demand exceeds the provider's limit, according to the volume's own counters.
    ProviderLimit,
    /// The rate stays at a constant value below what the device can do.
    PinnedRate,
    /// Requests wait before any disk counter starts.
    WaitsAbove,
    /// The kernel gives the device only a few requests at once. All of these are in use, and more requests wait above.
    TagsInUse,
    /// Requests wait in the I/O scheduler, a wait that the disk counters include, while the device has idle time.
    SchedulerHolds,
    /// The device stops serving requests for short moments, which the mean hides.
    StandsStill,
    /// The queue depth is 1 all the time.
    OneAtATime,
    /// The requests are sequential but small.
    SmallSequential,
    /// Requests are split into two or more.
    SplitRequests,
    /// Files are stored compressed: a program's request becomes a different one at the device, and takes CPU time.
    CompressedFiles,
    /// Files are stored in pieces that are about as small as the requests.
    ScatteredFiles,
    /// Writes do not cover whole blocks of the device.
    PartialBlocks,
    /// This member takes far longer than the other members of the array or volume, which wait for it.
    SlowestMember,
    /// The device's array itself reads and writes the device: it rebuilds, checks or moves its data.
    ArrayRebuilds,
    /// The device's array is missing members, and the other members serve their requests.
    ArrayDegraded,
    /// A volume above the device itself takes most of the time.
    VolumeHolds,
    /// Programs wait for a CPU.
    ProcessorsBusy,
    /// Programs wait for memory, or reread data that memory was too small to keep.
    MemoryShort,
    /// The kernel pauses programs that write, because the limit on dirty data is reached.
    WriteBackLimit,
    /// Programs read sequentially through the page cache, but the kernel does not read ahead.
    ReadAheadOff,
    /// The hypervisor took CPU time from this machine.
    StolenTime,
    /// A control group used up its CPU time and was throttled.
    CpuQuota,
    /// A check of the system found a setting or state that explains an effect in the numbers; the cause names the
    /// check.
    SystemFact,
}

impl CauseCode {
    /// Whether the cause lies outside the disk. The disk is then not responsible for the wait of programs.
    #[must_use]
    pub fn is_elsewhere(self) -> bool {
        matches!(
            self,
            Self::ProcessorsBusy
                | Self::MemoryShort
                | Self::WriteBackLimit
                | Self::ReadAheadOff
                | Self::StolenTime
                | Self::CpuQuota
                | Self::ManyFlushes
                | Self::CompressedFiles
                | Self::VolumeHolds
                | Self::ArrayRebuilds
                | Self::ArrayDegraded
        )
    }

    /// All causes by name, each with its documentation.
    #[must_use]
    pub fn meanings() -> Vec<(String, String)> {
        let schema = serde_json::to_value(schemars::schema_for!(Self)).unwrap_or_default();
        let causes = schema["oneOf"].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().map(|it| it.replace('\n', " "));
        causes
            .iter()
            .filter_map(|it| Some((text(&it["const"])?, text(&it["description"])?)))
            .collect()
    }
}

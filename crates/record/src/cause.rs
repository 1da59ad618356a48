//! What may be the matter with a disk, or beside it.

use crate::schema::word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a device is slow, overloaded or held back: what advice rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseCode {
    /// Single requests take longer than the profile says.
    ServiceSlower,
    /// Writes do, reads do not.
    WritesSlower,
    /// Reads do, writes do not.
    ReadsSlower,
    /// A constant queue depth beyond the one from which on the rate hardly grows.
    DepthBeyondKnee,
    /// The rate is near the largest of its mix.
    RateNearMaximum,
    /// Requests come in bursts, with rest between.
    Bursts,
    /// Writes fill the device and reads wait behind them.
    WritesInFront,
    /// One of several groups of processes issues most of the requests, bytes or flushes.
    Neighbour,
    /// Programs flush often: they wait for the file system and for the device's cache, in which no
    /// counter of reads and writes is.
    ManyFlushes,
    /// Other devices of the observation have much to spare.
    HotDevice,
    /// A control group's limit is reached.
    CgroupLimit,
    /// More is asked for than the provider lets through, as the volume itself counts.
    ProviderLimit,
    /// The rate is pinned to a constant that is below what the device can do.
    PinnedRate,
    /// Requests wait before any disk counter starts.
    WaitsAbove,
    /// All of the few requests that the kernel gives the device at once are in use, and more wait above.
    TagsInUse,
    /// Requests wait in the I/O scheduler, which the disk counters hold, while the device has time
    /// left.
    SchedulerHolds,
    /// The device serves nothing for a moment now and then, which the mean hides.
    StandsStill,
    /// One request is outstanding at a time, all the time.
    OneAtATime,
    /// Adjacent requests that are small.
    SmallSequential,
    /// Requests are split in two or more.
    SplitRequests,
    /// Files are stored compressed: a request of a program is another one at the device, and takes CPU
    /// time.
    CompressedFiles,
    /// Files lie in pieces that are about as small as the requests.
    ScatteredFiles,
    /// Writes are no whole blocks of the device.
    PartialBlocks,
    /// It takes far longer than the other members of the built device, which wait for it.
    SlowestMember,
    /// The array that the device belongs to reads and writes it of its own: it rebuilds, checks or moves
    /// its data.
    ArrayRebuilds,
    /// The array that the device belongs to lacks members, whose requests the others serve.
    ArrayDegraded,
    /// A volume above the device takes most of the time itself.
    VolumeHolds,
    /// Programs wait for a processor.
    ProcessorsBusy,
    /// Programs wait for memory, or read again what it was too small to hold.
    MemoryShort,
    /// The kernel stops programs that write, because no more memory may wait to be written.
    WriteBackLimit,
    /// Programs read in order through the page cache, and the kernel reads nothing ahead.
    ReadAheadOff,
    /// The host took CPU time from this machine.
    StolenTime,
    /// A control group used up its CPU time and was stopped.
    CpuQuota,
    /// What a check of the system found explains an effect that the numbers show: which check, the cause says.
    SystemFact,
}

impl CauseCode {
    /// Whether it lies beside the disk, which is then not to blame for what programs wait for.
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

    /// All of them by their names, each with what it is: its own documentation.
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

    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }
}

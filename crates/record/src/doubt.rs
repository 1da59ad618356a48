//! What leaves another verdict open: the code of an alternative.

use crate::schema::word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why another verdict than the stated one is possible.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The latency over the expected one is near what counts as slow, or not known well enough.
    NearSlow,
    /// The wait or the rate is near what counts as overloaded.
    NearOverloaded,
    /// The rate is near what counts as a load at all.
    NearSpare,
    /// Processors that sleep between requests add to the latency.
    WakeUps,
    /// They may add more than was measured of them, by which the latency would be as expected.
    SlowToWake,
    /// The device is busy longer than its requests explain, as far as few intervals tell.
    BusyTime,
    /// The counters do not tell sequential from random requests.
    SequentialUnknown,
    /// The rate of a slow device is the same in every interval.
    ConstantRateSlow,
    /// The rate of a fine device is the same in every interval, below its largest.
    ConstantRateBelowMaximum,
    /// The same, while tasks wait for no more than the device does.
    ConstantRateUnpressed,
    /// The same, where the source does not show whether somebody waits for more.
    ConstantRateUnseen,
    /// The same, behind a queue that never empties.
    ConstantRateQueued,
    /// The same, while tasks wait for I/O that the device is not doing: perhaps on another one.
    ConstantRatePressed,
    /// The largest rate itself is the same in every interval.
    ConstantRateAtMaximum,
    /// There is no busy time to believe.
    NoBusyTime,
    /// The host took CPU time.
    Steal,
    /// The processors have no time left.
    ProcessorsFull,
    /// The latencies hold those of discards.
    Discards,
    /// Tasks wait for I/O that the device does not do.
    IoPressure,
    /// Tasks wait longer for I/O while the device does less: for another device, perhaps.
    IdleWaits,
    /// Reads or writes alone are slow.
    OneOperation,
    /// Reads or writes alone are slow, at a constant rate.
    OneOperationConstant,
    /// The I/O scheduler is another one than the profile's.
    SchedulerChanged,
    /// The I/O scheduler serves by weight and class.
    SchedulerByShare,
    /// The I/O scheduler keeps some requests far longer than the others.
    Starved,
    /// Control groups share the device by weight, or one is promised a latency.
    GroupShares,
    /// Other conditions are not the profile's.
    ConditionsChanged,
    /// The profile is perhaps of another device.
    ProfileMatch,
    /// What the profile measured does not count.
    ProfileInvalid,
    /// The profile measured no writes, and there are some beside the reads.
    WritesUnknown,
    /// Requests are quicker than any of the profile's.
    Quicker,
    /// Another program uses the device as well.
    Neighbour,
    /// Another program flushes.
    NeighbourFlushes,
    /// Files are stored compressed, which takes programs time beside the device.
    CompressedFiles,
    /// A fact of the system explains what programs wait for beside the device.
    SystemFact,
    /// Programs may wait for flushes, which no latency of reads and writes holds.
    Flushes,
    /// By the volume's own log the provider's limit was exceeded for a part of the time.
    ProviderLog,
    /// What lies below a virtual disk cannot be seen.
    OutOfSight,
    /// The source tells no more of the device than its name.
    DeviceUnknown,
    /// The slowest requests are longer than the profile's, which the program may have caused.
    Tail,
    /// They are long against what stands for a profile with too few requests.
    TailUnknown,
    /// No single request was timed, or too few, or the profile has no load like this: means hide a device
    /// that stands still for moments.
    TailUnseen,
    /// A limit with credit makes such a tail.
    TailByCredit,
    /// The mean is as expected, and the slowest requests are not.
    MeanAsExpected,
    /// Under the same load the device was slow at another time.
    ComesAndGoes,
    /// A slower device may look like a cap that is reached.
    SlowWhenDeep,
    /// Below a cap the device may be slower by itself.
    SlowBelowCap,
    /// A cap takes time before it is reached.
    CapBelow,
    /// A program may wait for what the page cache writes back.
    WriteBack,
    /// Programs that write are stopped by a limit of the page cache; they may write no more by themselves.
    WriteBackLimit,
    /// Reads are slow while writes are under way; they may be other reads.
    BehindWrites,
    /// Pages that come back into the page cache may be another disk's.
    ReadAgain,
    /// A program may read page by page by itself, where nothing is read ahead.
    ReadAheadOff,
    /// Programs stand still while the device has nothing to do; they may wait for another one.
    Stops,
    /// Bursts may be the program's own and not those of full processors.
    OwnBursts,
    /// A member's requests may lie elsewhere than its siblings'.
    PlaceOnMember,
    /// There is no profile of a member.
    MemberUnknown,
    /// Others use the device beside the limited group.
    OthersBesideGroup,
    /// The limited program may ask for no more by itself.
    NoMoreAsked,
    /// The limit was not reached for a part of the time.
    LimitPartOfTime,
    /// The device may have refused more requests at once.
    FullTags,
    /// A scheduler has to queue what comes in bursts.
    BurstsInScheduler,
    /// Requests that follow a rest take longer than those of a profile, one behind the other.
    AfterRest,
    /// Too few requests, or figures too coarse.
    TooLittle,
    /// No profile says what this device should take.
    NoProfile,
    /// How many requests it serves side by side is not known.
    SideUnknown,
    /// Something that is in no list.
    Unlisted,
}

impl Doubt {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        word(self)
    }
}

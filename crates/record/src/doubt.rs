//! Why another verdict stays possible: the code of an alternative.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why another verdict than the stated one is possible.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The ratio of latency to expected latency is close to the threshold for slow, or too uncertain.
    NearSlow,
    /// The wait or the rate is close to the threshold for overloaded.
    NearOverloaded,
    /// The rate is close to the minimum that counts as a load.
    NearSpare,
    /// Processors that sleep between requests add to the latency.
    WakeUps,
    /// Wake-ups may add more than was measured. The latency would then be as expected.
    SlowToWake,
    /// The device seems busy for longer than its requests explain, but there are few intervals.
    BusyTime,
    /// The counters do not distinguish sequential from random requests.
    SequentialUnknown,
    /// The rate of a slow device is the same in every interval.
    ConstantRateSlow,
    /// The rate of a healthy device is the same in every interval, below its maximum.
    ConstantRateBelowMaximum,
    /// The same, while tasks wait no longer than the device's requests explain.
    ConstantRateUnpressed,
    /// The same, but the source does not show whether any process waits for more I/O.
    ConstantRateUnseen,
    /// The same, with a queue that never empties.
    ConstantRateQueued,
    /// The same, while tasks wait for I/O that this device is not serving, perhaps on another device.
    ConstantRatePressed,
    /// The maximum rate itself is the same in every interval.
    ConstantRateAtMaximum,
    /// The busy counter is missing or unreliable.
    NoBusyTime,
    /// The hypervisor took CPU time.
    Steal,
    /// The processors are fully used.
    ProcessorsFull,
    /// The latencies include those of discards.
    Discards,
    /// Tasks wait for I/O that the device does not serve.
    IoPressure,
    /// Tasks wait longer for I/O while the device does less, perhaps for another device.
    IdleWaits,
    /// Only reads or only writes are slow.
    OneOperation,
    /// Only reads or only writes are slow, at a constant rate.
    OneOperationConstant,
    /// The I/O scheduler is not the one of the profile.
    SchedulerChanged,
    /// The I/O scheduler serves requests by weight and class.
    SchedulerByShare,
    /// The I/O scheduler holds some requests far longer than others.
    Starved,
    /// Control groups share the device by weight, or one has a latency target.
    GroupShares,
    /// Other conditions differ from those of the profile.
    ConditionsChanged,
    /// The profile may be of another device.
    ProfileMatch,
    /// The measurement of the profile is invalid.
    ProfileInvalid,
    /// The profile measured no writes, but the observation has some.
    WritesUnknown,
    /// Requests are faster than any in the profile.
    Quicker,
    /// Another program also uses the device.
    Neighbour,
    /// Another program flushes.
    NeighbourFlushes,
    /// Files are stored compressed, which costs programs time outside the device.
    CompressedFiles,
    /// A fact of the system explains why programs wait outside the device.
    SystemFact,
    /// Programs may wait for flushes, which the latency of reads and writes does not include.
    Flushes,
    /// The volume's own log says that the provider's limit was exceeded for part of the time.
    ProviderLog,
    /// The layers below a virtual disk are not visible.
    OutOfSight,
    /// The source reports only the name of the device.
    DeviceUnknown,
    /// The slowest requests are slower than those of the profile. The program may be the cause.
    Tail,
    /// The slowest requests are slow compared with a substitute for a profile that has too few requests.
    TailUnknown,
    /// Means hide a device that pauses for moments, and individual requests are unknown: none or too few were
    /// timed, or the profile has no similar load.
    TailUnseen,
    /// A limit with burst credit causes such a tail.
    TailByCredit,
    /// The mean is as expected, but the slowest requests are not.
    MeanAsExpected,
    /// The device was slow under the same load at another time.
    ComesAndGoes,
    /// A slower device can look like a cap that was reached.
    SlowWhenDeep,
    /// Below a cap, the device itself may be slower.
    SlowBelowCap,
    /// A cap adds latency before it is reached.
    CapBelow,
    /// A program may wait for write-back of the page cache.
    WriteBack,
    /// A limit of the page cache stops programs that write. They might not write more without it.
    WriteBackLimit,
    /// Reads are slow during writes, but they may be different reads.
    BehindWrites,
    /// Pages reread into the page cache may belong to another disk.
    ReadAgain,
    /// Without read-ahead, a program may be reading page by page by its own choice.
    ReadAheadOff,
    /// Programs stop while the device is idle. They may wait for another device.
    Stops,
    /// The program itself may cause the bursts, not busy processors.
    OwnBursts,
    /// The requests of a member may be at other positions than those of the other members.
    PlaceOnMember,
    /// No profile of a member exists.
    MemberUnknown,
    /// Other groups use the device besides the limited one.
    OthersBesideGroup,
    /// The limited program might not request more without the limit.
    NoMoreAsked,
    /// The limit was not reached for part of the time.
    LimitPartOfTime,
    /// The device itself may not accept more requests at once.
    FullTags,
    /// A scheduler has to queue requests that arrive in bursts.
    BurstsInScheduler,
    /// Requests after a pause take longer than the back-to-back requests of a profile.
    AfterRest,
    /// Too few requests, or figures that are too coarse.
    TooLittle,
    /// No profile gives the expected latency of this device.
    NoProfile,
    /// It is unknown how many requests the device serves in parallel.
    SideUnknown,
    /// A reason that is not listed.
    Unlisted,
}

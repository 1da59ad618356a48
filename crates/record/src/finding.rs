//! A conclusion with what supports it and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters to the numbers beside it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Info,
    /// The numbers stand, but they may not mean what a reader takes them for.
    Warning,
    /// The numbers are not what was asked for: the document is not clean, the exit code is 1.
    Invalid,
}

/// How sure a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Follows from a count or a kernel statement.
    Certain,
    /// A conclusion of measurements that leave little open.
    AlmostCertain,
    /// A statistical or circumstantial conclusion.
    Likely,
    /// One of several explanations.
    Possible,
}

/// What kind of conclusion a finding is. The text form in JSON is the snake-case name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// Requests failed.
    IoErrors,
    /// Requests transferred fewer bytes than asked.
    ShortTransfers,
    /// The engine cannot keep the asked depth in flight.
    DepthNotReached,
    /// The asked engine could not be used; another one was.
    EngineFallback,
    /// Reads were served by the page cache, not by the device.
    PageCacheServed,
    /// The device did requests that were not ours.
    ForeignIo,
    /// Repeats of a combination in the blocks of an experiment lie far apart.
    BlockSpread,
    /// How large a cache below the target is.
    CacheSize,
    /// What a crash could lose in each cache mode that was measured.
    CrashLoss,
    /// What files lose because they take whole allocation units.
    RoundingLoss,
    /// More was trimmed than the area holds.
    TrimmedAgain,
    /// The device saw less traffic than we caused, although the page cache was bypassed.
    DeviceSawLess,
    /// The area holds holes or unwritten extents, which read as zeros without the device.
    UnwrittenExtents,
    /// Throughput or latency moved during the run.
    NotSteady,
    /// The load generator itself is near its limit.
    HarnessLimit,
    /// The file system lives in memory: there is no device.
    NoDevice,
    /// The kernel calls a virtual disk rotational (or not), which says nothing of what is behind.
    RotationalUntrusted,
    /// Too few requests for an interval.
    TooFewRequests,
    /// The run was interrupted; what is here is what had finished.
    Interrupted,
    /// Cells did not reach the asked precision within the budget.
    PrecisionNotReached,
    /// The device's speed drifted between visits of the same cell.
    Drift,
    /// Files of the disk answer at different speeds.
    AreasDiffer,
    /// Re-reads of a small area are no faster: no cache is seen.
    NoCacheSeen,
    /// Re-reads of a small area are faster: a cache below the file system serves them.
    CacheSeen,
    /// The straight line does not describe service time against size.
    FitPoor,
    /// Throughput still grew at the largest depth tried.
    KneeNotReached,
    /// All loads end at one rate, whatever they are: a limit above the medium.
    CapMet,
    /// The rate fell to a cap while the load went on: credit was used up.
    BurstEnded,
    /// Writes became slower while they went on: a faster part of the drive was full.
    WriteCacheFull,
    /// Write cells were left out: at the user's wish, or because the target is only read.
    WritesSkipped,
    /// The measured area is a small part of the device.
    SmallArea,
    /// Points of the curves were left out because they did not fit the budget.
    PointsSkipped,
    /// Another limit than the device is in force (a control group's).
    CgroupLimit,
    /// The hypervisor or other programs used the CPUs while halfpower needed them.
    CpuTaken,
    /// The file's extents are scattered.
    Fragmented,
    /// The data is compressed by the file system, or may be.
    CompressedFilesystem,
    /// What was written compresses, and the file system below compressed it.
    DataCompressed,
    /// The area is so small that a cache below can serve it.
    CacheSizedArea,
    /// O_DIRECT was ignored: direct requests reached the device in another form, or not.
    DirectIgnored,
    /// The clock cannot be trusted to the precision shown.
    ClockUnsound,
    /// Arrivals could not be kept up with: the open loop fell behind.
    FellBehind,
    /// CPU time was spent on this load that is not charged to this program.
    CpuChargedElsewhere,
    /// The upper bound of processor cost is unsure here, or below the lower one.
    CpuBoundUnsure,
    /// The device stopped answering within the time allowed.
    DeviceSilent,
    /// Blocks read back are not what was written.
    DataCorrupt,
    /// Copies or parity of an array do not fit its data.
    ArrayInconsistent,
    /// Data on a block device was destroyed, as asked.
    DataDestroyed,
    /// The kernel merged our requests into fewer.
    RequestsMerged,
    /// The kernel split our requests into more.
    RequestsSplit,
    /// Locked memory was too short for registered buffers.
    LockedMemory,
    /// Another stop rule than the one asked for ended the run.
    StopRuleNotMet,
    /// Preconditioning ended before the device was steady.
    NotPreconditioned,
    /// The page cache still held a part of the area after its pages were dropped.
    CachedPagesLeft,
    /// A start that differs from the rest was cut off.
    WarmUpCut,
    /// A component gives less than half of what is advertised.
    HalfPowerMissed,
    /// Targets that were to be on different disks share one.
    TargetsShareDisk,
    /// A disk that turns is slower at its end than at its beginning, in steps.
    ZonesFound,
    /// The rate of something else than a turning disk depends on the position.
    RateByPosition,
    /// Lines of the kernel's counters could not be read.
    CountersUnreadable,
    /// A device's counters began anew during an observation.
    CountersReset,
    /// The kernel keeps no counters for a device.
    CountersOff,
    /// The kernel's busy time of a device cannot be trusted.
    BusyDoubtful,
    /// Devices appeared or went away during an observation.
    DevicesChanged,
    /// A source lacks figures that conclusions need.
    FiguresMissing,
    /// A source's means are over several kinds of requests.
    FiguresMixed,
    /// A source's figures have too few digits.
    FiguresCoarse,
    /// Parts of a source could not be read.
    SourceDamaged,
    /// Intervals of a source were left out.
    IntervalsLeftOut,
    /// A source has figures that no device can have.
    ImpossibleFigures,
    /// Times of a source are not all said by it.
    TimesAssumed,
    /// A client of a load from several machines has no result.
    ClientLost,
    /// The clients did not begin together.
    ClientsApart,
    /// The clocks of the clients are too uncertain to show whether they began together.
    ClientClockUnsure,
    /// A client is much slower than the others.
    ClientStraggles,
    /// A shared target serves its clients unequally.
    UnequalShares,
    /// The clients are not alike.
    ClientsDiffer,
}

impl FindingCode {
    /// The name as in JSON.
    #[must_use]
    pub fn name(self) -> String {
        crate::schema::word(self)
    }
}

/// One number that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was counted or measured.
    pub what: String,
    /// Its value.
    pub value: f64,
    /// The unit of the value; empty for counts and ratios.
    pub unit: String,
}

/// One conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its kind.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// The conclusion in one sentence.
    pub claim: String,
    /// The numbers that it rests on.
    pub evidence: Vec<Evidence>,
    /// How sure it is.
    pub confidence: Confidence,
    /// What to do; a flag to try where there is one. Empty where nothing needs doing.
    pub remedy: String,
}

impl Finding {
    /// A finding that follows from counts, without evidence yet.
    #[must_use]
    pub fn new(
        code: FindingCode,
        severity: Severity,
        claim: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            claim: claim.into(),
            evidence: Vec::new(),
            confidence: Confidence::Certain,
            remedy: remedy.into(),
        }
    }

    /// Numbers that mean something else than they seem to.
    #[must_use]
    pub fn warning(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, claim, remedy)
    }

    /// Numbers that are not those asked for.
    #[must_use]
    pub fn invalid(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Invalid, claim, remedy)
    }

    /// What is worth knowing and changes no conclusion.
    #[must_use]
    pub fn note(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Info, claim, remedy)
    }

    /// Whether none of these says that the numbers are not what was asked for.
    #[must_use]
    pub fn none_invalid(findings: &[Self]) -> bool {
        Self::first_invalid(findings).is_none()
    }

    /// The first one for which what it speaks of does not count.
    #[must_use]
    pub fn first_invalid(findings: &[Self]) -> Option<&Self> {
        findings.iter().find(|finding| finding.severity == Severity::Invalid)
    }

    /// The same finding with one more number behind it.
    #[must_use]
    pub fn with(mut self, what: &str, value: f64, unit: &str) -> Self {
        self.evidence.push(Evidence { what: what.to_owned(), value, unit: unit.to_owned() });
        self
    }

    /// The same finding, not certain.
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }
}

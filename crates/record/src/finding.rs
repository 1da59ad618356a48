//! A conclusion with its evidence and a remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a finding affects the numbers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information; the numbers are valid.
    Info,
    /// The numbers are valid, but a reader may misunderstand them.
    Warning,
    /// The numbers are not what the user requested: the document is invalid, and the exit code is 1.
    Invalid,
}

/// How certain a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Follows from a count or from what the kernel reports.
    Certain,
    /// A conclusion from measurements that leave little doubt.
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
    /// Requests transferred fewer bytes than requested.
    ShortTransfers,
    /// The engine cannot sustain the requested queue depth.
    DepthNotReached,
    /// The requested engine was unavailable; another one was used.
    EngineFallback,
    /// Reads were served by the page cache, not by the device.
    PageCacheServed,
    /// The device served requests of other programs.
    ForeignIo,
    /// Repeats of a combination in the blocks of an experiment are widely spread.
    BlockSpread,
    /// Size of a cache below the target.
    CacheSize,
    /// What a crash could lose in each measured cache mode.
    CrashLoss,
    /// Space that files lose because they occupy whole allocation units.
    RoundingLoss,
    /// More bytes were trimmed than the area has.
    TrimmedAgain,
    /// The device counted less traffic than the program caused, despite direct I/O.
    DeviceSawLess,
    /// The area contains holes or unwritten extents, which are read as zeros without the device.
    UnwrittenExtents,
    /// Throughput or latency changed during the run.
    NotSteady,
    /// The load generator is near its own limit.
    HarnessLimit,
    /// The file system is in memory: there is no device.
    NoDevice,
    /// The kernel's rotational flag of a virtual disk does not describe the real disk behind it.
    RotationalUntrusted,
    /// Too few requests for a confidence interval.
    TooFewRequests,
    /// The run was interrupted; the document has the results up to then.
    Interrupted,
    /// Cells did not reach the requested precision within the budget.
    PrecisionNotReached,
    /// The device's speed drifted between visits of the same cell.
    Drift,
    /// Files on the disk have different speeds.
    AreasDiffer,
    /// Rereads of a small area are no faster: no cache was detected.
    NoCacheSeen,
    /// Rereads of a small area are faster: a cache below the file system serves them.
    CacheSeen,
    /// A straight line does not fit service time against size.
    FitPoor,
    /// Throughput still grew at the largest queue depth tried.
    KneeNotReached,
    /// All loads reach the same rate: a limit above the medium.
    CapMet,
    /// The rate dropped to a cap during the load: the burst credit was used up.
    BurstEnded,
    /// Writes became slower during the load: a faster part of the drive was full.
    WriteCacheFull,
    /// Write cells were skipped: by the user's choice, or because the target is only read.
    WritesSkipped,
    /// The measured area is a small part of the device.
    SmallArea,
    /// Points of the curves were skipped because they did not fit the budget.
    PointsSkipped,
    /// A limit other than the device applies (a control group's).
    CgroupLimit,
    /// The hypervisor or other programs used the CPUs while halfpower needed them.
    CpuTaken,
    /// The file is fragmented.
    Fragmented,
    /// The file system compresses the data, or may do so.
    CompressedFilesystem,
    /// The written data is compressible, and the file system compressed it.
    DataCompressed,
    /// The area is so small that a cache below can serve it.
    CacheSizedArea,
    /// O_DIRECT was ignored: direct requests reached the device in another form, or not at all.
    DirectIgnored,
    /// The clock is less precise than the numbers suggest.
    ClockUnsound,
    /// The open loop fell behind its arrivals.
    FellBehind,
    /// CPU time was spent on this load but charged to another program or to the kernel.
    CpuChargedElsewhere,
    /// The upper bound of the CPU cost is uncertain here, or below the lower bound.
    CpuBoundUnsure,
    /// The device did not respond within the time limit.
    DeviceSilent,
    /// Blocks read back differ from what was written.
    DataCorrupt,
    /// Copies or parity of an array do not match its data.
    ArrayInconsistent,
    /// Data on a block device was destroyed, as the user requested.
    DataDestroyed,
    /// The kernel merged requests of the program into fewer.
    RequestsMerged,
    /// The kernel split requests of the program into more.
    RequestsSplit,
    /// The limit on locked memory is too low for registered buffers.
    LockedMemory,
    /// A stop rule other than the requested one ended the run.
    StopRuleNotMet,
    /// Preconditioning ended before the device was steady.
    NotPreconditioned,
    /// The page cache still held a part of the area after its pages were dropped.
    CachedPagesLeft,
    /// A warm-up phase that differs from the rest was cut off.
    WarmUpCut,
    /// A component delivers less than half of its advertised performance.
    HalfPowerMissed,
    /// Targets that should be on different disks share one.
    TargetsShareDisk,
    /// A rotating disk is slower at its end than at its beginning, in steps.
    ZonesFound,
    /// The rate of a device that is not a rotating disk depends on the position.
    RateByPosition,
    /// Lines of the kernel's counters could not be read.
    CountersUnreadable,
    /// A device's counters were reset during an observation.
    CountersReset,
    /// The kernel keeps no counters for a device.
    CountersOff,
    /// The kernel's busy time of a device is unreliable.
    BusyDoubtful,
    /// Devices were added or removed during an observation.
    DevicesChanged,
    /// A source lacks figures that conclusions require.
    FiguresMissing,
    /// A source reports means over several kinds of requests.
    FiguresMixed,
    /// A source reports too few digits.
    FiguresCoarse,
    /// Parts of a source could not be read.
    SourceDamaged,
    /// Intervals of a source were skipped.
    IntervalsLeftOut,
    /// A source has one report, an average since boot.
    SinceBoot,
    /// A source reports figures that no device can have.
    ImpossibleFigures,
    /// A source does not state all its times; some were assumed.
    TimesAssumed,
    /// A client of a load from several machines has no result.
    ClientLost,
    /// The clients did not start together.
    ClientsApart,
    /// The clocks of the clients are too uncertain to show whether they started together.
    ClientClockUnsure,
    /// A client is much slower than the others.
    ClientStraggles,
    /// A shared target serves its clients unequally.
    UnequalShares,
    /// The clients differ from each other.
    ClientsDiffer,
}

/// One number that supports a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Description of the number.
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
    /// The numbers that support it.
    pub evidence: Vec<Evidence>,
    /// How certain it is.
    pub confidence: Confidence,
    /// What to do, with a flag to try if there is one. Empty if nothing needs doing.
    pub remedy: String,
}

impl Finding {
    /// The claim of [`FindingCode::SinceBoot`].
    pub const SINCE_BOOT: &str =
        "The only report is an average since boot, which hides slow periods.";
    /// Its remedy.
    pub const RECORD_WHILE_SLOW: &str = "Record while the disk is slow: `iostat -x -t 1 60`.";

    /// A certain finding, without evidence yet.
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

    /// A finding that the numbers may be misunderstood.
    #[must_use]
    pub fn warning(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, claim, remedy)
    }

    /// A finding that the numbers are not what the user requested.
    #[must_use]
    pub fn invalid(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Invalid, claim, remedy)
    }

    /// A finding for information, which changes no conclusion.
    #[must_use]
    pub fn note(code: FindingCode, claim: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(code, Severity::Info, claim, remedy)
    }

    /// Whether none of these findings is invalid.
    #[must_use]
    pub fn none_invalid(findings: &[Self]) -> bool {
        Self::first_invalid(findings).is_none()
    }

    /// The first finding that makes the result invalid.
    #[must_use]
    pub fn first_invalid(findings: &[Self]) -> Option<&Self> {
        findings.iter().find(|finding| finding.severity == Severity::Invalid)
    }

    /// The same finding with one more number as evidence.
    #[must_use]
    pub fn with(mut self, what: &str, value: f64, unit: &str) -> Self {
        self.evidence.push(Evidence { what: what.to_owned(), value, unit: unit.to_owned() });
        self
    }

    /// The same finding with another confidence.
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }
}

//! Defines a case: devices, loads, known facts, and the truth.

use crate::cases::devices::Device;
use crate::cases::sources::Source;
use clap::ValueEnum;
use plan::scenarios::{Array, GroupLimit};
use record::{DeviceFacts, NoteCode, Strategy, Verdict};
use workload::Spec;

/// Kinds of cases. Each kind also has an opposite, which differs in one condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Kind {
    /// A device as profiled, at any load that it sustains. Opposite: idle most of the time.
    #[default]
    Healthy,
    /// Slower than profiled. Opposite: as profiled.
    Slower,
    /// One program writes all that the device can do. Opposite: it writes little.
    OneWriter,
    /// A deep queue all the time. Opposite: a queue only as deep as useful.
    DepthAlone,
    /// The load reaches a control group's limit. Opposite: it stays below the limit.
    GroupLimit,
    /// A token bucket inside the device. Opposite: a device that is slower at any load.
    TokenBucket,
    /// Another program brings the device to its limit. Opposite: its load is small.
    Neighbour,
    /// The page cache writes back. Opposite: a program that waits for the same writes.
    WriteBack,
    /// Requests grow. Opposite: as slow without growing.
    LargerRequests,
    /// Sequential requests become random ones. Opposite: random ones on a slower drive.
    TurnsRandom,
    /// Writes across the blocks of the device. Opposite: on their boundaries.
    Misaligned,
    /// The whole device stalls repeatedly. Opposite: it does not stall.
    Failing,
    /// A device with short stalls that the mean hides. Opposite: without stalls.
    StandsStill,
    /// Light load on a slow device. Opposite: heavy load on a healthy one.
    LightOnBad,
    /// The program is the bottleneck. Opposite: the same program with a deep queue.
    ApplicationBound,
    /// One hot disk among others. Opposite: equal load on all.
    HotDisk,
    /// One slow disk among others. Opposite: all as profiled.
    SlowDisk,
    /// No profile, or one of another device. Opposite: the right one.
    NoProfile,
    /// Too few requests for a verdict. Opposite: few, but enough.
    TooLittle,
    /// Slower than profiled and with a deep queue. Opposite: slower and capped.
    SlowAndDeep,
    /// Two problems: a slow device and a new load, a slow disk and a hot one, a tenant at its limit and one
    /// without a limit. Opposite: one of the two, or neither.
    Together,
    /// Just above or just below the threshold for "slow". Opposite: a device as profiled, observed only
    /// briefly.
    Slightly,
    /// About a fifth of the largest rate. Opposite: a tenth.
    HardlyLoaded,
    /// Just around the threshold for "overloaded". Opposite: requests do not wait.
    HardlyWaits,
    /// Slower, and with other settings than when it was profiled, which may or may not be the cause.
    /// Opposite: the same with unchanged settings.
    OtherSettings,
    /// The I/O scheduler delays requests, and the counters include that. Opposite: the device is slower.
    HeldByScheduler,
    /// A virtual disk that the host throttles. Opposite: one that is slower itself.
    Hosted,
    /// A limit above the counters that no figure shows. Opposite: a program with a constant rate.
    UnseenLimit,
    /// A program whose rate equals its limit. Opposite: one that exceeds its limit, without its waits in
    /// the pressure figures.
    JustAllowed,
    /// A healthy device under a program with a load below the maximum: at constant intervals, at random, or
    /// one request at a time with pauses. Opposite: a load above the maximum.
    Paced,
}

/// A load, before it is built.
#[derive(Clone, Debug)]
pub struct Load {
    /// Name of the program.
    pub name: String,
    /// Its requests.
    pub spec: Spec,
    /// Start, in seconds.
    pub from_s: u64,
    /// End, in seconds.
    pub to_s: u64,
    /// Limits of its control group.
    pub limits: Vec<GroupLimit>,
    /// Whether it is the page cache writing back.
    pub write_back: bool,
    /// Whether pressure figures exclude its waits at a limit, as for asynchronous I/O.
    pub uncounted: bool,
}

/// A disk of a case.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The device as profiled.
    pub device: Device,
    /// The current device, as in the text after `sim:`.
    pub is: String,
    /// Array of such devices in place of one, if any.
    pub array: Option<Array>,
    /// The loads on it.
    pub loads: Vec<Load>,
    /// Whether a profile from a healthy time exists.
    pub profiled: bool,
    /// Its settings when profiled and now; `None` if unknown.
    pub facts: Option<Box<[DeviceFacts; 2]>>,
    /// Share of the latency that a request spends in the I/O scheduler.
    pub in_scheduler: f64,
}

impl Disk {
    /// A disk with nothing known but its loads.
    pub(crate) fn new(device: Device, is: String, loads: Vec<Load>) -> Self {
        Self { device, is, array: None, loads, profiled: true, facts: None, in_scheduler: 0.0 }
    }
}

/// The acceptable verdicts on a time segment.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// Index of the disk.
    pub disk: usize,
    /// Start, in seconds.
    pub from_s: u64,
    /// End, in seconds.
    pub to_s: u64,
    /// Correct verdicts.
    pub verdicts: Vec<Verdict>,
    /// Verdicts that also count as correct if they have confidence "possible" and name a correct one as
    /// alternative: the evidence is inconclusive.
    pub undecided: Vec<Verdict>,
    /// Verdicts that also count as correct if they are at most "likely" and name a correct one beside them:
    /// no figure of the case shows the truth.
    pub hidden: Vec<Verdict>,
}

/// A case with its truth.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Seed of the case.
    pub seed: u64,
    /// Its kind.
    pub kind: Kind,
    /// Whether it is the opposite.
    pub opposite: bool,
    /// Its disks; advice is judged only for the first one.
    pub disks: Vec<Disk>,
    /// Length of the observation, in seconds.
    pub seconds: u64,
    /// Sampling interval, in seconds.
    pub interval_s: u64,
    /// Whether a tracer runs.
    pub traced: bool,
    /// Whether only the disks' counters are recorded, as by another tool.
    pub bare: bool,
    /// Whether the limits of control groups are invisible.
    pub limits_unseen: bool,
    /// The tool that records it.
    pub source: Source,
    /// Acceptable verdicts.
    pub expects: Vec<Expect>,
    /// Acceptable first advice; empty if none is required.
    pub advice: Vec<Strategy>,
    /// Whether giving no advice is also acceptable.
    pub may_be_silent: bool,
    /// The required note: something looks like a problem but is none.
    pub expected_note: Option<NoteCode>,
}

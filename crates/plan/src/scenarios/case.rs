//! What a case is: devices, loads, what is known of them, and the truth.

use crate::scenarios::devices::Device;
use crate::scenarios::scenario::{Array, GroupLimit};
use crate::scenarios::sources::Source;
use record::{DeviceFacts, NoteCode, Strategy, Verdict};
use workload::Spec;

/// Kinds of cases. Each has an opposite of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A device as profiled, at any load that it bears. Opposite: idle for most of the time.
    Healthy,
    /// Slower than profiled. Opposite: as profiled.
    Slower,
    /// One program writes all that the device can do. Opposite: it writes little.
    OneWriter,
    /// Many requests outstanding, all the time. Opposite: as many as help.
    DepthAlone,
    /// A control group's limit that is reached. Opposite: one that is not.
    GroupLimit,
    /// A token bucket inside the device. Opposite: a device that is slower at any load.
    TokenBucket,
    /// Another program brings the device to its limit. Opposite: it asks for little.
    Neighbour,
    /// The page cache writes back. Opposite: a program that waits for the same writes.
    WriteBack,
    /// Requests grow. Opposite: as slow without growing.
    LargerRequests,
    /// Sequential requests become random ones. Opposite: random ones on a slower drive.
    TurnsRandom,
    /// Writes across the blocks of the device. Opposite: on their boundaries.
    Misaligned,
    /// Everything stands still again and again. Opposite: it does not.
    Failing,
    /// A device that stands still for moments, which the mean hides. Opposite: one that does not.
    StandsStill,
    /// Little load on a bad device. Opposite: much load on a fine one.
    LightOnBad,
    /// The program is what limits. Opposite: the same program with many requests outstanding.
    ApplicationBound,
    /// One hot disk among others. Opposite: all alike.
    HotDisk,
    /// One slow disk among others. Opposite: all as profiled.
    SlowDisk,
    /// No profile, or one of another device. Opposite: the right one.
    NoProfile,
    /// Too few requests. Opposite: few, and enough.
    TooLittle,
    /// Slower than profiled and with many requests outstanding. Opposite: slower and capped.
    SlowAndDeep,
    /// Two at once: a slow device and a load that comes, a slow disk beside a hot one, a tenant at
    /// its limit beside one without. Opposite: one of the two, or neither.
    Together,
    /// As slow as what is just called slow, or just not. Opposite: a device as profiled that is
    /// observed for moments only.
    Slightly,
    /// About a fifth of the largest rate. Opposite: a tenth.
    HardlyLoaded,
    /// Requests wait about as long as what is just called overloaded. Opposite: they do not wait.
    HardlyWaits,
    /// Slower, and set up otherwise than when it was profiled: either the one is due to the other, or
    /// not. Opposite: the same, with nothing changed.
    OtherSettings,
    /// The I/O scheduler holds requests within the counters. Opposite: the device is slower.
    HeldByScheduler,
    /// A virtual disk that the host holds back. Opposite: one that is slower itself.
    Hosted,
    /// A limit above the counters of which nothing tells. Opposite: a program that asks at a constant
    /// rate.
    UnseenLimit,
    /// A program that asks for just what its limit lets through. Opposite: one that asks for more, and
    /// whose waits no pressure counts.
    JustAllowed,
    /// A healthy device under a program that asks for less than it can do: at equal distances, by chance, or one
    /// at a time with rests. Opposite: one that asks for more than it can do.
    Paced,
}

/// A load, before it is built.
#[derive(Clone, Debug)]
pub struct Load {
    /// The program.
    pub name: String,
    /// What it asks for.
    pub spec: Spec,
    /// When it comes, in seconds.
    pub from_s: u64,
    /// When it goes.
    pub to_s: u64,
    /// Limits of its control group.
    pub limits: Vec<GroupLimit>,
    /// Whether it is the page cache.
    pub write_back: bool,
    /// Whether pressure does not count its waits at a limit, as those of asynchronous I/O.
    pub uncounted: bool,
}

/// A disk of a case.
#[derive(Clone, Debug)]
pub struct Disk {
    /// As it was profiled.
    pub device: Device,
    /// What stands after `sim:` for the device as it is.
    pub is: String,
    /// So many of them bound into one, in place of one.
    pub array: Option<Array>,
    /// What is asked of it.
    pub loads: Vec<Load>,
    /// Whether there is a profile of it, of when it was well.
    pub profiled: bool,
    /// How it was set up when it was profiled, and how it is now; `None` where nothing tells.
    pub facts: Option<Box<[DeviceFacts; 2]>>,
    /// Share of the latency for which the I/O scheduler holds a request.
    pub in_scheduler: f64,
}

impl Disk {
    /// A disk of which nothing but its loads is known.
    pub(crate) fn new(device: Device, is: String, loads: Vec<Load>) -> Self {
        Self { device, is, array: None, loads, profiled: true, facts: None, in_scheduler: 0.0 }
    }
}

/// What the verdict on a stretch of time has to be.
#[derive(Clone, Debug)]
pub struct Expect {
    /// Which disk.
    pub disk: usize,
    /// From second.
    pub from_s: u64,
    /// To second.
    pub to_s: u64,
    /// Right verdicts.
    pub verdicts: Vec<Verdict>,
    /// Verdicts that are right where one of the right ones is named as their alternative, with the
    /// confidence "possible": the evidence does not decide.
    pub undecided: Vec<Verdict>,
    /// Verdicts that are right where one of the right ones is named beside them, called likely at most: no
    /// figure of the case shows the truth.
    pub hidden: Vec<Verdict>,
}

/// A case with its truth.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it was drawn from.
    pub seed: u64,
    /// Its kind.
    pub kind: Kind,
    /// Whether it is the opposite.
    pub opposite: bool,
    /// Its disks; advice is looked at for the first one.
    pub disks: Vec<Disk>,
    /// How long it is observed.
    pub seconds: u64,
    /// Distance of the samples.
    pub interval_s: u64,
    /// Whether a tracer runs.
    pub traced: bool,
    /// Whether nothing but the counters of the disks is told, as by another tool's recording.
    pub bare: bool,
    /// Whether the limits of control groups are out of sight.
    pub limits_unseen: bool,
    /// What tells of it.
    pub source: Source,
    /// Right verdicts.
    pub expects: Vec<Expect>,
    /// Right first advice; empty where none has to be given.
    pub advice: Vec<Strategy>,
    /// Whether no advice is right as well.
    pub may_be_silent: bool,
    /// The note that has to be there: something looks like trouble and is none.
    pub expected_note: Option<NoteCode>,
}

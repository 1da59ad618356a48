//! Names the harm that programs or the device suffer, as the numbers show it. Without such an
//! effect there is no cause.

use record::Evidence;

/// Harm that a system fact may explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads take longer than expected.
    SlowReads,
    /// Writes take longer than expected.
    SlowWrites,
    /// Flushes take many times as long as writes, and are frequent.
    SlowFlushes,
    /// Requests at queue depth 1 take longer than expected.
    SlowLone,
    /// The rate stays constant below the demand.
    CappedRate,
    /// Programs wait longer than the device takes.
    WaitsAbove,
    /// The tracer sees requests wait before they are started.
    WaitsBefore,
    /// The rate fell under an unchanged load.
    SteppedDown,
    /// A volume above the device takes most of the latency.
    VolumeHolds,
    /// Some requests take far longer than the profile's slowest.
    StandsStill,
    /// Requests queue at the device.
    Overloaded,
    /// The kernel splits the programs' requests: they are as large as it allows.
    CutRequests,
}

impl Effect {
    /// Effects of a saturated link.
    pub(crate) const FULL_LINK: [Self; 4] =
        [Self::CappedRate, Self::SlowReads, Self::SlowWrites, Self::Overloaded];
    /// Effects of a drive or bridge that accepts one request at a time.
    pub(crate) const ONE_AT_A_TIME: [Self; 5] =
        [Self::SlowReads, Self::SlowWrites, Self::CappedRate, Self::WaitsBefore, Self::Overloaded];
}

/// An observed effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Kind of effect.
    pub effect: Effect,
    /// The effect in a sentence, with its numbers.
    pub says: String,
    /// Whether it is relative to a profile of this device. Facts unchanged since the profile do not
    /// explain it then.
    pub by_profile: bool,
}

/// A rate that fell under an unchanged load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    /// Bytes per second before the step.
    pub before: f64,
    /// Bytes per second after the step.
    pub after: f64,
    /// Bytes written before the step.
    pub written: f64,
    /// Share of writes among the requests, 0 to 1.
    pub writes: f64,
}

/// The load on the device. `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Length in seconds.
    pub seconds: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean write latency in nanoseconds.
    pub write_ns: Option<f64>,
    /// Mean flush latency in nanoseconds.
    pub flush_ns: Option<f64>,
    /// Discards per second.
    pub discards_per_s: Option<f64>,
    /// Mean requests in flight while the device is busy.
    pub depth: Option<f64>,
    /// Utilization, 0 to 1, including discards and flushes.
    pub busy: Option<f64>,
    /// Dirty pages as a share of the limit at which the kernel throttles writers.
    pub dirty: Option<f64>,
    /// A drop of the rate, if any.
    pub step: Option<RateStep>,
}

/// The load of a device, and its observed effects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// The load on the device.
    pub load: Load,
    /// The observed effects.
    pub seen: Vec<Seen>,
    /// Kernel name of the volume that holds requests, if any.
    pub holder: Option<String>,
}

impl Effects {
    /// The first of these effects that was observed, in the order given.
    #[must_use]
    pub fn first(&self, of: &[Effect]) -> Option<&Seen> {
        of.iter().find_map(|effect| self.seen.iter().find(|seen| seen.effect == *effect))
    }
}

/// An unusual fact of a system, and the effects that it would explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The fact in a sentence.
    pub says: String,
    /// Effects that it would explain, the most typical first.
    pub explains: Vec<Effect>,
    /// What to do, in a sentence or two.
    pub action: String,
    /// The numbers of the fact.
    pub evidence: Vec<Evidence>,
    /// How unusual it is, on the check's own scale. It is compared with the degree when the profile was made.
    pub degree: f64,
    /// Weight as evidence: 1 for a fact that many healthy machines share, 2 for one that is rarely
    /// harmless, 3 for harm that the system counted.
    pub weight: f64,
    /// Whether it deserves a note even if it does no harm.
    pub notable: bool,
    /// Start of the condition, RFC 3339, if the source reports it.
    pub since: Option<String>,
}

impl Claim {
    /// A fact that healthy machines share and that deserves no note.
    #[must_use]
    pub fn usual(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self {
            says,
            explains: explains.to_vec(),
            action: action.into(),
            evidence: Vec::new(),
            degree: 1.0,
            weight: 1.0,
            notable: false,
            since: None,
        }
    }

    /// A fact that is rarely harmless.
    #[must_use]
    pub fn unusual(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self { weight: 2.0, notable: true, ..Self::usual(says, explains, action) }
    }

    /// Harm that the system itself counted during the observation.
    #[must_use]
    pub fn counted(says: String, explains: &[Effect], action: impl Into<String>) -> Self {
        Self { weight: 3.0, notable: true, ..Self::usual(says, explains, action) }
    }

    /// Adds a number as evidence.
    #[must_use]
    pub fn with(mut self, what: &str, value: f64, unit: &str) -> Self {
        let (what, unit) = (what.to_owned(), unit.to_owned());
        self.evidence.push(Evidence { what, value, unit });
        self
    }

    /// Explains nothing unless `harms`.
    #[must_use]
    pub fn only_if(mut self, harms: bool) -> Self {
        self.explains.retain(|_| harms);
        self
    }

    /// Sets the degree.
    #[must_use]
    pub fn by(self, degree: f64) -> Self {
        Self { degree, ..self }
    }
}
